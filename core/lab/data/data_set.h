// Examples that networks learn from. Thread: value types.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace normlens::lab {

// One class each, from a row of numbers.
struct Examples {
  std::vector<double> inputs;    // [count, features]
  std::vector<int64_t> classes;  // [count], in [0, classes)
  [[nodiscard]] int64_t count() const { return static_cast<int64_t>(classes.size()); }
};

struct TableData {
  int features = 0, classes = 0;
  Examples train, test;
};

// A text as indices of its characters.
struct TextData {
  std::string symbols;               // each once, ascending
  std::vector<int64_t> train, test;  // the beginning of the text and its end
};

using Data = std::variant<TableData, TextData>;

}  // namespace normlens::lab

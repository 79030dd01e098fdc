// A table in a terminal: columns as wide as their widest cell, the first flush left, the others right. Thread: value
// type.
#pragma once

#include <string>
#include <vector>

namespace normlens::engine {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heads) { rows_.push_back(std::move(heads)); }
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // The heads first; cells that a row lacks are empty. Widths count characters of UTF-8.
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace normlens::engine

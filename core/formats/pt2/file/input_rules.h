// Checks what every call of an exported program must keep to, since it was compiled for it: fixed sizes, sizes that go
// together, ranges. torch's own module() checks the same; in the translated program nothing would. No torch here.
// Thread: immutable after construction.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/formats/pt2/file/signature.h"

namespace normlens::formats::pt2 {

// One input as it is given: a tensor, or a number.
struct GivenInput {
  graph::DType dtype = graph::DType::Unknown;
  graph::Shape shape;
  std::optional<int64_t> number;  // Set for an Int input.
};

class InputRules {
 public:
  InputRules(std::vector<UserInput> inputs, std::map<std::string, SymRange> ranges,
             std::vector<Assertion> assertions = {})
      : inputs_(std::move(inputs)), ranges_(std::move(ranges)), assertions_(std::move(assertions)) {}

  // `given`: by input. Errors: BadInput that names the input and the axis.
  [[nodiscard]] Status check(const std::vector<GivenInput>& given) const;

  // The symbols' values in the example that the file was exported with.
  [[nodiscard]] SymValues exampleSymbols() const;
  // The same with free sizes that are pairwise different and at least 2, as far as the ranges allow; twins stay equal.
  [[nodiscard]] SymValues distinctSymbols() const;
  // Dim.AUTO gives the batch of each input a symbol of its own where nothing compares them, and the program then runs
  // where they are equal alone: symbols of the same axis of several inputs that the example had equal are held to be
  // one. Gives the first of them, by the others' names.
  [[nodiscard]] std::map<std::string, std::string> twins() const;
  // The shapes that these values yield; nullopt where one cannot be computed.
  [[nodiscard]] std::optional<std::vector<graph::Shape>> shapesFor(const SymValues& symbols) const;

  // A sentence for a person: which sizes may vary, and how far. What is folded has the same rules.
  [[nodiscard]] std::string inWords() const;

  [[nodiscard]] const std::vector<UserInput>& inputs() const { return inputs_; }

 private:
  [[nodiscard]] Status checkRange(const SymExpr& expr, int64_t value, const std::string& where) const;
  [[nodiscard]] SymRange rangeOf(const std::string& text) const;

  std::vector<UserInput> inputs_;
  std::map<std::string, SymRange> ranges_;
  std::vector<Assertion> assertions_;
};

}  // namespace normlens::formats::pt2

// The values of a translated program's copies (a float64 twin, an edited model), as those of the translation. Private
// to formats/pt2: includes torch.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <unordered_map>
#include <vector>

#include "core/formats/pt2/translate/translation.h"

namespace normlens::formats::pt2 {

// The nodes of a graph by their origin's number; null where the graph has it no longer. Throws EditRefused where two
// nodes have one.
[[nodiscard]] std::vector<torch::jit::Node*> nodesByNumber(torch::jit::Graph& graph, size_t count);

class ValuePairs {
 public:
  // `original`: the translation's nodes by number, `copy`: the other graph's.
  ValuePairs(const torch::jit::Graph& originalGraph, const std::vector<torch::jit::Node*>& original,
             const torch::jit::Graph& copyGraph, const std::vector<torch::jit::Node*>& copy);

  // The translation's value; null for what only the copy has.
  [[nodiscard]] const torch::jit::Value* of(const torch::jit::Value* copied) const;

 private:
  std::unordered_map<const torch::jit::Value*, const torch::jit::Value*> originals_;
};

// The attributes of self that a chain of GetAttr reads, with dots between; empty for any other value.
[[nodiscard]] std::string attributePath(const torch::jit::Value* value);
// The operand that a value is read from where its node only helps to express another.
[[nodiscard]] const torch::jit::Value* behindHelpers(const torch::jit::Value* value, const Translation& translation);

// Decides whether operands of two copies of one node mean the same.
class SameOperand {
 public:
  SameOperand(const Translation& translation, const ValuePairs& before, const ValuePairs& after)
      : translation_(translation), before_(before), after_(after) {}
  [[nodiscard]] bool operator()(const torch::jit::Value* before, const torch::jit::Value* after) const;

 private:
  const Translation& translation_;
  const ValuePairs& before_;
  const ValuePairs& after_;
};

}  // namespace normlens::formats::pt2

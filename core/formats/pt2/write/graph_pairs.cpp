#include "core/formats/pt2/write/graph_pairs.h"

#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/torchscript/program/each_node.h"
#include "core/formats/torchscript/program/program.h"

namespace normlens::formats::pt2 {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = c10::prim;

std::vector<Node*> nodesByNumber(Graph& graph, size_t count) {
  std::vector<Node*> nodes(count, nullptr);
  torchscript::eachNode(*graph.block(), [&](Node& node) {
    const int number = originNumber(node);
    if (number < 0) return;
    if (static_cast<size_t>(number) >= count || nodes[static_cast<size_t>(number)] != nullptr)
      throw EditRefused("an operation stands in two places of the edited program");
    nodes[static_cast<size_t>(number)] = &node;
  });
  return nodes;
}

ValuePairs::ValuePairs(const Graph& originalGraph, const std::vector<Node*>& original, const Graph& copyGraph,
                       const std::vector<Node*>& copy) {
  const auto pair = [&](auto originals, auto copies) {
    for (size_t i = 0; i < std::min(originals.size(), copies.size()); ++i) originals_[copies[i]] = originals[i];
  };
  pair(originalGraph.inputs(), copyGraph.inputs());
  for (size_t i = 0; i < copy.size(); ++i) {
    if (original[i] == nullptr || copy[i] == nullptr) continue;
    pair(original[i]->outputs(), copy[i]->outputs());
    for (size_t b = 0; b < std::min(original[i]->blocks().size(), copy[i]->blocks().size()); ++b)
      pair(original[i]->blocks()[b]->inputs(), copy[i]->blocks()[b]->inputs());
  }
}

const Value* ValuePairs::of(const Value* copied) const {
  const auto found = originals_.find(copied);
  return found == originals_.end() ? nullptr : found->second;
}

std::string attributePath(const Value* value) {
  std::string path;
  while (value->node()->kind() == prim::GetAttr) {
    const std::string& name = value->node()->s(c10::attr::name);
    path = path.empty() ? name : name + "." + path;
    value = value->node()->input();
  }
  const bool fromSelf = value->node()->kind() == prim::Param && value == value->owningGraph()->inputs()[0];
  return fromSelf ? path : std::string();
}

const Value* behindHelpers(const Value* value, const Translation& translation) {
  while (true) {
    const Node& node = *value->node();
    const int number = originNumber(node);
    const bool transparent = number >= 0 && translation.origins[static_cast<size_t>(number)].transparent;
    if (!transparent && node.kind() != prim::unchecked_cast) return value;
    value = node.input(0);
  }
}

bool SameOperand::operator()(const Value* before, const Value* after) const {
  before = behindHelpers(before, translation_);
  after = behindHelpers(after, translation_);
  const Value *x = before_.of(before), *y = after_.of(after);
  if (x != nullptr || y != nullptr) return x == y;
  const Node &a = *before->node(), &b = *after->node();
  if (a.kind() != b.kind()) return false;
  if (a.kind() == prim::Constant) {
    const auto left = torch::jit::toIValue(before), right = torch::jit::toIValue(after);
    if (!left || !right || left->tagKind() != right->tagKind()) return false;
    return left->isTensor() ? torchscript::sameTensor(left->toTensor(), right->toTensor()) : *left == *right;
  }
  if (a.kind() == prim::GetAttr) return attributePath(before) == attributePath(after);
  if (a.kind() != prim::ListConstruct || a.inputs().size() != b.inputs().size()) return false;
  for (size_t i = 0; i < a.inputs().size(); ++i) {
    if (!(*this)(a.input(i), b.input(i))) return false;
  }
  return true;
}

}  // namespace normlens::formats::pt2

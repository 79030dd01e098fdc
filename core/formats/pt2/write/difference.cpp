#include "core/formats/pt2/write/difference.h"

#include <algorithm>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/torchscript/program/each_node.h"

namespace normlens::formats::pt2 {
namespace {

namespace prim = c10::prim;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

bool isResult(const Node& node) { return node.kind() == prim::TupleConstruct; }

// Returns the results of forward(), one by one.
at::ArrayRef<Value*> resultsOf(Graph& graph) {
  Node* made = graph.outputs()[0]->node();
  return isResult(*made) ? made->inputs() : graph.outputs();
}

}  // namespace

bool Difference::isNew(const Node& node) {
  switch (node.kind()) {
    case prim::Constant:
    case prim::ListConstruct:
    case prim::TupleConstruct:
    case prim::GetAttr:
    case prim::unchecked_cast:
    case c10::aten::size:
      return false;
    default:
      return originNumber(node) < 0;
  }
}

Difference::Difference(const Translation& translation, Graph& original, Graph& before, Graph& after)
    : translation_(translation),
      before_(nodesByNumber(before, translation.origins.size())),
      after_(nodesByNumber(after, translation.origins.size())) {
  const auto originals = nodesByNumber(original, translation.origins.size());
  pairs_.emplace_back(original, originals, before, before_);
  pairs_.emplace_back(original, originals, after, after_);
  torchscript::eachNode(*original.block(), [&](const Node& node) {
    if (node.kind() == prim::GetAttr) attributes_.emplace(attributePath(node.output()), node.output());
  });
  for (const auto* input : original.inputs()) made_.insert(input);
  for (size_t i = 0; i < originals.size(); ++i) {
    if (originals[i] == nullptr || after_[i] == nullptr) continue;
    for (const auto* output : originals[i]->outputs()) made_.insert(output);
    for (const auto* block : originals[i]->blocks()) made_.insert(block->inputs().begin(), block->inputs().end());
  }
  for (const auto& [path, value] : attributes_) made_.insert(value);
  comparePlaces(originals);
  for (size_t i = 0; i < after_.size(); ++i) {
    if (before_[i] == nullptr || after_[i] == nullptr) continue;
    const auto number = static_cast<int>(i);
    compare(number, -1, before_[i]->inputs(), after_[i]->inputs());
    for (size_t b = 0; b < before_[i]->blocks().size(); ++b)
      compare(number, static_cast<int>(b), before_[i]->blocks()[b]->outputs(), after_[i]->blocks()[b]->outputs());
  }
  compare(-1, -1, resultsOf(before), resultsOf(after));
}

const Value* Difference::original(const Value* after) const {
  after = behindHelpers(after, translation_);
  if (after->node()->kind() != prim::GetAttr) return pairs_[1].of(after);
  const auto found = attributes_.find(attributePath(after));
  return found == attributes_.end() ? nullptr : found->second;
}

const Value* Difference::instead(const Value* original) const {
  const auto found = instead_.find(original);
  return found == instead_.end() ? nullptr : found->second;
}

// A node of the document may stand for several of the module: what a loop checks before and after each round.
void Difference::comparePlaces(const std::vector<Node*>& originals) {
  for (size_t i = 0; i < originals.size(); ++i) {
    const Origin& origin = translation_.origins[i];
    if (originals[i] == nullptr || origin.part) continue;
    (after_[i] == nullptr ? gone_ : kept_).insert({origin.graph, origin.node});
  }
  for (const auto& place : gone_) {
    if (kept_.contains(place)) throw EditRefused("only one of a loop's two conditions would change");
  }
}

void Difference::compare(int number, int block, at::ArrayRef<Value*> before, at::ArrayRef<Value*> after) {
  if (before.size() != after.size()) throw EditRefused("an operation takes another number of operands than it did");
  const SameOperand same(translation_, pairs_[0], pairs_[1]);
  for (size_t i = 0; i < before.size(); ++i) {
    if (same(before[i], after[i])) continue;
    reads_.push_back({number, block, static_cast<int>(i), before[i], after[i]});
    noteReplaced(before[i], after[i]);
  }
}

void Difference::noteReplaced(const Value* before, const Value* after) {
  before = behindHelpers(before, translation_);
  after = behindHelpers(after, translation_);
  const bool lists = before->node()->kind() == prim::ListConstruct && after->node()->kind() == prim::ListConstruct;
  if (lists && before->node()->inputs().size() == after->node()->inputs().size()) {
    for (size_t i = 0; i < before->node()->inputs().size(); ++i)
      noteReplaced(before->node()->input(i), after->node()->input(i));
    return;
  }
  const std::string was = attributePath(before), is = attributePath(after);
  if (!is.empty() && !attributes_.contains(is)) {
    if (was.empty()) throw EditRefused("a new weight is read where none was");
    newAttributes_.emplace(is, was);
  }
  const Value* value = pairs_[0].of(before);
  if (value != nullptr && !isMade(value)) instead_.emplace(value, after);
}

}  // namespace normlens::formats::pt2

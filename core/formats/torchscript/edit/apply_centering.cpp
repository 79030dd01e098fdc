#include <algorithm>
#include <limits>

#include "core/formats/centering_axes.h"
#include "core/formats/torchscript/edit/apply_new_nodes.h"
#include "core/formats/torchscript/program/memory_sharing.h"

namespace normlens::formats::torchscript {
namespace {

using ops::Factor;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

using Axes = ops::FactorsPerDim;

std::vector<int64_t> unflattenedSizes(const ops::Factors& axis) {
  std::vector<int64_t> sizes;
  for (const Factor& factor : axis) sizes.push_back(factor.summed ? factor.size : -1);
  return sizes;
}

// Axes are counted from the end: the same code then serves inputs without a batch axis.
class CenteringCode {
 public:
  CenteringCode(Graph& graph, const Axes& axes) : graph_(graph), axes_(axes) {
    for (const auto& axis : axes) flat_.insert(flat_.end(), axis.begin(), axis.end());
  }

  Value* emit(Value* x) {
    int64_t right = 0;
    for (size_t i = axes_.size(); i-- > 0;) {
      const auto parts = static_cast<int64_t>(axes_[i].size());
      if (parts > 1) x = graph_.insert(c10::aten::unflatten, {x, -right - 1, unflattenedSizes(axes_[i])});
      right += parts;
    }
    x = centerFrom(x, 0);
    for (const auto& axis : axes_) {
      const auto parts = static_cast<int64_t>(axis.size());
      if (parts > 1) x = graph_.insert(c10::aten::flatten, {x, -right, -(right - parts) - 1});
      right -= parts;
    }
    return x;
  }

 private:
  // Cuts the region out axis by axis, from `next` on, and centers what is left.
  Value* centerFrom(Value* x, size_t next) {
    while (next < flat_.size() && flat_[next].whole()) ++next;
    if (next == flat_.size()) return subtractMean(x);
    const Factor& factor = flat_[next];
    const auto dim = static_cast<int64_t>(next) - static_cast<int64_t>(flat_.size());
    std::vector<Value*> pieces;
    if (factor.begin > 0) pieces.push_back(slice(x, dim, 0, factor.begin));
    const bool toTheEnd = factor.end == factor.size;
    pieces.push_back(centerFrom(slice(x, dim, factor.begin, toTheEnd ? kEnd : factor.end), next + 1));
    if (!toTheEnd) pieces.push_back(slice(x, dim, factor.end, kEnd));
    if (pieces.size() == 1) return pieces[0];
    Value* list = graph_.insertNode(graph_.createList(c10::TensorType::get(), pieces))->output();
    return graph_.insert(c10::aten::cat, {list, dim});
  }

  Value* slice(Value* x, int64_t dim, int64_t begin, int64_t end) {
    return graph_.insert(c10::aten::slice, {x, dim, begin, end, int64_t{1}});
  }

  Value* subtractMean(Value* x) {
    std::vector<int64_t> dims;
    for (size_t i = 0; i < flat_.size(); ++i) {
      if (flat_[i].summed) dims.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(flat_.size()));
    }
    Value* mean = graph_.insert(c10::aten::mean, {x, dims, true});
    return graph_.insert(c10::aten::sub, {x, mean});
  }

  static constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  Graph& graph_;
  const Axes& axes_;
  std::vector<Factor> flat_;  // all axes' factors in order: the axes of the unflattened value
};

// The node of `block` that holds `node`, possibly deep inside; null if none does.
Node* ancestorIn(Node* node, const torch::jit::Block* block) {
  while (node != nullptr && node->owningBlock() != block) node = node->owningBlock()->owningNode();
  return node;
}

// The last point from which all reads can be served: before the earliest of them, in the innermost common block.
Node* pointBefore(const std::vector<Node*>& readers) {
  for (const auto* block = readers[0]->owningBlock(); block != nullptr;) {
    Node* first = nullptr;
    bool all = true;
    for (Node* reader : readers) {
      Node* here = ancestorIn(reader, block);
      all = all && here != nullptr;
      if (all && (first == nullptr || (here != first && here->isBefore(first)))) first = here;
    }
    if (all) return first;
    block = block->owningNode() == nullptr ? nullptr : block->owningNode()->owningBlock();
  }
  throw EditRefused("a centering at run time has no place before all its uses");
}

// What an op changes in place is read again by any of its names, callers' too: its own memory is centered for it. No
// other value of that memory is read after the op, else nothing would be known of what it writes (in_place.h).
void redirect(Node& reader, size_t input, Value* centered) {
  if (!writesInto(reader, input)) {
    reader.replaceInput(input, centered);
    return;
  }
  const torch::jit::WithInsertPoint here(&reader);
  reader.owningGraph()->insert(c10::aten::copy_, {reader.input(input), centered});
}

Value* zeroLike(Graph& graph, Value* x) {
  switch (x->type()->kind()) {
    case c10::TypeKind::TensorType:
      return graph.insert(c10::aten::zeros_like, {x});
    case c10::TypeKind::IntType:
      return graph.insertConstant(int64_t{0});
    case c10::TypeKind::FloatType:
      return graph.insertConstant(0.0);
    default:
      throw EditRefused("what is to be dropped is neither a tensor nor a number of a known kind");
  }
}

}  // namespace

BodyEdit insertCentering(std::vector<ReadSite> sites, const graph::Shape& shape, const ops::Pattern& pattern) {
  std::string signature = "center " + pattern.text();
  for (const int64_t size : shape) signature += "," + std::to_string(size);
  for (const auto& site : sites) {
    signature += " " + idOf(site.node) + "." + std::to_string(site.input);
  }
  const Axes axes = centeringAxes(pattern, shape);
  return {signature, [sites = std::move(sites), axes](GraphCopy& copy) {
            std::vector<Node*> readers;
            readers.reserve(sites.size());
            for (const auto& site : sites) readers.push_back(copy.at(site.node));
            Value* x = readers[0]->input(static_cast<size_t>(sites[0].input));
            const torch::jit::WithInsertPoint here(pointBefore(readers));
            Value* centered = CenteringCode(*copy.graph(), axes).emit(x);
            for (size_t i = 0; i < readers.size(); ++i) {
              const auto input = static_cast<size_t>(sites[i].input);
              if (readers[i]->input(input) != x)
                throw EditRefused("reads to be centered together read different values");
              redirect(*readers[i], input, centered);
            }
          }};
}

BodyEdit readZeros(ReadSite site) {
  return {"zeros " + idOf(site.node) + "." + std::to_string(site.input), [=](GraphCopy& copy) {
            Node& reader = *copy.at(site.node);
            const auto input = static_cast<size_t>(site.input);
            const torch::jit::WithInsertPoint here(&reader);
            redirect(reader, input, zeroLike(*copy.graph(), reader.input(input)));
          }};
}

}  // namespace normlens::formats::torchscript

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

// ReadCode's ops. Axes are counted from the end: the same code then serves inputs without a batch axis.
class ReadOps {
 public:
  using Value = torch::jit::Value*;

  explicit ReadOps(Graph& graph) : graph_(graph) {}

  Value cut(Value x, const Axes& axes) {
    int64_t right = 0;
    for (size_t i = axes.size(); i-- > 0;) {
      const auto parts = static_cast<int64_t>(axes[i].size());
      if (parts > 1) x = graph_.insert(c10::aten::unflatten, {x, -right - 1, unflattenedSizes(axes[i])});
      right += parts;
    }
    return x;
  }
  Value joined(Value y, const Axes& axes) {
    int64_t right = 0;
    for (const auto& axis : axes) right += static_cast<int64_t>(axis.size());
    for (const auto& axis : axes) {
      const auto parts = static_cast<int64_t>(axis.size());
      if (parts > 1) y = graph_.insert(c10::aten::flatten, {y, -right, -(right - parts) - 1});
      right -= parts;
    }
    return y;
  }
  Value slice(Value x, int64_t axis, int64_t begin, int64_t end) {
    return graph_.insert(c10::aten::slice, {x, axis, begin, end, int64_t{1}});
  }
  Value concat(const std::vector<Value>& pieces, int64_t axis) {
    Value list = graph_.insertNode(graph_.createList(c10::TensorType::get(), pieces))->output();
    return graph_.insert(c10::aten::cat, {list, axis});
  }
  Value mean(Value x, const std::vector<int64_t>& axes) { return graph_.insert(c10::aten::mean, {x, axes, true}); }
  Value sum(Value x, int64_t axis) { return graph_.insert(c10::aten::sum, {x, std::vector<int64_t>{axis}, true}); }
  Value subtract(Value a, Value b) { return graph_.insert(c10::aten::sub, {a, b}); }
  Value negate(Value x) { return graph_.insert(c10::aten::neg, {x}); }
  Value padded(Value x, size_t axis, size_t rank, int64_t zeros) {
    std::vector<int64_t> amounts((rank - axis) * 2, 0);  // last axis first: before, behind
    amounts.back() = zeros;
    return graph_.insert(c10::aten::constant_pad_nd, {x, amounts, int64_t{0}});
  }
  [[nodiscard]] static int64_t axisNumber(size_t axis, size_t rank) {
    return static_cast<int64_t>(axis) - static_cast<int64_t>(rank);
  }

 private:
  Graph& graph_;
};

// The node of `block` that holds `node`, possibly deep inside.
Node* ancestorIn(Node* node, const torch::jit::Block* block) {
  while (node->owningBlock() != block) node = node->owningBlock()->owningNode();
  return node;
}

// The last point from which all reads can be served: before the earliest of them, in the innermost common block.
Node* pointBefore(const std::vector<Node*>& readers) {
  const torch::jit::Block* block = readers[0]->owningBlock();
  for (Node* reader : readers) block = ancestorIn(readers[0], block)->findCommonAncestorBlockWith(reader);
  Node* first = ancestorIn(readers[0], block);
  for (Node* reader : readers) {
    Node* here = ancestorIn(reader, block);
    if (here != first && here->isBefore(first)) first = here;
  }
  return first;
}

// A value that an op changes in place is read again by any of its names, callers' too: its own memory is centered for
// it. No other value of that memory is read after the op, else nothing would be known of what it writes
// (memory_sharing.h).
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

Value* emitted(const ReadCode& code, Graph& graph, Value* x) {
  ReadOps ops(graph);
  return code.emit(ops, x);
}

CodedValue codedBefore(std::vector<Node*> readers, const OperandSite& original, const ReadCode& code) {
  std::string all = code.text() + signature(original.node, original.input);
  for (const Node* reader : readers) all += signature(reader);
  return {all, [readers = std::move(readers), original, code](GraphCopy& copy) {
            std::vector<Node*> twins;
            for (const Node* reader : readers) twins.push_back(copy.at(reader));
            Value* x = copy.read(original);
            const torch::jit::WithInsertPoint here(pointBefore(twins));
            return emitted(code, *copy.graph(), x);
          }};
}

void readInstead(GraphCopy& copy, const OperandSite& site, Value* value) {
  redirect(*copy.at(site.node), static_cast<size_t>(site.input), value);
}

BodyEdit insertCode(std::vector<OperandSite> sites, const ReadCode& code) {
  std::vector<Node*> readers;
  for (const auto& site : sites) readers.push_back(site.node);
  CodedValue coded = codedBefore(std::move(readers), sites[0], code);
  std::string all = coded.signature;
  for (const auto& site : sites) all += signature(site.input);
  journal::InsertCode record{sites, [code](Graph& graph, Value* x) { return emitted(code, graph, x); }};
  return {all,
          [sites = std::move(sites), make = std::move(coded.make)](GraphCopy& copy) {
            const Value* x = copy.read(sites[0]);
            Value* value = make(copy);
            for (const auto& site : sites) {
              if (copy.read(site) != x) throw EditRefused("reads to be rewritten together read different values");
              readInstead(copy, site, value);
            }
          },
          std::move(record)};
}

BodyEdit readZeros(OperandSite site) {
  return {signature("zeros", site.node, site.input),
          [=](GraphCopy& copy) {
            Node& reader = *copy.at(site.node);
            const torch::jit::WithInsertPoint here(&reader);
            redirect(reader, static_cast<size_t>(site.input), zeroLike(*copy.graph(), copy.read(site)));
          },
          journal::InsertCode{{site}, zeroLike}};
}

}  // namespace normlens::formats::torchscript

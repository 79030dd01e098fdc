#include "core/formats/torchscript/edit/apply_new_nodes.h"

#include "core/formats/torchscript/program/memory_sharing.h"

namespace normlens::formats::torchscript {
namespace {

namespace aten = c10::aten;
using ops::Factor;
using torch::jit::Graph;
using torch::jit::NamedValue;
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
      if (parts > 1) x = graph_.insert(aten::unflatten, {x, -right - 1, unflattenedSizes(axes[i])});
      right += parts;
    }
    return x;
  }
  Value joined(Value y, const Axes& axes) {
    int64_t right = 0;
    for (const auto& axis : axes) right += static_cast<int64_t>(axis.size());
    for (const auto& axis : axes) {
      const auto parts = static_cast<int64_t>(axis.size());
      if (parts > 1) y = graph_.insert(aten::flatten, {y, -right, -(right - parts) - 1});
      right -= parts;
    }
    return y;
  }
  Value slice(Value x, int64_t axis, int64_t begin, int64_t end) {
    return graph_.insert(aten::slice, {x, axis, begin, end, int64_t{1}});
  }
  Value concat(const std::vector<Value>& pieces, int64_t axis) {
    Value list = graph_.insertNode(graph_.createList(c10::TensorType::get(), pieces))->output();
    return graph_.insert(aten::cat, {list, axis});
  }
  Value mean(Value x, const std::vector<int64_t>& axes) { return graph_.insert(aten::mean, {x, axes, true}); }
  Value sum(Value x, int64_t axis) { return graph_.insert(aten::sum, {x, std::vector<int64_t>{axis}, true}); }
  Value subtract(Value a, Value b) { return graph_.insert(aten::sub, {a, b}); }
  Value scaled(Value x, double factor) { return graph_.insert(aten::mul, {x, factor}); }
  Value padded(Value x, size_t axis, size_t rank, int64_t zeros) {
    std::vector<int64_t> amounts((rank - axis) * 2, 0);  // last axis first: before, behind
    amounts.back() = zeros;
    return graph_.insert(aten::constant_pad_nd, {x, amounts, int64_t{0}});
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

// A value that an op changes in place is read again by any of its names, callers' too: its own memory is centered for
// it. No other value of that memory is read after the op, else nothing would be known of what it writes
// (memory_sharing.h).
void redirect(Node& reader, size_t input, Value* centered) {
  if (!writesInto(reader, input)) {
    reader.replaceInput(input, centered);
    return;
  }
  const torch::jit::WithInsertPoint here(&reader);
  reader.owningGraph()->insert(aten::copy_, {reader.input(input), centered});
}

Value* zeroLike(Graph& graph, Value* x) {
  switch (x->type()->kind()) {
    case c10::TypeKind::TensorType:
      return graph.insert(aten::zeros_like, {x});
    case c10::TypeKind::IntType:
      return graph.insertConstant(int64_t{0});
    case c10::TypeKind::FloatType:
      return graph.insertConstant(0.0);
    default:
      throw EditRefused("what is to be dropped is neither a tensor nor a number of a known kind");
  }
}

// Finds the list of sizes among the inputs of a view or broadcast.
std::optional<size_t> sizesOf(const Node& node) {
  const auto* schema = node.maybeSchema();
  if (schema == nullptr) return std::nullopt;
  for (size_t i = 0; i < schema->arguments().size() && i < node.inputs().size(); ++i) {
    const auto& name = schema->arguments()[i].name();
    if (name == "size" || name == "shape") return i;
  }
  return std::nullopt;
}

// The sizes of a list that the code writes down in one place.
std::vector<Value*> sizesIn(Graph& graph, Value* list) {
  if (list->node()->kind() == c10::prim::ListConstruct) return list->node()->inputs().vec();
  std::vector<Value*> out;
  const auto held = torch::jit::toIValue(list);
  if (!held || !held->isIntList()) return out;
  for (const int64_t size : held->toIntVector()) out.push_back(graph.insertConstant(size));
  return out;
}

enum Input : uint8_t { Self, First, Second, Factor };

std::string_view nameOf(const Node& node) { return node.kind().toQualString(); }

Value* product(Graph& graph, const Node& node) {
  const bool divides = nameOf(node).starts_with("aten::addcdiv");
  return graph.insert(divides ? aten::div : aten::mul, {node.input(First), node.input(Second)});
}

// In place where the op was: others may hold the same memory.
Value* sum(Graph& graph, const Node& node, Value* addend) {
  const auto add = nameOf(node).ends_with('_') ? aten::add_ : aten::add;
  return graph.insert(add, {node.input(Self), addend}, {NamedValue("alpha", node.input(Factor))});
}

BodyEdit rewrite(const std::string& what, Node* original, const std::function<Value*(Graph&, const Node&)>& make) {
  return {signature(what, original),
          [original, make](GraphCopy& copy) {
            Node* node = copy.at(original);
            if (!addsProduct(*node)) return;  // an earlier edit has left the sum
            const torch::jit::WithInsertPoint here(node);
            Value* made = make(*copy.graph(), *node);
            node->output(0)->replaceAllUsesWith(made);
            copy.substitute(original, made->node());
            removeWithSources(node);
          },
          journal::ReplaceNode{original}};
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

// Before the earliest of them, in the innermost common block.
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

Value* emittedRow(Graph& graph, Value* x, Value* row) { return graph.insert(aten::linear, {x, row}); }

Value* emittedWithRowsOf(Graph& graph, Value* numbers, Value* rows) {
  Value* first = graph.insert(aten::slice, {rows, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{1}});
  return graph.insert(aten::reshape_as, {numbers, first});
}

Value* emittedMean(Graph& graph, Value* x) { return graph.insert(aten::mean, {x, std::vector<int64_t>{-1}, true}); }

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

BodyEdit resizeAxis(Node* node, int axis, const fold::Channels& channels) {
  return {signature("resize", node, axis, channels.full, channels.width),
          [=](GraphCopy& copy) {
            Node* twin = copy.at(node);
            const auto input = sizesOf(*twin);
            if (!input) return;
            Graph& graph = *copy.graph();
            const torch::jit::WithInsertPoint here(twin);
            auto sizes = sizesIn(graph, twin->input(*input));
            if (static_cast<size_t>(axis) >= sizes.size()) return;
            const auto written = torch::jit::toIValue(sizes[static_cast<size_t>(axis)]);
            if (written && written->isInt() && written->toInt() < 0) return;
            sizes[static_cast<size_t>(axis)] = graph.insertConstant(channels.width);
            Node* before = twin->input(*input)->node();
            twin->replaceInput(*input, graph.insertNode(graph.createList(c10::IntType::get(), sizes))->output());
            removeUnused({before});
          },
          journal::ReplaceNode{node}};
}

BodyEdit tellSize(Node* query, int axis, int rank, const fold::Channels& channels) {
  return {signature("tell size", query, axis, rank, channels.full),
          [=](GraphCopy& copy) {
            Node* twin = copy.at(query);
            if (twin->kind() != aten::size) return;
            Graph& graph = *copy.graph();
            const torch::jit::WithInsertPoint here(twin);
            Value* told = nullptr;
            if (twin->inputs().size() > 1) {
              const auto asked = torch::jit::toIValue(twin->input(1));
              if (!asked || !asked->isInt() || asked->toInt() + (asked->toInt() < 0 ? rank : 0) != axis) return;
              told = graph.insertConstant(channels.full);
            } else {
              std::vector<Value*> sizes;
              for (int64_t i = 0; i < rank; ++i)
                sizes.push_back(i == axis ? graph.insertConstant(channels.full)
                                          : graph.insert(aten::size, {twin->input(0), i}));
              told = graph.insertNode(graph.createList(c10::IntType::get(), sizes))->output();
            }
            twin->output(0)->replaceAllUsesWith(told);
            removeUnused({twin});
          },
          journal::ReplaceNode{query}};
}

bool addsProduct(const Node& node) {
  const auto name = nameOf(node);
  return name == "aten::addcmul" || name == "aten::addcmul_" || name == "aten::addcdiv" || name == "aten::addcdiv_";
}

BodyEdit writeOutProduct(Node* node) {
  return rewrite("write out", node,
                 [](Graph& graph, const Node& from) { return sum(graph, from, product(graph, from)); });
}

BodyEdit addWithoutFactor(Node* node, int input) {
  return rewrite("without factor " + std::to_string(input), node, [input](Graph& graph, const Node& from) {
    return sum(graph, from, from.input(static_cast<size_t>(input)));
  });
}

BodyEdit productAlone(Node* node) { return rewrite("product alone", node, product); }

}  // namespace normlens::formats::torchscript

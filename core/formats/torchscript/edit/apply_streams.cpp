// Code of a narrow stream.
#include "core/formats/torchscript/edit/apply_new_nodes.h"

namespace normlens::formats::torchscript {
namespace {

namespace aten = c10::aten;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

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

}  // namespace

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

}  // namespace normlens::formats::torchscript

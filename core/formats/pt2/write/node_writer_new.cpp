// Nodes that an edit has added: which graph of the document each belongs to, and how it is described there.
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/pt2/write/literals.h"
#include "core/formats/pt2/write/new_values.h"
#include "core/formats/pt2/write/node_writer.h"

namespace normlens::formats::pt2 {
namespace {

namespace prim = c10::prim;
using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

std::string targetOf(const c10::FunctionSchema& schema) {
  std::string name = schema.name();
  name.replace(name.find("::"), 2, ".");
  return "torch.ops." + name + "." + (schema.overload_name().empty() ? "default" : schema.overload_name());
}

bool isDefault(const Value* value, const c10::Argument& argument) {
  if (!argument.default_value() || value->node()->kind() != prim::Constant) return false;
  const auto known = torch::jit::toIValue(value);
  return known && known->tagKind() == argument.default_value()->tagKind() && *known == *argument.default_value();
}

}  // namespace

int NodeWriter::common(int a, int b) const {
  std::vector<int> above;
  for (int graph = a; graph >= 0; graph = editor_.holderOf(graph).graph) above.push_back(graph);
  for (int graph = b; graph >= 0; graph = editor_.holderOf(graph).graph) {
    if (std::ranges::find(above, graph) != above.end()) return graph;
  }
  return 0;
}

int NodeWriter::graphAround(const Block* block) const {
  const Node* owner = block->owningNode();
  const int number = owner == nullptr ? -1 : originNumber(*owner);
  if (number < 0) return 0;
  const Origin& origin = originOf(number);
  const auto& inner = editor_.graphsOf(origin.graph, origin.node);
  const size_t which = owner->kind() == prim::Loop || block == owner->blocks().back() ? 1 : 0;
  return inner.at(which);
}

int NodeWriter::graphOfReader(const torch::jit::Use& use) const {
  const Node& reader = *use.user;
  if (reader.kind() == prim::Return) return graphAround(reader.owningBlock());
  if (const int number = originNumber(reader); number >= 0) return originOf(number).graph;
  if (const auto known = graphOf_.find(&reader); known != graphOf_.end()) return known->second;
  int graph = -1;
  for (const auto& next : reader.outputs().empty() ? torch::jit::use_list{} : reader.output(0)->uses()) {
    const int other = graphOfReader(next);
    graph = graph < 0 ? other : common(graph, other);
  }
  return graph < 0 ? graphAround(reader.owningBlock()) : graph;
}

// The translation's value whose place an output of a new node takes; null: none is.
const Value* NodeWriter::replacedBy(const Node& node) const {
  for (const Value* output : node.outputs()) {
    if (const auto found = standsFor_.find(output); found != standsFor_.end()) return found->second;
  }
  return nullptr;
}

// The document's node whose work a new one does, or helps to do.
std::optional<std::pair<int, int>> NodeWriter::doesWorkOf(const Node& node) const {
  const Value* replaced = replacedBy(node);
  if (const int number = replaced == nullptr ? -1 : originNumber(*replaced->node()); number >= 0)
    return std::pair{originOf(number).graph, originOf(number).node};
  for (const Value* output : node.outputs()) {
    for (const auto& use : output->uses()) {
      if (!Difference::isNew(*use.user) || use.user->kind() == prim::Return) continue;
      if (const auto found = doesWorkOf(*use.user)) return found;
    }
  }
  return std::nullopt;
}

void NodeWriter::chooseGraphs(Block& block) {
  for (Node* node : block.nodes().reverse()) {
    for (Block* inner : node->blocks()) chooseGraphs(*inner);
    if (!Difference::isNew(*node)) continue;
    if (const auto work = doesWorkOf(*node)) {
      graphOf_[node] = work->first;
      continue;
    }
    int graph = -1;
    for (const Value* output : node->outputs()) {
      for (const auto& use : output->uses()) {
        const int other = graphOfReader(use);
        graph = graph < 0 ? other : common(graph, other);
      }
    }
    graphOf_[node] = graph < 0 ? graphAround(&block) : graph;
  }
}

void NodeWriter::writeNew(Block& block) {
  for (Node* node : block.nodes()) {
    if (Difference::isNew(*node)) {
      writeNode(*node);
      continue;
    }
    const int number = originNumber(*node);
    // The condition of a loop's first round is computed in front of it in the module, and inside it in the document.
    const bool passes =
        number >= 0 && !originOf(number).part && !translation_.runsTwice[static_cast<size_t>(originOf(number).graph)];
    const auto pass = [&] {
      if (passes) last_ = {originOf(number).graph, originOf(number).node};
    };
    pass();
    for (Block* inner : node->blocks()) writeNew(*inner);
    pass();
  }
}

// Behind the document's node that was passed last, or behind what holds that one.
int NodeWriter::placeIn(int graph) const {
  auto [at, node] = last_;
  while (at >= 0 && at != graph) {
    node = editor_.holderOf(at).node;
    at = editor_.holderOf(at).graph;
  }
  return at == graph ? node : -1;
}

Json NodeWriter::metadataFor(const Node& node, int graph, int behind) {
  const auto work = doesWorkOf(node);
  const auto& nodes = editor_.graph(graph).at("nodes").items();
  const auto next = std::min<size_t>(static_cast<size_t>(behind + 1), nodes.empty() ? 0 : nodes.size() - 1);
  const Json& like = work ? editor_.node(work->first, work->second) : nodes.at(next);
  Json::Object kept;
  const Json* all = like.find("metadata");
  for (const char* name : {"stack_trace", "nn_module_stack"}) {
    const Json* text = all == nullptr ? nullptr : all->find(name);
    if (text != nullptr) kept.emplace_back(name, *text);
  }
  return {std::move(kept)};
}

Json NodeWriter::metaOf(const Value* value) {
  value = behindHelpers(value, translation_);
  if (const auto made = newNames_.find(value); made != newNames_.end())
    return *editor_.metaOf({graphOf_.at(value->node()), made->second});
  if (const auto held = attributes_.find(attributePath(value)); held != attributes_.end())
    return *editor_.metaOf({0, held->second});
  if (const Json* meta = metaOfOriginal(difference_.original(value))) return *meta;
  throw EditRefused("the file says nothing of a value that the fold reads");
}

const Json* NodeWriter::metaOfOriginal(const Value* original) const {
  for (size_t graph = 0; graph < translation_.names.size(); ++graph) {
    const auto found = translation_.names[graph].find(original);
    if (found == translation_.names[graph].end()) continue;
    if (const Json* meta = editor_.metaOf({static_cast<int>(graph), found->second})) return meta;
  }
  return nullptr;
}

// Without defaults, but for those in front of another argument that goes by its position.
Json NodeWriter::inputsOf(const Node& node, const c10::FunctionSchema& schema, int graph) {
  Json::Array inputs;
  bool isInFront = false;
  for (size_t i = node.inputs().size(); i-- > 0;) {
    const c10::Argument& of = schema.arguments().at(i);
    const bool goesByName = of.kwarg_only();
    if (isDefault(node.input(i), of) && (goesByName || !isInFront)) continue;
    isInFront = isInFront || !goesByName;
    inputs.emplace_back(Json::Object{{"name", Json(of.name())},
                                     {"arg", argument(node.input(i), graph, of.real_type())},
                                     {"kind", Json(int64_t{goesByName ? 2 : 1})}});
  }
  std::ranges::reverse(inputs);
  return {std::move(inputs)};
}

// The names of a new node's outputs, which the tables describe from now on.
Json NodeWriter::outputsOf(const Node& node, const c10::FunctionSchema& schema, const std::string& name, int graph) {
  const Json meta = metaOfResult(
      node, [this](const Value* value) { return metaOf(value); }, metaOfOriginal(replacedBy(node)));
  Json::Array outputs;
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const bool alone = node.outputs().size() == 1;
    const std::string own = alone ? name : editor_.freshName(graph, name + "_" + schema.returns()[i].name());
    editor_.describe({graph, own}, meta);
    newNames_[node.output(i)] = own;
    outputs.push_back(namedArgument(own, *c10::TensorType::get()));
  }
  return {std::move(outputs)};
}

void NodeWriter::writeNode(Node& node) {
  const int graph = graphOf_.at(&node);
  if (translation_.inAutocast[static_cast<size_t>(graph)])
    throw EditRefused("a norm in a region of torch.autocast would change: export with run_decompositions({})");
  if (translation_.runsTwice[static_cast<size_t>(graph)]) throw EditRefused("the condition of a loop would change");
  const auto* op = node.maybeOperator();
  if (op == nullptr || op->schema().is_mutable() ||
      !c10::Dispatcher::singleton().findSchema({op->schema().name(), op->schema().overload_name()}))
    throw EditRefused(std::string("the fold needs the operator ") + node.kind().toQualString() +
                      ", which NormLens does not write into this format");
  const int behind = placeIn(graph);
  Json inputs = inputsOf(node, op->schema(), graph);
  std::string wanted = op->schema().name();
  wanted = wanted.substr(wanted.find("::") + 2);
  const std::string name = editor_.freshName(graph, wanted);
  Json outputs = outputsOf(node, op->schema(), name, graph);
  const auto& nodes = editor_.graph(graph).at("nodes").items();
  const bool isNamed = !nodes.empty() && nodes.front().find("name") != nullptr;
  const bool saysHop = !nodes.empty() && nodes.front().find("is_hop_single_tensor_return") != nullptr;
  Json::Object made{{"target", Json(targetOf(op->schema()))},
                    {"inputs", std::move(inputs)},
                    {"outputs", std::move(outputs)},
                    {"metadata", metadataFor(node, graph, behind)}};
  if (saysHop) made.emplace_back("is_hop_single_tensor_return", Json());
  if (isNamed) made.emplace_back("name", Json(name));
  editor_.insert(graph, behind, Json(std::move(made)));
}

}  // namespace normlens::formats::pt2

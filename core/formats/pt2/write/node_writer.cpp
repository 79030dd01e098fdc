#include "core/formats/pt2/write/node_writer.h"

#include <algorithm>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/pt2/file/tensor_meta.h"
#include "core/formats/pt2/write/literals.h"

namespace normlens::formats::pt2 {
namespace {

namespace prim = c10::prim;
using torch::jit::Node;
using torch::jit::Value;

bool isList(const Node& node) { return node.kind() == prim::ListConstruct || node.kind() == prim::TupleConstruct; }

Json named(const std::string& name) { return {Json::Object{{"name", Json(name)}}}; }

}  // namespace

NodeWriter::NodeWriter(const Program& program, const Difference& difference, DocumentEditor& editor,
                       torch::jit::Graph& edited)
    : program_(program), translation_(program.translation), difference_(difference), editor_(editor), edited_(edited) {
  for (const auto& [original, value] : difference.replacements()) standsFor_.emplace(value, original);
}

const Origin& NodeWriter::originOf(int number) const { return translation_.origins[static_cast<size_t>(number)]; }

void NodeWriter::write() {
  for (const auto& [graph, node] : difference_.gone()) editor_.remove(graph, node);
  chooseGraphs(*edited_.block());
  writeNew(*edited_.block());
  for (const auto& read : difference_.reads()) writeRead(read);
}

std::map<GraphName, std::string> NodeWriter::renamed() {
  std::map<GraphName, std::string> names;
  for (const auto& [original, value] : difference_.replacements()) {
    const int number = originNumber(*original->node());
    if (number < 0) continue;
    const int graph = originOf(number).graph;
    const auto& known = translation_.names[static_cast<size_t>(graph)];
    const auto found = known.find(original);
    if (found != known.end()) names[{graph, found->second}] = nameIn(value, graph);
  }
  return names;
}

void NodeWriter::writeRead(const Difference::Read& read) {
  if (read.number < 0) return writeResult(read);
  const Origin& origin = originOf(read.number);
  if (origin.transparent) return;  // what reads it is looked at itself
  const auto mutation = translation_.mutations.find(read.number);
  if (mutation != translation_.mutations.end() && read.operand == 1) {
    const Json result = argument(read.after, 0, read.after->type());
    editor_.graph(0).at("outputs").items()[mutation->second] = result;
    return editor_.setOutputArgument(mutation->second, result);
  }
  if (origin.part) throw EditRefused("what belongs to an operation of the file would change without it");
  if (read.block < 0) return writeOperand(read, origin);
  const auto& inner = editor_.graphsOf(origin.graph, origin.node);
  const bool loop = difference_.nodeBefore(read.number)->kind() == prim::Loop;
  if (loop && read.operand == 0) throw EditRefused("the condition of a loop would change");
  const int graph = inner.at(static_cast<size_t>(loop ? 1 : read.block));
  const auto output = static_cast<size_t>(read.operand - (loop ? 1 : 0));
  editor_.graph(graph).at("outputs").items().at(output) = argument(read.after, graph, read.after->type());
}

void NodeWriter::writeResult(const Difference::Read& read) {
  const Json result = argument(read.after, 0, read.after->type());
  auto& outputs = editor_.graph(0).at("outputs").items();
  int at = -1;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!program_.signature.outputs[i].isResult || ++at != read.operand) continue;
    outputs[i] = result;
    editor_.setOutputArgument(i, result);
    return;
  }
}

void NodeWriter::writeOperand(const Difference::Read& read, const Origin& origin) {
  Json& node = editor_.node(origin.graph, origin.node);
  const Node& torchNode = *difference_.nodeBefore(read.number);
  const auto operand = static_cast<size_t>(read.operand);
  if (torchNode.kind() == prim::Loop) {
    constexpr size_t kCarried = 2;
    if (operand < kCarried) throw EditRefused("the condition of a loop would change");
    Json& carried = node.at("inputs").items().at(kCarried).at("arg").at("as_tensors");
    carried.items().at(operand - kCarried) = named(nameIn(read.after, origin.graph));
    return;
  }
  if (origin.writtenOut && operand > 0)
    throw EditRefused("what belongs to an operation of the file would change without it");
  const std::string target = node.at("target").text();
  std::string name;
  c10::TypePtr type = read.after->type();
  bool keyword = false;
  // Operators on sizes, item() and cond name no arguments; what LibTorch does not know has no schema.
  const bool bySchema = target.starts_with("torch.ops.") && torchNode.kind() != prim::If &&
                        !target.ends_with(".item.default") && !origin.writtenOut;
  if (bySchema) {
    const auto& schema = schemaOfTarget(target).arguments().at(operand);
    name = schema.name();
    type = schema.real_type();
    keyword = schema.kwarg_only();
  }
  const Json made = argument(read.after, origin.graph, type);
  auto& inputs = editor_.node(origin.graph, origin.node).at("inputs").items();
  const auto found =
      name.empty() ? inputs.begin() + static_cast<std::ptrdiff_t>(operand)
                   : std::ranges::find_if(inputs, [&](const Json& input) { return input.at("name").text() == name; });
  if (found != inputs.end()) {
    if (found->at("arg") == made) return;
    if (translation_.runsTwice[static_cast<size_t>(origin.graph)])
      throw EditRefused("the condition of a loop would change");
    found->set("arg", made);
    return;
  }
  Json added = inputs.empty() ? Json(Json::Object{}) : inputs.front();
  added.set("name", Json(name));
  added.set("arg", made);
  if (added.find("kind") != nullptr) added.set("kind", Json(int64_t{keyword ? 2 : 1}));
  inputs.push_back(std::move(added));
}

// A value's own name, that by which a graph inside or around knows what it stands for, or one that is brought in.
std::string NodeWriter::nameIn(const Value* value, int graph) {
  value = behindHelpers(value, translation_);
  const auto& names = translation_.names[static_cast<size_t>(graph)];
  if (const Value* original = difference_.original(value)) {
    const auto found = names.find(original);
    if (found != names.end()) return found->second;
  } else if (const auto made = newNames_.find(value); made != newNames_.end()) {
    if (graphOf_.at(value->node()) == graph) return made->second;
  } else if (const auto held = attributes_.find(attributePath(value)); held != attributes_.end() && graph == 0) {
    return held->second;
  }
  for (const auto& [original, instead] : difference_.replacements()) {
    const int number = originNumber(*original->node());
    const auto found = names.find(original);
    const bool elsewhere = number >= 0 && originOf(number).graph != graph;
    if (behindHelpers(instead, translation_) == value && found != names.end() && elsewhere) return found->second;
  }
  const auto known = broughtIn_.find({graph, value});
  if (known != broughtIn_.end()) return known->second;
  const int around = editor_.holderOf(graph).graph;
  if (around < 0) throw EditRefused("a value of a graph inside another would be read outside of it");
  const std::string outer = nameIn(value, around);
  return broughtIn_[{graph, value}] = editor_.addOperand(graph, outer);
}

Json NodeWriter::listArgument(const Node& list, int graph, const c10::TypePtr& type) {
  const auto item = list.output()->type()->containedType(0);
  const bool optional = item->kind() == c10::TypeKind::OptionalType;
  Json::Array items;
  if (item->isSubtypeOf(*c10::TensorType::get()) || optional) {
    for (const Value* each : list.inputs()) {
      const bool none = each->node()->kind() == prim::Constant;
      const Json tensor = none ? Json() : named(nameIn(each, graph));
      items.push_back(!optional ? tensor
                      : none    ? Json(Json::Object{{"as_none", Json(true)}})
                                : Json(Json::Object{{"as_tensor", tensor}}));
    }
    return {Json::Object{{optional ? "as_optional_tensors" : "as_tensors", Json(std::move(items))}}};
  }
  if (item->kind() != c10::TypeKind::IntType) throw EditRefused("a list that an edit makes has no form in the file");
  for (const Value* each : list.inputs()) {
    const Json one = argument(each, graph, type);
    const auto& [kind, value] = one.only();
    items.push_back(kind == "as_sym_int" ? value : one);
  }
  return {Json::Object{{"as_sym_ints", Json(std::move(items))}}};
}

// A size that an edit needs, where the file states it.
Json NodeWriter::sizeArgument(const Node& size) {
  const auto sizes = readTensorMeta(metaOf(size.input(0))).sizes;
  const int64_t axis = torch::jit::toIValue(size.input(1)).value().toInt();
  const SymSize& asked = sizes.at(static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(sizes.size()) : axis));
  if (!asked.isFixed()) throw EditRefused("the fold needs a size that the file leaves open");
  return literalArgument(asked.example, c10::IntType::get());
}

Json NodeWriter::argument(const Value* value, int graph, const c10::TypePtr& type) {
  value = behindHelpers(value, translation_);
  const Node& node = *value->node();
  if (node.kind() == c10::aten::size && originNumber(node) < 0) return sizeArgument(node);
  if (node.kind() == prim::Constant) {
    const auto known = torch::jit::toIValue(value);
    if (!known) throw EditRefused("an argument that an edit gives has no form in the file");
    return literalArgument(*known, type);
  }
  if (isList(node)) return listArgument(node, graph, c10::IntType::get());
  return namedArgument(nameIn(value, graph), *value->type());
}

}  // namespace normlens::formats::pt2

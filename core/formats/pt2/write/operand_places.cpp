#include "core/formats/pt2/write/operand_places.h"

#include <algorithm>

#include "core/formats/edit/edit_refused.h"

namespace normlens::formats::pt2 {
namespace {

namespace prim = c10::prim;
using torch::jit::Block;
using torch::jit::Node;

constexpr size_t kLoopCarries = 2;  // behind the bound and the condition

[[noreturn]] void refuseCondition() { throw EditRefused("the condition of a loop would change"); }
[[noreturn]] void refusePart() {
  throw EditRefused("what belongs to an operation of the file would change without it");
}

}  // namespace

const Origin& OperandPlaces::placeOf(const Node& node) const {
  const int number = originNumber(node);
  if (number < 0) throw EditRefused("an operation has no place of its own in the file");
  const Origin& origin = program_.translation.origins[static_cast<size_t>(number)];
  if (origin.part) refusePart();
  return origin;
}

DocumentRead OperandPlaces::readAt(const Node& node, size_t input) const {
  const auto throughUser = [&] {
    const auto& uses = node.output()->uses();
    if (uses.size() != 1) refusePart();
    return readAt(*uses[0].user, uses[0].offset);
  };
  if (node.kind() == prim::Return) return returnAt(*node.owningBlock(), input);
  if (node.kind() == prim::ListConstruct || node.kind() == prim::TupleConstruct) {
    DocumentRead list = throughUser();
    if (list.node < 0) return returnAt(*node.owningBlock(), input);  // the program's results, as one tuple
    list.element = static_cast<int>(input);
    return list;
  }
  const int number = originNumber(node);
  const Translation& translation = program_.translation;
  const bool isPart = number >= 0 && translation.origins[static_cast<size_t>(number)].part;
  if (isPart && translation.origins[static_cast<size_t>(number)].transparent) return throughUser();
  const auto mutation = translation.mutations.find(number);
  if (mutation != translation.mutations.end() && input == 1) return {0, -1, mutation->second};
  const Origin& origin = placeOf(node);
  if (node.kind() != prim::Loop) return {origin.graph, origin.node, argumentOf(origin, node, input)};
  if (input < kLoopCarries) refuseCondition();
  return {origin.graph, origin.node, 2, static_cast<int>(input - kLoopCarries)};
}

DocumentRead OperandPlaces::returnAt(const Block& block, size_t output) const {
  const Node* owner = block.owningNode();
  if (owner != nullptr) {
    const Origin& origin = placeOf(*owner);
    const auto& inner = editor_.graphsOf(origin.graph, origin.node);
    const bool loop = owner->kind() == prim::Loop;
    if (loop && output == 0) refuseCondition();
    const bool second = loop || &block != owner->blocks()[0];
    return {inner.at(second ? 1 : 0), -1, output - (loop ? 1 : 0)};
  }
  const auto& outputs = program_.signature.outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].isResult && output-- == 0) return {0, -1, i};
  }
  throw EditRefused("the program has no such result");
}

// Operators on sizes, item() and cond name no arguments; what LibTorch does not have has no schema.
size_t OperandPlaces::argumentOf(const Origin& origin, const Node& node, size_t input) const {
  const Json& json = editor_.node(origin.graph, origin.node);
  const std::string& target = json.at("target").text();
  if (origin.writtenOut && input > 0) refusePart();
  const bool bySchema = target.starts_with("torch.ops.") && node.kind() != prim::If &&
                        !target.ends_with(".item.default") && !origin.writtenOut;
  if (!bySchema) return input;
  const auto& inputs = json.at("inputs").items();
  const std::string& name = schemaOfTarget(target).arguments().at(input).name();
  const auto found = std::ranges::find_if(inputs, [&](const Json& each) { return each.at("name").text() == name; });
  if (found == inputs.end()) throw EditRefused("an argument that the file leaves out would change");
  return static_cast<size_t>(found - inputs.begin());
}

Json& OperandPlaces::argumentAt(const DocumentRead& read) const {
  if (program_.translation.runsTwice[static_cast<size_t>(read.graph)]) refuseCondition();
  if (read.node < 0) return editor_.graph(read.graph).at("outputs").items().at(read.argument);
  return editor_.node(read.graph, read.node).at("inputs").items().at(read.argument).at("arg");
}

Json* OperandPlaces::nameAt(const DocumentRead& read) const {
  Json* at = &argumentAt(read);
  if (read.element >= 0) {
    const auto element = static_cast<size_t>(read.element);
    if (Json* list = at->find("as_tensors")) return &list->items().at(element).at("name");
    Json* optional = at->find("as_optional_tensors");
    if (optional == nullptr) return nullptr;
    at = &optional->items().at(element);
  }
  Json* tensor = at->find("as_tensor");
  return tensor == nullptr ? nullptr : &tensor->at("name");
}

}  // namespace normlens::formats::pt2

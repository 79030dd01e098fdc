// The part of the walk that needs no run: constants, attributes, elements of what the file holds, None checks.
#include <torch/csrc/jit/ir/constants.h>

#include "core/formats/torchscript/program/builder/program_builder.h"
#include "core/formats/torchscript/program/builder/static_eval.h"

namespace normlens::formats::torchscript {
namespace {

namespace prim = c10::prim;
namespace aten = c10::aten;
using torch::jit::Node;
using torch::jit::Value;

}  // namespace

void ProgramBuilder::walkConstant(Node* node, int frame) {
  const auto& graph = program_.frame(frame).graph;
  auto known = torch::jit::toIValue(node->output());
  // Functions and other constants without a value are only named by the call that uses them.
  if (!known) return bind(node->output(), frame, addValue(node->output(), frame));
  TensorSite site;
  site.node = node;
  site.graph = graph;
  if (known->isTensor()) {
    const auto [name, isNew] = constantNames_.try_emplace(node, "constant_" + std::to_string(constantNames_.size()));
    site.path = name->second;
  }
  bind(node->output(), frame, addKnown(node->output(), frame, std::move(*known), site));
}

bool ProgramBuilder::walkGetAttr(Node* node, int frame) {
  const int value = lookUp(node->input(), frame);
  const auto& object = knownOf(value);
  const std::string& name = node->s(c10::attr::name);
  const bool isKnown = object && object->isObject();
  if (!isKnown || !ofForward_) {
    for (const ObjectPtr& owner : instancesBehind(value)) hiddenReads_.insert({owner.get(), name});
  }
  if (!isKnown) return false;
  const ObjectPtr owner = object->toObject();
  if (!owner->type()->hasAttribute(name) || written_.contains({owner.get(), name})) return false;
  TensorSite site{owner, name, joinPath(index_.pathOf(*owner), name), nullptr, nullptr, {}};
  bind(node->output(), frame, addKnown(node->output(), frame, owner->getAttr(name), site));
  return true;
}

void ProgramBuilder::noteSetAttr(Node* node, int frame) {
  const int object = lookUp(node->input(0), frame);
  for (const ObjectPtr& owner : instancesBehind(object)) found_.insert({owner.get(), node->s(c10::attr::name)});
  const int producer = program_.values[static_cast<size_t>(object)].producer;
  const bool isNew =
      producer != kNone && program_.nodes[static_cast<size_t>(producer)].node->kind() == prim::CreateObject;
  program_.writesState |= !isNew;
}

bool ProgramBuilder::walkCast(Node* node, int frame) {
  if (node->inputs().size() != 1 || node->outputs().size() != 1) return false;
  bind(node->output(), frame, lookUp(node->input(), frame));
  return true;
}

// The place of a container that the file holds, found again through the node that read it.
TensorSite ProgramBuilder::containerSite(Node* reader, int frame) const {
  TensorSite site;
  if (reader->kind() == prim::GetAttr) {
    const auto& object = knownOf(lookUp(reader->input(), frame));
    if (object && object->isObject()) {
      site.owner = object->toObject();
      site.attribute = reader->s(c10::attr::name);
      site.path = joinPath(index_.pathOf(*site.owner), site.attribute);
    }
  } else if (reader->kind() == prim::Constant) {
    site.node = reader;
    site.graph = program_.frames[static_cast<size_t>(frame)].graph;
    site.path = "constant_list";
  }
  return site;
}

// Elements of a list, tuple or dict that the file holds: each is known by itself.
bool ProgramBuilder::walkElements(Node* node, int frame) {
  const bool isGetItem = node->kind() == aten::__getitem__ || node->kind() == prim::TupleIndex;
  const bool isUnpack = node->kind() == prim::TupleUnpack || node->kind() == prim::ListUnpack;
  if ((!isGetItem && !isUnpack) || node->inputs().empty()) return false;
  const int container = lookUp(node->input(0), frame);
  const auto known = knownOf(container);
  if (!known || (!known->isList() && !known->isTuple())) return false;
  const std::vector<c10::IValue> elements =
      known->isList() ? known->toListRef().vec() : known->toTupleRef().elements().vec();
  const TensorSite site = containerSite(node->input(0)->node(), frame);
  const auto bindElement = [&](Value* output, int64_t index) {
    TensorSite inner = site;
    inner.elements.push_back(index);
    inner.path += "." + std::to_string(index);
    bind(output, frame, addKnown(output, frame, elements[static_cast<size_t>(index)], inner));
  };
  const auto count = static_cast<int64_t>(elements.size());
  if (isUnpack) {
    if (count != static_cast<int64_t>(node->outputs().size())) return false;
    for (int64_t i = 0; i < count; ++i) bindElement(node->output(static_cast<size_t>(i)), i);
    return true;
  }
  const auto& index = knownOf(lookUp(node->input(1), frame));
  if (!index || !index->isInt()) return false;
  const int64_t wanted = index->toInt() < 0 ? index->toInt() + count : index->toInt();
  if (wanted < 0 || wanted >= count) return false;
  bindElement(node->output(), wanted);
  return true;
}

// "x is None" of a value whose type is never None.
bool ProgramBuilder::walkNoneCheck(Node* node, int frame) {
  if ((node->kind() != aten::__is__ && node->kind() != aten::__isnot__) || node->inputs().size() != 2) return false;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const int value = lookUp(node->input(side), frame), none = lookUp(node->input(1 - side), frame);
    if (!knownOf(none) || !knownOf(none)->isNone()) continue;
    const ProgramValue& subject = program_.value(value);
    const bool notNone = subject.known ? !subject.known->isNone() : neverNone(subject.value->type());
    if (!subject.known && !notNone) return false;
    const bool result = (node->kind() == aten::__isnot__) == notNone;
    bind(node->output(), frame, addKnown(node->output(), frame, result, {}));
    return true;
  }
  return false;
}

bool ProgramBuilder::walkKnown(Node* node, int frame) {
  if (node->outputs().empty() || !node->blocks().empty() || node->inputs().empty()) return false;
  std::vector<c10::IValue> inputs;
  for (const Value* input : node->inputs()) {
    const auto& known = knownOf(lookUp(input, frame));
    if (!known) return false;
    inputs.push_back(*known);
  }
  const auto results = evaluateKnown(node, inputs);
  if (!results || results->size() != node->outputs().size()) return false;
  for (size_t i = 0; i < results->size(); ++i)
    bind(node->output(i), frame, addKnown(node->output(i), frame, (*results)[i], {}));
  return true;
}

}  // namespace normlens::formats::torchscript

#include "core/formats/torchscript/program/builder/program_builder.h"

#include <torch/csrc/jit/api/function_impl.h>

#include <torch/csrc/jit/ir/constants.h>

#include <torch/csrc/jit/runtime/operator.h>
#include <torch/script.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace normlens::formats::torchscript {
namespace {

namespace prim = c10::prim;
namespace aten = c10::aten;
using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// Evaluates values before anything runs: folds pure ops on known scalars (len, not, is None, comparisons), so that the
// branches a scripted module takes for its configuration are chosen once.
constexpr std::array<std::string_view, 27> kPureOps = {
    "aten::__not__", "aten::__is__", "aten::__isnot__",  "aten::eq",           "aten::ne",     "aten::lt",
    "aten::le",      "aten::gt",     "aten::ge",         "aten::__and__",      "aten::__or__", "aten::add",
    "aten::sub",     "aten::mul",    "aten::floordiv",   "aten::remainder",    "aten::neg",    "aten::len",
    "aten::Int",     "aten::Float",  "aten::Bool",       "aten::__contains__", "prim::min",    "prim::max",
    "aten::str",     "aten::div",    "aten::__getitem__"};

bool isScalarLike(const c10::IValue& value) {
  return value.isInt() || value.isDouble() || value.isBool() || value.isString() || value.isNone() || value.isDevice();
}

// Scalars, and containers of scalars that an op may look into.
bool mayEvaluate(const c10::IValue& value) {
  return isScalarLike(value) || (value.isList() && std::ranges::all_of(value.toListRef(), isScalarLike));
}

// The outputs of a node whose inputs are known, in order; nullopt where the op is not in the list of pure scalar ops
// or raises an error. Never touches tensors.
std::optional<std::vector<c10::IValue>> evaluateKnown(torch::jit::Node* node, const std::vector<c10::IValue>& inputs) {
  const std::string_view kind = node->kind().toQualString();
  if (kind == "aten::len" && inputs.size() == 1 && inputs[0].isList())
    return std::vector<c10::IValue>{static_cast<int64_t>(inputs[0].toListRef().size())};
  if (std::ranges::find(kPureOps, kind) == kPureOps.end()) return std::nullopt;
  if (!std::ranges::all_of(inputs, mayEvaluate) || node->outputs().size() != 1) return std::nullopt;
  const auto* op = node->maybeOperator();
  if (op == nullptr || !op->hasOperation()) return std::nullopt;
  try {
    torch::jit::Stack stack(inputs);
    op->getOperation(node)(stack);
    if (stack.size() != 1 || stack[0].isTensor()) return std::nullopt;
    return std::vector<c10::IValue>{stack[0]};
  } catch (const std::exception&) {
    return std::nullopt;  // it will raise when it runs, if it ever does
  }
}

// A value of this static type can never be None.
bool neverNone(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::ListType:
    case c10::TypeKind::TupleType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::ClassType:
      return true;
    default:
      return false;
  }
}

// The block's own nodes include a raise, so it never reaches its end.
bool alwaysRaises(const torch::jit::Block& block) {
  const auto nodes = block.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const torch::jit::Node* node) { return node->kind() == c10::prim::RaiseException; });
}

// Deeper nesting of calls than any model has; stops a module that calls itself.
constexpr int kMaxDepth = 200;

// torch numbers the names of a loaded graph (ids becomes ids.1); the schema has them as they were written.
std::string inputName(const Value* input, const c10::Argument& argument) {
  const bool numbered = input->hasDebugName() && input->debugNameBase() == argument.name();
  return numbered ? argument.name() : input->debugName();
}

// Submodules of a ModuleList or ModuleDict.
std::vector<ObjectPtr> submodulesOf(const c10::ivalue::Object& container) {
  std::vector<ObjectPtr> submodules;
  for (const c10::IValue& slot : container.slots()) {
    if (slot.isObject()) submodules.push_back(slot.toObject());
  }
  return submodules;
}

}  // namespace

Program ProgramBuilder::build(const ObjectPtr& self, const std::string& method) {
  torch::jit::Function* function = self->type()->findMethod(method);
  auto* body = function == nullptr ? nullptr : torch::jit::tryToGraphFunction(*function);
  if (body == nullptr) throw std::runtime_error("the module has no " + method + "() method");
  body->ensure_defined();
  ofForward_ = isForward(*self, method);
  const Frame top{kNone, nullptr, self, index_.pathOf(*self), shortClassName(*self), method, body->graph()};
  const int block = addBlock(top.graph->block(), kNone, 0);
  const auto inputs = top.graph->inputs();
  const auto& schema = function->getSchema();
  std::vector<std::string> names;
  program_.frames.push_back(top);  // enter() would push it: the parameters need its number first
  environments_.emplace_back();
  bind(inputs[0], 0, addKnown(inputs[0], 0, c10::IValue(top.self), {}));
  for (size_t i = 1; i < inputs.size(); ++i) {
    const int id = addValue(inputs[i], 0);
    bind(inputs[i], 0, id);
    program_.blocks[0].params.push_back(id);
    names.push_back(inputName(inputs[i], schema.arguments().at(i)));
  }
  walkNodes(top.graph->block(), 0, block);
  program_.blocks[0].returns = lookUpAll(top.graph->outputs(), 0);
  if (ofForward_) program_.inputs = inputLayouts(program_, names, schema);
  return std::move(program_);
}

int ProgramBuilder::addValue(Value* value, int frame) {
  ProgramValue made;
  made.value = value;
  made.frame = frame;
  program_.values.push_back(std::move(made));
  return static_cast<int>(program_.values.size()) - 1;
}

int ProgramBuilder::addKnown(Value* value, int frame, c10::IValue known, const TensorSite& site) {
  const int id = addValue(value, frame);
  ProgramValue& made = program_.values[static_cast<size_t>(id)];
  made.known = std::move(known);
  if (made.known->isTensor() && made.known->toTensor().defined()) bindConstant(made, site);
  return id;
}

// Finds or makes the ConstantTensor of a known tensor and notes through which of its sites it was read.
void ProgramBuilder::bindConstant(ProgramValue& value, const TensorSite& site) {
  const at::Tensor& tensor = value.known->toTensor();
  const auto [found, isNew] =
      constantByMemory_.try_emplace(memoryKey(tensor), static_cast<int>(program_.constants.size()));
  if (isNew) program_.constants.push_back({tensor, index_.sitesOf(tensor), {}});
  value.constant = found->second;
  auto& sites = program_.constants[static_cast<size_t>(value.constant)].sites;
  const auto same = [&](const TensorSite& other) {
    return site.node != nullptr
               ? other.node == site.node
               : other.owner == site.owner && other.attribute == site.attribute && other.elements == site.elements;
  };
  const auto at = std::find_if(sites.begin(), sites.end(), same);
  value.site = static_cast<int>(at - sites.begin());
  if (at == sites.end()) sites.push_back(site);
}

int ProgramBuilder::addBlock(Block* block, int owner, int frame) {
  program_.blocks.push_back({owner, block, frame, {}, {}, {}});
  return static_cast<int>(program_.blocks.size()) - 1;
}

int ProgramBuilder::addNode(Node* node, int frame, int block) {
  ProgramNode made;
  made.node = node;
  made.frame = frame;
  made.block = block;
  made.inputs = lookUpAll(node->inputs(), frame);
  program_.nodes.push_back(std::move(made));
  const int id = static_cast<int>(program_.nodes.size()) - 1;
  program_.blocks[static_cast<size_t>(block)].nodes.push_back(id);
  return id;
}

int ProgramBuilder::lookUp(const Value* value, int frame) const {
  const auto& environment = environments_[static_cast<size_t>(frame)];
  const auto found = environment.find(value);
  if (found == environment.end())
    throw std::runtime_error("value %" + value->debugName() + " is read before it is made");
  return found->second;
}

ProgramBuilder::Values ProgramBuilder::lookUpAll(at::ArrayRef<Value*> values, int frame) const {
  Values ids;
  ids.reserve(values.size());
  for (const Value* value : values) ids.push_back(lookUp(value, frame));
  return ids;
}

void ProgramBuilder::bindOutputs(Node* node, int frame, const Values& results) {
  for (size_t i = 0; i < node->outputs().size(); ++i) bind(node->output(i), frame, results[i]);
}

// Walks a called body in the current block; its results are values of the caller.
ProgramBuilder::Values ProgramBuilder::enter(Frame frame, const Values& arguments, int block) {
  if (++depth_ > kMaxDepth) throw std::runtime_error("calls are nested more than 200 deep in " + frame.className);
  const auto graph = frame.graph;
  program_.frames.push_back(std::move(frame));
  environments_.emplace_back();
  const int id = static_cast<int>(program_.frames.size()) - 1;
  if (graph->inputs().size() != arguments.size())
    throw std::runtime_error("a call passes the wrong number of arguments");
  for (size_t i = 0; i < arguments.size(); ++i) bind(graph->inputs()[i], id, arguments[i]);
  walkNodes(graph->block(), id, block);
  Values results = lookUpAll(graph->outputs(), id);
  environments_[static_cast<size_t>(id)].clear();
  --depth_;
  return results;
}

void ProgramBuilder::walkNodes(Block* torchBlock, int frame, int block) {
  for (Node* node : torchBlock->nodes()) walkNode(node, frame, block);
}

void ProgramBuilder::walkNode(Node* node, int frame, int block) {
  switch (node->kind()) {
    case prim::Constant:
      return walkConstant(node, frame);
    case prim::GetAttr:
      if (walkGetAttr(node, frame)) return;
      break;
    case prim::SetAttr:
      noteSetAttr(node, frame);
      break;
    case prim::CallMethod:
      if (walkCallMethod(node, frame, block)) return;
      break;
    case prim::CallFunction:
      if (walkCallFunction(node, frame, block)) return;
      break;
    case prim::fork:
      if (walkFork(node, frame, block)) return;
      break;
    case aten::wait:  // forks run where they are written, so their result is already there
    case prim::unchecked_cast:
      if (walkCast(node, frame)) return;
      break;
    case prim::If:
      return walkIf(node, frame, block);
    case prim::Loop:
      return walkLoop(node, frame, block);
    default:
      if (walkElements(node, frame) || walkNoneCheck(node, frame) || walkKnown(node, frame)) return;
      break;
  }
  addOutputs(node, addNode(node, frame, block), frame);
}

void ProgramBuilder::addOutputs(Node* node, int id, int frame) {
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    const int value = addValue(node->output(i), frame);
    program_.values[static_cast<size_t>(value)].producer = id;
    program_.values[static_cast<size_t>(value)].output = static_cast<int>(i);
    program_.nodes[static_cast<size_t>(id)].outputs.push_back(value);
    bind(node->output(i), frame, value);
  }
}

void ProgramBuilder::inlineBranch(Node* node, Block* branch, int frame, int block) {
  walkNodes(branch, frame, block);
  bindOutputs(node, frame, lookUpAll(branch->outputs(), frame));
}

int ProgramBuilder::nestedBlock(Block* torchBlock, int owner, int frame, bool walkIt) {
  const int block = addBlock(torchBlock, owner, frame);
  program_.nodes[static_cast<size_t>(owner)].blocks.push_back(block);
  if (!walkIt) return block;
  for (Value* param : torchBlock->inputs()) {
    const int id = addValue(param, frame);
    bind(param, frame, id);
    program_.blocks[static_cast<size_t>(block)].params.push_back(id);
  }
  walkNodes(torchBlock, frame, block);
  program_.blocks[static_cast<size_t>(block)].returns = lookUpAll(torchBlock->outputs(), frame);
  return block;
}

void ProgramBuilder::walkIf(Node* node, int frame, int block) {
  Block* yes = node->blocks()[0];
  Block* no = node->blocks()[1];
  const auto& condition = knownOf(lookUp(node->input(), frame));
  if (condition && condition->isBool()) return inlineBranch(node, condition->toBool() ? yes : no, frame, block);
  const bool yesRaises = alwaysRaises(*yes), noRaises = alwaysRaises(*no);
  const int id = addNode(node, frame, block);
  if (yesRaises != noRaises) {
    program_.nodes[static_cast<size_t>(id)].guard = true;
    for (Block* branch : {yes, no}) {
      const int nested = nestedBlock(branch, id, frame, branch == (yesRaises ? yes : no));
      program_.blocks[static_cast<size_t>(nested)].returns.clear();
    }
    return inlineBranch(node, yesRaises ? no : yes, frame, block);
  }
  for (Block* branch : {yes, no}) nestedBlock(branch, id, frame, true);
  addOutputs(node, id, frame);
}

void ProgramBuilder::walkLoop(Node* node, int frame, int block) {
  const int id = addNode(node, frame, block);
  nestedBlock(node->blocks()[0], id, frame, true);
  addOutputs(node, id, frame);
}

bool ProgramBuilder::isForward(const c10::ivalue::Object& self, const std::string& method) const {
  return &self == module_._ivalue().get() && method == "forward";
}

std::vector<ObjectPtr> ProgramBuilder::instancesBehind(int value) const {
  const ProgramValue& at = program_.value(value);
  if (at.known) return at.known->isObject() ? std::vector{at.known->toObject()} : std::vector<ObjectPtr>();
  const ProgramNode* made = at.producer == kNone ? nullptr : &program_.node(at.producer);
  std::vector<ObjectPtr> found;
  const auto append = [&](const std::vector<ObjectPtr>& more) { found.insert(found.end(), more.begin(), more.end()); };
  if (made != nullptr && made->node->kind() == prim::ModuleContainerIndex) {
    for (const ObjectPtr& container : instancesBehind(made->inputs[0])) append(submodulesOf(*container));
  } else if (made != nullptr && made->node->kind() == prim::If) {
    for (const int block : made->blocks)
      append(instancesBehind(program_.block(block).returns[static_cast<size_t>(at.output)]));
  } else if (made == nullptr || made->node->kind() != prim::CreateObject) {
    append(index_.instancesOf(*at.value->type()));
  }
  return found;
}

bool ProgramBuilder::walkCallMethod(Node* node, int frame, int block) {
  const Values arguments = lookUpAll(node->inputs(), frame);
  const auto& object = knownOf(arguments[0]);
  const std::string& name = node->s(c10::attr::name);
  if (!object || !object->isObject()) {
    for (const ObjectPtr& self : instancesBehind(arguments[0])) chosen_.insert({self, name});
    return false;
  }
  const ObjectPtr self = object->toObject();
  // Another method that calls forward(): the model's results stay, what is below may change.
  if (!ofForward_ && isForward(*self, name)) return false;
  torch::jit::Function* function = self->type()->findMethod(name);
  auto* body = function == nullptr ? nullptr : torch::jit::tryToGraphFunction(*function);
  if (body == nullptr) return false;
  const Frame callee{frame, node, self, index_.pathOf(*self), shortClassName(*self), name, body->graph()};
  bindOutputs(node, frame, enter(callee, arguments, block));
  return true;
}

bool ProgramBuilder::walkCallFunction(Node* node, int frame, int block) {
  const auto type = node->input(0)->type()->cast<c10::FunctionType>();
  auto* body = type ? torch::jit::tryToGraphFunction(*type->function()) : nullptr;
  if (body == nullptr) return false;
  const Frame& caller = program_.frame(frame);
  const Frame callee{frame, node, nullptr, caller.path, caller.className, body->name(), body->graph()};
  bindOutputs(node, frame, enter(callee, lookUpAll(node->inputs().slice(1), frame), block));
  return true;
}

// A fork's body runs at the place of the fork.
bool ProgramBuilder::walkFork(Node* node, int frame, int block) {
  if (!node->hasAttribute(c10::attr::Subgraph) || node->outputs().size() != 1) return false;
  const auto body = node->g(c10::attr::Subgraph);
  if (body->outputs().size() != 1) return false;
  const Frame& caller = program_.frame(frame);
  const Frame callee{frame, node, nullptr, caller.path, caller.className, "fork", body};
  bindOutputs(node, frame, enter(callee, lookUpAll(node->inputs(), frame), block));
  return true;
}

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

#include "core/formats/torchscript/program/builder/program_builder.h"

#include <torch/csrc/jit/api/function_impl.h>

#include <algorithm>
#include <stdexcept>

#include "core/formats/torchscript/program/builder/static_eval.h"

namespace normlens::formats::torchscript {
namespace {

namespace prim = c10::prim;
namespace aten = c10::aten;
using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// Deeper nesting of calls than any model has; stops a module that calls itself.
constexpr int kMaxDepth = 200;

// torch numbers the names of a loaded graph (ids becomes ids.1); the schema has them as they were written.
std::string inputName(const Value* input, const c10::Argument& argument) {
  const bool numbered = input->hasDebugName() && input->debugNameBase() == argument.name();
  return numbered ? argument.name() : input->debugName();
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

}  // namespace normlens::formats::torchscript

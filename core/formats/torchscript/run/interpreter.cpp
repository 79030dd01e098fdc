#include "core/formats/torchscript/run/interpreter.h"

#include <torch/csrc/jit/ir/ir.h>
#include <torch/script.h>

#include <ATen/WrapDimUtils.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/printable.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/hidden_calls.h"
#include "core/formats/torchscript/program/program.h"

namespace normlens::formats::torchscript {
namespace {

namespace aten = c10::aten;
namespace prim = c10::prim;
using c10::IValue;
using torch::jit::Node;

// Indices of lookups, checked before the op runs. On a GPU an index beyond the rows fails an assertion, after which the
// process can run nothing there any more; on the CPU torch's own error names no weight.

// Its text is a sentence: "wpe.weight has 1024 rows, and the inputs need 2048".
struct LookupBeyond : std::runtime_error {
  using std::runtime_error::runtime_error;
};

bool isNumbers(const IValue& index) {
  return index.isTensor() && index.toTensor().defined() && !index.toTensor().is_meta() &&
         (index.toTensor().scalar_type() == at::kLong || index.toTensor().scalar_type() == at::kInt);
}

// Throws what checkLookup() throws. name: what is looked up in. fromEnd: negative indices count from the end.
void checkIndex(const std::string& name, int64_t rows, int64_t axis, const IValue& index, bool fromEnd) {
  if (!isNumbers(index) || index.toTensor().numel() == 0) return;
  const auto [least, most] = at::aminmax(index.toTensor());
  const int64_t lowest = least.item().toLong(), highest = most.item().toLong();
  if (lowest >= (fromEnd ? -rows : 0) && highest < rows) return;
  throw LookupBeyond(
      printable(name) + " has " + std::to_string(rows) +
      (axis == 0 ? " rows" : " elements along axis " + std::to_string(axis)) + ", and the inputs need " +
      (highest < rows ? "number " + std::to_string(lowest) : std::to_string(static_cast<uint64_t>(highest) + 1)));
}

// Throws LookupBeyond where `node` is a lookup and one of its indices is beyond what it reads. inputs: the node's, on
// any device; the check waits for the indices.
void checkLookup(const Program& program, const ProgramNode& node, const std::vector<IValue>& inputs) {
  const std::string op = node.node->kind().toQualString();
  const bool byAxis = op == "aten::index_select" || op == "aten::gather";
  if (!byAxis && op != "aten::embedding" && op != "aten::index") return;
  if (!inputs[0].isTensor() || inputs[0].toTensor().dim() == 0) return;
  const at::Tensor& table = inputs[0].toTensor();
  if (table.layout() != at::kStrided) return;  // others count negative indices from the end
  const ProgramValue& read = program.value(node.inputs[0]);
  const std::string name = read.constant == kNone ? "what " + op + " reads"
                                                  : program.constants[static_cast<size_t>(read.constant)].sites[0].path;
  const auto check = [&](int64_t axis, const IValue& index, bool fromEnd) {
    checkIndex(name, table.size(axis), axis, index, fromEnd);
  };
  if (byAxis) {
    if (inputs[1].isInt()) check(at::maybe_wrap_dim(inputs[1].toInt(), table.dim()), inputs[2], false);
  } else if (op == "aten::embedding") {
    check(0, inputs[1], false);
  } else {
    // One for each axis, up to a mask, behind which the axes are others. Too many are torch's to refuse.
    const auto indices = inputs[1].toListRef();
    const auto isEmpty = [](const IValue& index) { return isNumbers(index) && index.toTensor().numel() == 0; };
    if (std::ranges::any_of(indices, isEmpty)) return;  // broadcast to nothing, no row is read
    for (size_t axis = 0; axis < std::min(indices.size(), table.sizes().size()); ++axis) {
      const bool isMask = indices[axis].isTensor() && indices[axis].toTensor().defined() && !isNumbers(indices[axis]);
      if (isMask) return;
      check(static_cast<int64_t>(axis), indices[axis], true);
    }
  }
}

// Sizes that torch's recurrent ops trust their caller with: with others they read and write past the ends of tensors.
constexpr size_t kSettingsOfPadded = 6;  // behind the parameters; packed sequences have no batch_first

std::string text(at::IntArrayRef sizes) {
  std::string out;
  for (const int64_t size : sizes) out += (out.empty() ? "" : ", ") + std::to_string(size);
  return "[" + out + "]";
}

void checkState(const at::Tensor& state, const std::vector<int64_t>& wanted) {
  if (state.sizes() == at::IntArrayRef(wanted)) return;
  throw std::runtime_error("its state must have the shape " + text(wanted) + ", and has " + text(state.sizes()));
}

// [layers, batch, width]
void checkStates(const std::vector<IValue>& inputs, size_t parametersAt) {
  const auto parameters = inputs[parametersAt].toListRef();
  const auto setting = [&](size_t i) { return inputs.at(parametersAt + i); };
  const at::Tensor& recurrent = parameters[1].toTensor();  // [gates * hidden, width of what is fed back]
  if (recurrent.dim() != 2) return;
  const bool padded = inputs.size() - parametersAt - 1 == kSettingsOfPadded;
  const at::Tensor& input = inputs[0].toTensor();
  if (padded && input.dim() != 3) return;
  const int64_t batch = padded ? input.size(setting(6).toBool() ? 0 : 1) : inputs[1].toTensor()[0].item<int64_t>();
  const int64_t layers = setting(2).toInt() * (setting(5).toBool() ? 2 : 1);
  const IValue& states = inputs[parametersAt - 1];
  if (!states.isTensorList()) return checkState(states.toTensor(), {layers, batch, recurrent.size(1)});
  if (states.toListRef().size() != 2) return;  // torch reports it itself
  constexpr int64_t kGates = 4;                // An LSTM, which has a list, has as many.
  checkState(states.toListRef()[0].toTensor(), {layers, batch, recurrent.size(1)});
  checkState(states.toListRef()[1].toTensor(), {layers, batch, recurrent.size(0) / kGates});
}

// Throws std::runtime_error where `node` is a recurrent op and its input or state does not fit its weights.
void checkRecurrentSizes(const torch::jit::Node* node, const std::vector<IValue>& inputs) {
  const std::string_view op = node->kind().toQualString();
  if (op != "aten::lstm" && op != "aten::gru" && op != "aten::rnn_tanh" && op != "aten::rnn_relu") return;
  // The parameters are the last list; its first tensor multiplies the input: [gates * hidden, input].
  const auto last = std::find_if(inputs.rbegin(), inputs.rend(), [](const IValue& v) { return v.isTensorList(); });
  if (last == inputs.rend() || !inputs[0].isTensor() || last->toListRef().size() < 2) return;
  const at::Tensor& weight = last->toListRef()[0].toTensor();
  const at::Tensor& input = inputs[0].toTensor();
  if (weight.dim() == 2 && (input.dim() == 0 || weight.size(1) != input.size(-1)))
    throw std::runtime_error("the input's last axis must have " + std::to_string(weight.size(1)) + " elements");
  checkStates(inputs, static_cast<size_t>(inputs.rend() - last) - 1);
}

// Ops on tensors that have sizes and a type but no memory: for the shapes of a branch that a run does not take. What
// could leave a trace in the run around it is not done.

// A tensor of the same sizes and type without memory, a list or tuple of such ones; anything else as it is.
IValue withoutMemory(const IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined() || tensor.is_meta()) return value;
    if (tensor.layout() != at::kStrided || tensor.is_quantized()) throw std::runtime_error("it is no plain tensor");
    return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
  }
  if (value.isList()) {
    c10::impl::GenericList list(value.type()->containedType(0));
    for (const IValue& element : value.toListRef()) list.push_back(withoutMemory(element));
    return list;
  }
  if (value.isTuple()) {
    std::vector<IValue> elements;
    for (const IValue& element : value.toTupleRef().elements()) elements.push_back(withoutMemory(element));
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  return value;
}

// Readies an op's arguments, which have no memory; what it makes is to have none either. Throws std::runtime_error
// where the op does more than make a result.
void makeWithoutMemory(const torch::jit::Node& op, std::vector<IValue>& arguments) {
  if (op.hasSideEffects()) throw std::runtime_error("it does more than make a result");
  const auto* schema = op.maybeSchema();
  if (schema == nullptr) return;
  for (size_t i = 0; i < std::min(arguments.size(), schema->arguments().size()); ++i) {
    const auto& argument = schema->arguments()[i];
    const bool written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    if (written && !arguments[i].isTensor() && !arguments[i].isNone())
      throw std::runtime_error("it changes a container");
    if (argument.name() == "device") arguments[i] = at::Device(at::kMeta);
  }
}

struct CancelledRun : std::exception {};
struct TooLongRun : std::exception {};

// Limits the nodes of branches that a run does not take: a loop there may never end.
constexpr size_t kMostTriedNodes = 100'000;

// A list of any element type is a vector of IValues inside.
IValue makeList(const c10::TypePtr& type, std::vector<IValue> elements) {
  c10::impl::GenericList list(type->containedType(0));
  list.reserve(elements.size());
  for (IValue& element : elements) list.push_back(std::move(element));
  return list;
}

IValue makeTuple(const c10::TypePtr& type, std::vector<IValue> elements) {
  auto tuple = type->cast<c10::TupleType>();
  if (tuple && tuple->name()) return c10::ivalue::Tuple::createNamed(std::move(elements), std::move(tuple));
  return c10::ivalue::Tuple::create(std::move(elements));
}

std::vector<IValue> elementsOf(const IValue& container) {
  if (container.isTuple()) return container.toTupleRef().elements().vec();
  return container.toListRef().vec();
}

// A graph that holds a copy of this node alone: for nodes that only the JIT's interpreter has.
std::shared_ptr<torch::jit::Graph> graphOfOne(Node* node) {
  auto graph = std::make_shared<torch::jit::Graph>();
  std::unordered_map<const torch::jit::Value*, torch::jit::Value*> inputs;
  std::vector<torch::jit::Value*> order;
  for (const torch::jit::Value* input : node->inputs()) {
    torch::jit::Value* made = graph->addInput();
    made->setType(input->type());
    order.push_back(made);
  }
  size_t next = 0;
  Node* copy = graph->createClone(node, [&](torch::jit::Value*) { return order[next++]; });
  graph->insertNode(copy);
  for (torch::jit::Value* output : copy->outputs()) graph->registerOutput(output);
  return graph;
}

std::string describe(const Program& program, int node) {
  if (node == kNone) return "the model";
  const ProgramNode& at = program.nodes[static_cast<size_t>(node)];
  const std::string& path = program.frames[static_cast<size_t>(at.frame)].path;
  return std::string(at.node->kind().toQualString()) + (path.empty() ? "" : " in " + path);
}

// Calls what `with` enters or leaves; no exception is handed to it, as none is in the JIT. The methods of autocast are
// empty: a pass of LibTorch's compiler knows the class, which this run does not have.
void enterOrLeave(const Node* op, std::vector<IValue>& stack) {
  const auto& type = stack[0].toObjectRef().type();
  const std::string name = type->name() ? type->name()->qualifiedName() : "an object without a name";
  torch::jit::Function* method = methodOfWith(*op);
  if (method == nullptr || name.find("autocast_mode.autocast") != std::string::npos)
    throw std::runtime_error("a 'with' block of " + name + " is not understood");
  if (op->kind() == prim::Exit) stack.insert(stack.end(), 3, IValue());
  method->run(stack);
  stack.resize(op->outputs().size());
}

}  // namespace

Interpreter::Interpreter(const Program& program, Effort effort, std::function<void()> restarted)
    : program_(program), effort_(effort), restarted_(std::move(restarted)), steps_(program.nodes.size()) {
  findLastReads();
}

// A value dies after the last node of its own block that reads it, itself or inside its nested blocks. What a block
// returns lives on until the block ends.
void Interpreter::findLastReads() {
  std::vector<int> home(program_.values.size(), kNone), last(program_.values.size(), kNone);
  std::vector<bool> kept(program_.values.size(), false);
  const auto blockOf = [&](int id) -> const ProgramBlock& { return program_.blocks[static_cast<size_t>(id)]; };
  for (size_t b = 0; b < program_.blocks.size(); ++b) {
    for (const int v : program_.blocks[b].params) home[static_cast<size_t>(v)] = static_cast<int>(b);
  }
  for (const ProgramNode& n : program_.nodes) {
    for (const int v : n.outputs) home[static_cast<size_t>(v)] = n.block;
  }
  const auto readBy = [&](int value, int node, int block) {
    const int owner = home[static_cast<size_t>(value)];
    if (owner == kNone) return;
    while (block != owner && block != kNone) {
      node = blockOf(block).owner;
      if (node == kNone) return;
      block = program_.nodes[static_cast<size_t>(node)].block;
    }
    last[static_cast<size_t>(value)] = std::max(last[static_cast<size_t>(value)], node);
  };
  for (size_t i = 0; i < program_.nodes.size(); ++i) {
    const ProgramNode& n = program_.nodes[i];
    for (const int v : n.inputs) readBy(v, static_cast<int>(i), n.block);
    for (const int v : n.outputs) readBy(v, static_cast<int>(i), n.block);
  }
  for (size_t b = 0; b < program_.blocks.size(); ++b) {
    const ProgramBlock& block = program_.blocks[b];
    for (const int v : block.returns) {
      if (home[static_cast<size_t>(v)] == static_cast<int>(b)) {
        kept[static_cast<size_t>(v)] = true;
      } else if (block.owner != kNone) {
        readBy(v, block.owner, program_.nodes[static_cast<size_t>(block.owner)].block);
      }
    }
  }
  for (size_t v = 0; v < last.size(); ++v) {
    if (last[v] != kNone && !kept[v]) steps_[static_cast<size_t>(last[v])].dead.push_back(static_cast<int>(v));
  }
}

Result<std::vector<IValue>> Interpreter::run(std::vector<IValue> inputs, const ValueHook& hook, const Task& task) {
  if (effort_ != Effort::Values) {
    standIns_.emplace();
    auto own = inputs;
    if (program_.writesInputs)
      std::ranges::transform(own, own.begin(), [](const IValue& input) { return input.deepcopy(); });
    auto results = runOnce(std::move(own), hook, task);
    standIns_.reset();
    const bool isFinal = effort_ == Effort::ShapesTried && !valuesNeeded_;
    if (results || isFinal || results.error().code == ErrorCode::Cancelled) return results;
    if (restarted_) restarted_();
  }
  return runOnce(std::move(inputs), hook, task);
}

Result<std::vector<IValue>> Interpreter::runOnce(std::vector<IValue> inputs, const ValueHook& hook, const Task& task) {
  const c10::InferenceMode inference;
  const RunWatch watch(RunWatch::Kind::Run);
  watch_ = &watch;
  valuesNeeded_ = false;
  hook_ = hook ? &hook : nullptr;
  task_ = &task;
  current_ = kNone;
  registers_.assign(program_.values.size(), IValue());
  ran_.assign(program_.nodes.size(), false);
  tried_.assign(tried_.size(), false);
  triedNodes_ = 0;
  RunState state(program_);
  const auto failed = [&](const std::string& why) {
    fault_ = {current_, {}, static_cast<size_t>(std::ranges::count(ran_, true))};
    if (current_ != kNone) fault_.inputs = getAll(program_.nodes[static_cast<size_t>(current_)].inputs);
    return fail(ErrorCode::RunFailed, describe(program_, current_) + " failed: " + why,
                "check that the inputs fit the model");
  };
  try {
    const auto& params = program_.blocks[0].params;
    if (inputs.size() != params.size())
      return fail(ErrorCode::BadInput, "the model takes " + std::to_string(params.size()) + " inputs, " +
                                           std::to_string(inputs.size()) + " were given");
    loadConstants(state, hook);
    for (size_t i = 0; i < params.size(); ++i) set(params[i], std::move(inputs[i]));
    runBlock(0);
    auto results = getAll(program_.blocks[0].returns);
    registers_.clear();
    return results;
  } catch (const CancelledRun&) {
    return fail(ErrorCode::Cancelled, "stopped on request");
  } catch (const TooLongRun&) {
    return fail(ErrorCode::RunFailed, watch.tooLong() + " (" + describe(program_, current_) + ")",
                {"allow more", HintKey::TimeLimit});
  } catch (const LookupBeyond& error) {
    static_cast<void>(failed(error.what()));
    return fail(ErrorCode::BadInput, error.what(), "check that the inputs fit the model");
  } catch (const ValueNeeded& error) {
    valuesNeeded_ = true;
    return failed(error.what());
  } catch (const c10::Error& error) {
    return failed(shortText(error));
  } catch (const std::exception& error) {
    return failed(firstLine(error.what()));
  }
}

void Interpreter::loadConstants(RunState& state, const ValueHook& hook) {
  for (size_t v = 0; v < program_.values.size(); ++v) {
    if (!program_.values[v].known) continue;
    registers_[v] = state.of(*program_.values[v].known);
    if (hook) hook(static_cast<int>(v), registers_[v]);
  }
}

void Interpreter::set(int value, IValue content) {
  IValue& slot = registers_[static_cast<size_t>(value)];
  slot = std::move(content);
  if (hook_ != nullptr) (*hook_)(value, slot);
}

void Interpreter::setAll(const std::vector<int>& values, std::vector<IValue> contents) {
  if (values.size() != contents.size()) throw std::runtime_error("the op made another number of results");
  for (size_t i = 0; i < values.size(); ++i) set(values[i], std::move(contents[i]));
}

std::vector<IValue> Interpreter::getAll(const std::vector<int>& values) const {
  std::vector<IValue> contents;
  contents.reserve(values.size());
  for (const int value : values) contents.push_back(get(value));
  return contents;
}

void Interpreter::runBlock(int block) {
  for (const int node : program_.blocks[static_cast<size_t>(block)].nodes) {
    if (task_->cancelled()) throw CancelledRun();
    if (watch_->expired()) throw TooLongRun();
    if (isTrial_ && ++triedNodes_ > kMostTriedNodes) throw std::runtime_error("it does not end");
    current_ = node;
    const ProgramNode& at = program_.nodes[static_cast<size_t>(node)];
    RunWatch::at(at.node->kind().toQualString(), program_.frames[static_cast<size_t>(at.frame)].path);
    if (!steps_[static_cast<size_t>(node)].ready) prepare(node);
    runNode(node);
    ran_[static_cast<size_t>(node)] = true;
    for (const int value : steps_[static_cast<size_t>(node)].dead) registers_[static_cast<size_t>(value)] = IValue();
  }
}

void Interpreter::prepare(int node) {
  Step& step = steps_[static_cast<size_t>(node)];
  Node* op = program_.nodes[static_cast<size_t>(node)].node;
  step.ready = true;
  switch (op->kind()) {
    case prim::If:
      step.kind = Kind::If;
      return;
    case prim::Loop:
      step.kind = Kind::Loop;
      return;
    case prim::ListConstruct:
      step.kind = Kind::List;
      return;
    case prim::TupleConstruct:
      step.kind = Kind::Tuple;
      return;
    case prim::TupleUnpack:
    case prim::ListUnpack:
      step.kind = Kind::Unpack;
      return;
    case prim::RaiseException:
      step.kind = Kind::Raise;
      return;
    case prim::GetAttr:
      step.kind = Kind::GetAttr;
      return;
    case prim::SetAttr:
      step.kind = Kind::SetAttr;
      return;
    case prim::Enter:
    case prim::Exit:
      step.kind = Kind::With;
      return;
    case aten::warn:
      step.kind = Kind::Nothing;
      return;
    default:
      break;
  }
  const auto* found = op->maybeOperator();
  if (found != nullptr && found->hasOperation() && !found->schema().is_vararg()) {
    step.operation.emplace(found->getOperation(op));
    return;
  }
  step.kind = Kind::Compiled;
  step.code.emplace(graphOfOne(op), "op");
}

void Interpreter::runNode(int node) {
  switch (steps_[static_cast<size_t>(node)].kind) {
    case Kind::If:
      return runIf(node);
    case Kind::Loop:
      return runLoop(node);
    case Kind::GetAttr:
      return getAttribute(node);
    case Kind::SetAttr:
      return setAttribute(node);
    default:
      return runSimple(node);
  }
}

void Interpreter::runSimple(int node) {
  Step& step = steps_[static_cast<size_t>(node)];
  const ProgramNode& at = program_.nodes[static_cast<size_t>(node)];
  for (const int input : isTrial_ ? at.inputs : std::vector<int>{}) {
    IValue& slot = registers_[static_cast<size_t>(input)];
    slot = withoutMemory(slot);
  }
  std::vector<IValue> stack = getAll(at.inputs);
  if (isTrial_) makeWithoutMemory(*at.node, stack);
  StandIns* const standIns = standIns_ && !isTrial_ ? &*standIns_ : nullptr;
  if (standIns != nullptr && standIns->replace(at.node, stack)) return setAll(at.outputs, std::move(stack));
  const std::vector<IValue> inputs = standIns != nullptr ? stack : std::vector<IValue>();
  switch (step.kind) {
    case Kind::List:
      return set(at.outputs[0], makeList(at.node->output()->type(), std::move(stack)));
    case Kind::Tuple:
      return set(at.outputs[0], makeTuple(at.node->output()->type(), std::move(stack)));
    case Kind::Unpack:
      return setAll(at.outputs, elementsOf(stack[0]));
    case Kind::Nothing:
      return setAll(at.outputs, std::vector<IValue>(at.outputs.size()));
    case Kind::With:
      enterOrLeave(at.node, stack);
      break;
    case Kind::Raise:
      throw std::runtime_error(stack[0].isString() ? stack[0].toStringRef() : "the model raised an error");
    case Kind::Compiled:
      torch::jit::InterpreterState(*step.code).run(stack);
      break;
    default:
      checkRecurrentSizes(at.node, stack);
      if (checksLookups_ && !isTrial_) checkLookup(program_, at, stack);
      (*step.operation)(stack);
      break;
  }
  if (standIns != nullptr) standIns->follow(at.node, inputs, stack);
  setAll(at.outputs, std::move(stack));
}

void Interpreter::runIf(int node) {
  const ProgramNode& at = program_.nodes[static_cast<size_t>(node)];
  const size_t taken = get(at.inputs[0]).toBool() ? 0 : 1;
  const int branch = at.blocks[taken];
  if (!tried_.empty() && !at.guard) {
    tried_[static_cast<size_t>(branch)] = true;
    tryBranch(at.blocks[1 - taken]);
  }
  runBlock(branch);
  if (!at.guard) setAll(at.outputs, getAll(program_.blocks[static_cast<size_t>(branch)].returns));
}

void Interpreter::tryBranch(int block) {
  if (tried_[static_cast<size_t>(block)]) return;
  tried_[static_cast<size_t>(block)] = true;
  const auto registers = registers_;
  const auto ran = ran_;
  const int current = current_;
  const bool within = std::exchange(isTrial_, true);
  try {
    runBlock(block);
  } catch (const CancelledRun&) {
    throw;
  } catch (const TooLongRun&) {
    throw;
  } catch (const std::exception&) {
    // The hook has seen the shapes of what ran until then.
  }
  isTrial_ = within;
  current_ = current;
  ran_ = ran;
  registers_ = registers;
}

// inputs: trip count, first condition, carried ...; body: (iteration, carried ...) -> (condition, carried ...).
void Interpreter::runLoop(int node) {
  const ProgramNode& at = program_.nodes[static_cast<size_t>(node)];
  const ProgramBlock& body = program_.blocks[static_cast<size_t>(at.blocks[0])];
  const int64_t trips = get(at.inputs[0]).toInt();
  bool goOn = get(at.inputs[1]).toBool();
  std::vector<IValue> carried = getAll({at.inputs.begin() + 2, at.inputs.end()});
  for (int64_t i = 0; i < trips && goOn; ++i) {
    set(body.params[0], i);
    setAll({body.params.begin() + 1, body.params.end()}, std::move(carried));
    runBlock(at.blocks[0]);
    carried = getAll(body.returns);
    goOn = carried[0].toBool();
    carried.erase(carried.begin());
  }
  setAll(at.outputs, std::move(carried));
}

// Only attributes that the model writes, and those of objects made at run time, get here.
void Interpreter::getAttribute(int node) {
  const ProgramNode& at = program_.nodes[static_cast<size_t>(node)];
  set(at.outputs[0], get(at.inputs[0]).toObjectRef().getAttr(at.node->s(c10::attr::name)));
}

void Interpreter::setAttribute(int node) {
  const ProgramNode& at = program_.nodes[static_cast<size_t>(node)];
  if (isTrial_) throw std::runtime_error("it changes the model");
  get(at.inputs[0]).toObject()->setAttr(at.node->s(c10::attr::name), get(at.inputs[1]));
}

}  // namespace normlens::formats::torchscript

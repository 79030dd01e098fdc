#include "core/formats/pt2/translate/translator.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_set>

namespace normlens::formats::pt2 {
namespace {

namespace aten = c10::aten;
namespace prim = c10::prim;
using c10::IValue;
using c10::TypeKind;
using torch::jit::Block;
using torch::jit::WithInsertPoint;

c10::TypePtr typeOf(const UserInput& input) {
  switch (input.kind) {
    case UserInput::Kind::Int:
      return c10::IntType::get();
    case UserInput::Kind::Float:
      return c10::FloatType::get();
    case UserInput::Kind::Bool:
      return c10::BoolType::get();
    default:
      return c10::TensorType::get();
  }
}

std::map<std::string, std::string> classesIn(const std::vector<const Json*>& graphs) {
  std::map<std::string, std::string> classes;
  for (const Json* graph : graphs) {
    for (const Json& node : graph->at("nodes").items()) {
      for (const ModuleOnStack& module : moduleStack(node)) classes.try_emplace(module.path, module.className);
    }
  }
  return classes;
}

void addLive(const Block& block, std::unordered_set<const torch::jit::Value*>& values,
             std::unordered_set<const torch::jit::Node*>& nodes) {
  for (const auto* input : block.inputs()) values.insert(input);
  for (const auto* node : block.nodes()) {
    nodes.insert(node);
    for (const auto* output : node->outputs()) values.insert(output);
    for (const auto* inner : node->blocks()) addLive(*inner, values, nodes);
  }
}

// As EliminateDeadCode(), which reads the schema of every operator: opaque ones have none.
void removeUnread(Block& block) {
  constexpr std::array kHarmless = {prim::Constant, prim::GetAttr, prim::ListConstruct, prim::ListUnpack};
  auto nodes = block.nodes();
  for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
    for (Block* inner : at->blocks()) removeUnread(*inner);
    const auto* schema = at->maybeSchema();
    const bool harmless = std::ranges::find(kHarmless, at->kind()) != kHarmless.end() ||
                          (schema != nullptr && !at->kind().is_prim() && !schema->is_mutable());
    if (harmless && !at->hasUses()) at.destroyCurrent();
  }
}

bool isKind(const c10::TypePtr& type, TypeKind kind) { return type && type->kind() == kind; }
bool isListOf(const c10::TypePtr& type, TypeKind kind) {
  return isKind(type, TypeKind::ListType) && type->containedType(0)->kind() == kind;
}

// The schema's layouts and memory formats are numbered otherwise than c10's.
int64_t memoryFormat(int64_t number) {
  switch (number) {
    case 1:
      return static_cast<int64_t>(at::MemoryFormat::Contiguous);
    case 2:
      return static_cast<int64_t>(at::MemoryFormat::ChannelsLast);
    case 3:
      return static_cast<int64_t>(at::MemoryFormat::ChannelsLast3d);
    case 4:
      return static_cast<int64_t>(at::MemoryFormat::Preserve);
    default:
      throw BrokenDocument("a memory format is " + std::to_string(number));
  }
}

int64_t layout(int64_t number) {
  constexpr int64_t kStrided = 7;
  if (number == kStrided) return static_cast<int64_t>(at::kStrided);
  throw UnsupportedProgram("makes sparse tensors", "export the model with dense tensors");
}

const Json& argumentAt(const Json& node, size_t index) {
  const auto& inputs = node.at("inputs").items();
  if (index >= inputs.size()) throw BrokenDocument("a node has too few arguments");
  return inputs[index].at("arg");
}

}  // namespace

int originNumber(const torch::jit::Node& node) {
  const auto attribute = c10::Symbol::attr("pt2_origin");
  return node.hasAttribute(attribute) ? static_cast<int>(node.i(attribute)) : -1;
}

Translator::Translator(const ProgramFile& file, const Signature& signature)
    : file_(file), signature_(signature), graphs_(graphsIn(file.graph())) {
  for (size_t i = 0; i < graphs_.size(); ++i) numbers_[graphs_[i]] = static_cast<int>(i);
  made_.names.resize(graphs_.size());
  made_.inAutocast.resize(graphs_.size());
  made_.runsTwice.resize(graphs_.size());
}

void Translator::addModules(const std::function<at::Tensor(const HeldTensor&)>& tensorOf) {
  modules_.emplace(classesIn(graphs_));
  for (const HeldTensor& held : signature_.held) modules_->add(held, tensorOf(held));
  modules_->addKnown();
}

Translator::Value* Translator::readHeld(const HeldTensor& held) {
  Value* at = self_;
  for (const std::string& part : ModuleTree::partsOf(held.fqn)) at = graph_->insertGetAttr(at, part);
  return at;
}

void Translator::bindInputs(Scope& scope) {
  const auto add = [&](const std::string& name, Value* value) {
    scope.values[name] = value;
    made_.names[0].emplace(value, name);
    made_.records[value] = recordOf(name, *scope.json);
  };
  for (const UserInput& input : signature_.inputs) {
    Value* value = graph_->addInput()->setType(typeOf(input));
    const bool plain =
        std::ranges::all_of(input.name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
    if (plain) value->setDebugName(input.name);
    add(input.name, value);
  }
  const WithInsertPoint here(graph_->block());
  for (const HeldTensor& held : signature_.held) {
    const Json* meta = scope.json->at("tensor_values").find(held.placeholder);
    if (meta == nullptr) throw BrokenDocument("nothing is said of the value '" + held.placeholder.substr(0, 80) + "'");
    add(held.placeholder, readHeld(held));
  }
}

// Adds what a run returns, and after it what it has written to: an update of a buffer is an output of the program,
// which whoever runs it takes over.
void Translator::addResults(Scope& scope) {
  const auto& outputs = scope.json->at("outputs").items();
  Values results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputSpec& spec = signature_.outputs[i];
    if (spec.isToken) continue;
    if (spec.isResult) results.push_back(read(outputs[i], scope, nullptr));
    if (spec.isUsers) continue;
    const auto held = std::ranges::find(signature_.held, spec.written, &HeldTensor::fqn);
    Value* target = held != signature_.held.end() ? named(held->placeholder, scope) : named(spec.written, scope);
    Value* copied = graph_->insert(aten::copy_, {target, read(outputs[i], scope, nullptr)});
    made_.mutations[static_cast<int>(made_.origins.size())] = i;
    mark(copied->node(), scope, /*part=*/true);
  }
  if (results.empty()) throw UnsupportedProgram("gives no tensor and no number", "export a model that gives one");
  Value* all = results.size() == 1 ? results[0] : graph_->insertNode(graph_->createTuple(results))->output();
  graph_->registerOutput(all);
}

// Removes the records and names of values that only dead code made.
void Translator::keepLiveOnly(Translation& made) const {
  std::unordered_set<const Value*> values;
  std::unordered_set<const Node*> nodes;
  addLive(*graph_->block(), values, nodes);
  const auto isDead = [&](const auto& entry) { return !values.contains(entry.first); };
  std::erase_if(made.records, isDead);
  for (ValueNames& names : made.names) std::erase_if(names, isDead);
}

Translation Translator::run(const std::function<at::Tensor(const HeldTensor&)>& tensorOf) {
  addModules(tensorOf);
  torch::jit::Module& root = modules_->root();
  self_ = graph_->addInput("self")->setType(root.type());
  Scope scope{0, graphs_[0], {}, 0};
  bindInputs(scope);
  {
    const WithInsertPoint here(graph_->block());
    nodes(scope);
    addResults(scope);
  }
  if (made_.opaque.empty()) {
    torch::jit::EliminateDeadCode(graph_);
  } else {
    removeUnread(*graph_->block());
  }
  graph_->lint();
  keepLiveOnly(made_);
  const auto unit = root._ivalue()->compilation_unit();
  const c10::QualifiedName name(*root.type()->name(), "forward");
  root.type()->addMethod(unit->create_function(name, graph_));
  made_.module = root;
  return std::move(made_);
}

Translation translate(const ProgramFile& file, const Signature& signature,
                      const std::function<at::Tensor(const HeldTensor&)>& tensorOf) {
  return Translator(file, signature).run(tensorOf);
}

at::ScalarType scalarTypeOfSchema(int64_t number) {
  constexpr std::array<at::ScalarType, 14> kTypes = {
      at::kByte,  at::kByte,   at::kChar,        at::kShort,        at::kInt,           at::kLong, at::kHalf,
      at::kFloat, at::kDouble, at::kComplexHalf, at::kComplexFloat, at::kComplexDouble, at::kBool, at::kBFloat16};
  if (number < 1 || number >= static_cast<int64_t>(kTypes.size()))
    throw UnsupportedProgram(
        "uses an element type that NormLens does not know (number " + std::to_string(number) + " of the schema)",
        "export the model in float32, bfloat16 or float16");
  return kTypes[static_cast<size_t>(number)];
}

Translator::Value* Translator::named(const std::string& name, const Scope& scope) {
  const auto found = scope.values.find(name);
  if (found == scope.values.end()) throw BrokenDocument("'" + name.substr(0, 80) + "' is read before it is made");
  return found->second;
}

Translator::Value* Translator::constant(const IValue& value) { return graph_->insertConstant(value); }

Translator::Value* Translator::listOf(const Values& values, const c10::TypePtr& listType) {
  return graph_->insertNode(graph_->createList(listType->containedType(0), values))->output();
}

Translator::Value* Translator::readSymbol(const Json& symbol, const Scope& scope, const c10::TypePtr& wanted) {
  const auto& [kind, value] = symbol.only();
  if (kind == "as_name") return named(value.text(), scope);
  return readNumber(value, kind, wanted);
}

// `kind`: as_int, as_float or as_bool. A number becomes what is wanted of it.
Translator::Value* Translator::readNumber(const Json& value, const std::string& kind, const c10::TypePtr& wanted) {
  if (kind == "as_float") return constant(value.real());
  if (kind == "as_bool") {
    // full(False): no operator of TorchScript takes a truth value there
    if (isKind(wanted, TypeKind::NumberType)) return constant(static_cast<int64_t>(value.boolean()));
    return constant(value.boolean());
  }
  if (kind != "as_int") throw BrokenDocument("an argument is of the kind '" + kind.substr(0, 40) + "'");
  if (isKind(wanted, TypeKind::FloatType)) return constant(static_cast<double>(value.integer()));
  return constant(value.integer());
}

Translator::Value* Translator::readNumbers(const Json& list, const std::string& kind, const c10::TypePtr& wanted) {
  if (kind == "as_bools") {
    c10::List<bool> made;
    for (const Json& item : list.items()) made.push_back(item.boolean());
    return constant(made);
  }
  if (kind == "as_floats" || isListOf(wanted, TypeKind::FloatType)) {
    c10::List<double> made;
    for (const Json& item : list.items()) made.push_back(item.real());
    return constant(made);
  }
  c10::List<int64_t> made;
  for (const Json& item : list.items()) made.push_back(item.integer());
  return constant(made);
}

Translator::Value* Translator::read(const Json& argument, const Scope& scope, c10::TypePtr wanted) {
  const auto& [kind, value] = argument.only();
  if (kind == "as_none") return constant(IValue());
  if (isKind(wanted, TypeKind::OptionalType)) wanted = wanted->expectRef<c10::OptionalType>().getElementType();
  const bool list = isKind(wanted, TypeKind::ListType);
  const auto single = [&](Value* one) { return list ? listOf({one}, wanted) : one; };
  const c10::TypePtr item = list ? wanted->containedType(0) : wanted;
  if (kind == "as_tensor") return single(named(value.at("name").text(), scope));
  if (kind == "as_int" && isListOf(wanted, TypeKind::IntType)) return constant(c10::List<int64_t>({value.integer()}));
  if (kind == "as_int" || kind == "as_float" || kind == "as_bool") return single(readNumber(value, kind, item));
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool")
    return single(readSymbol(value, scope, item));
  if (kind == "as_string") return constant(value.text());
  if (kind == "as_ints" || kind == "as_floats" || kind == "as_bools") return readNumbers(value, kind, wanted);
  if (kind == "as_scalar_type") return constant(static_cast<int64_t>(scalarTypeOfSchema(value.integer())));
  if (kind == "as_layout") return constant(layout(value.integer()));
  if (kind == "as_memory_format") return constant(memoryFormat(value.integer()));
  if (kind == "as_device") return constant(c10::Device(at::kCPU));  // every model runs where the caller chooses
  if (kind == "as_complex") {
    return constant(c10::complex<double>(value.at("real").real(), value.at("imag").real()));
  }
  Values items;
  if (kind == "as_sym_ints" || kind == "as_sym_floats") {
    for (const Json& each : value.items()) items.push_back(readSymbol(each, scope, item));
    return listOf(items, list ? wanted : c10::TypePtr(c10::ListType::ofInts()));
  }
  if (kind == "as_tensors") {
    for (const Json& each : value.items()) items.push_back(named(each.at("name").text(), scope));
    return listOf(items, list ? wanted : c10::TypePtr(c10::ListType::ofTensors()));
  }
  if (kind == "as_optional_tensors") {
    for (const Json& each : value.items()) {
      const auto& [present, tensor] = each.only();
      items.push_back(present == "as_none" ? constant(IValue()) : named(tensor.at("name").text(), scope));
    }
    return listOf(items, c10::ListType::create(c10::OptionalType::ofTensor()));
  }
  throw UnsupportedProgram("has an argument of the kind '" + kind.substr(0, 40) + "', which NormLens does not know",
                           "export it with run_decompositions({})");
}

void Translator::higherOrder(const std::string& name, const Json& json, Scope& scope) {
  if (name == "cond") return cond(json, scope);
  if (name == "while_loop") return whileLoop(json, scope);
  if (name == "wrap_with_set_grad_enabled" || name == "wrap_with_autocast") return region(name, json, scope);
  opaqueNode("higher_order::" + name, json, scope);
}

Translator::Value* Translator::truth(Value* value, const Scope& scope) {
  if (value->type()->kind() == c10::TypeKind::BoolType) return value;
  Value* made = graph_->insert(aten::Bool, {value});
  mark(made->node(), scope, /*part=*/true, /*transparent=*/true);
  return made;
}

Translator::Values Translator::operands(const Json& argument, const Scope& scope) {
  Values values;
  const auto& [kind, list] = argument.only();
  if (kind == "as_tensor" || kind == "as_sym_int") return {read(argument, scope, nullptr)};
  for (const Json& item : list.items()) {
    if (const Json* name = item.find("name")) {
      values.push_back(named(name->text(), scope));
    } else {
      values.push_back(readSymbol(item, scope, nullptr));
    }
  }
  return values;
}

// The nodes of a graph that is an argument, where they are read.
Translator::Values Translator::inlined(const Json& graphArgument, const Values& operands, bool autocast) {
  const Json& graph = graphArgument.at("as_graph").at("graph");
  Scope inner{numbers_.at(&graph), &graph, {}, 0};
  if (autocast) made_.inAutocast[static_cast<size_t>(inner.graph)] = true;
  const auto& inputs = graph.at("inputs").items();
  if (inputs.size() != operands.size())
    throw BrokenDocument("a graph is given another number of operands than it takes");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& [kind, value] = inputs[i].only();
    const Json* name = kind == "as_tensor" ? value.find("name") : value.find("as_name");
    if (name == nullptr) continue;  // a number that is written where it is read
    checkName(name->text());
    inner.values[name->text()] = operands[i];
    made_.names[static_cast<size_t>(inner.graph)].emplace(operands[i], name->text());
    if (!made_.records.contains(operands[i])) made_.records[operands[i]] = recordOf(name->text(), graph);
  }
  nodes(inner);
  Values results;
  for (const Json& output : graph.at("outputs").items()) results.push_back(read(output, inner, nullptr));
  return results;
}

void Translator::cond(const Json& json, Scope& scope) {
  Node* branch = graph_->create(prim::If, {truth(read(argumentAt(json, 0), scope, nullptr), scope)}, 0);
  mark(graph_->insertNode(branch), scope);
  const Values given = operands(argumentAt(json, 3), scope);
  for (const size_t which : {size_t{1}, size_t{2}}) {
    Block* block = branch->addBlock();
    const WithInsertPoint inside(block);
    for (Value* result : inlined(argumentAt(json, which), given)) block->registerOutput(result);
  }
  const auto yes = branch->blocks()[0]->outputs(), no = branch->blocks()[1]->outputs();
  if (yes.size() != no.size()) throw BrokenDocument("the branches of a cond give different numbers of results");
  for (size_t i = 0; i < yes.size(); ++i) {
    if (*yes[i]->type() != *no[i]->type())
      throw BrokenDocument("the branches of a cond give results of different kinds");
    branch->addOutput()->setType(yes[i]->type());
  }
  bindOutputs(json, branch->outputs().vec(), scope);
}

void Translator::whileLoop(const Json& json, Scope& scope) {
  const Values carried = operands(argumentAt(json, 2), scope), extra = operands(argumentAt(json, 3), scope);
  const auto with = [&](Values values) {
    values.insert(values.end(), extra.begin(), extra.end());
    return values;
  };
  const auto goesOn = [&](const Values& values) {
    const Values result = inlined(argumentAt(json, 0), with(values));
    if (result.size() != 1) throw BrokenDocument("the condition of a loop is not one value");
    return truth(result[0], scope);
  };
  const Json& condition = argumentAt(json, 0).at("as_graph").at("graph");
  made_.runsTwice[static_cast<size_t>(numbers_.at(&condition))] = true;
  Values inputs = {constant(std::numeric_limits<int64_t>::max()), goesOn(carried)};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  Node* loop = mark(graph_->insertNode(graph_->create(prim::Loop, inputs, 0)), scope);
  Block* block = loop->addBlock();
  block->addInput()->setType(c10::IntType::get());
  Values inside;
  for (const Value* value : carried) inside.push_back(block->addInput()->setType(value->type()));
  {
    const WithInsertPoint here(block);
    const Values next = inlined(argumentAt(json, 1), with(inside));
    if (next.size() != carried.size()) throw BrokenDocument("a loop hands on another number of values than it takes");
    for (size_t i = 0; i < next.size(); ++i) {
      if (*next[i]->type() != *carried[i]->type())
        throw BrokenDocument("a loop hands on other kinds of values than it takes");
    }
    block->registerOutput(goesOn(next));
    for (Value* value : next) block->registerOutput(value);
  }
  for (const Value* value : carried) loop->addOutput()->setType(value->type());
  bindOutputs(json, loop->outputs().vec(), scope);
}

// A part of the program under another mode, which stays where it was.
void Translator::region(const std::string& name, const Json& json, Scope& scope) {
  const bool autocast = name == "wrap_with_autocast";
  const size_t graph = autocast ? 4 : 1;
  const bool enabled = autocast && argumentAt(json, 2).at("as_bool").boolean();
  Values given;
  for (size_t i = graph + 1; i < json.at("inputs").items().size(); ++i)
    given.push_back(read(argumentAt(json, i), scope, nullptr));
  bindOutputs(json, inlined(argumentAt(json, graph), given, enabled), scope);
}

}  // namespace normlens::formats::pt2

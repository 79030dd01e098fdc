#include <torch/csrc/jit/runtime/operator.h>

#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/formats/pt2/translate/translator.h"
#include "core/formats/torchscript/program/fast_norm.h"
#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::pt2 {
namespace {

namespace aten = c10::aten;
namespace prim = c10::prim;
using c10::Symbol;
using torch::jit::NamedValue;
using torchscript::ValueRecord;

constexpr std::string_view kOperators = "torch.ops.", kHigherOrder = "torch.ops.higher_order.";

// Maps Python's operators on sizes to those of TorchScript.
struct SymbolOp {
  std::string_view target;
  const char* op;
};
constexpr std::array kSymbolOps = {
    SymbolOp{"_operator.add", "aten::add"},      SymbolOp{"_operator.sub", "aten::sub"},
    SymbolOp{"_operator.mul", "aten::mul"},      SymbolOp{"_operator.floordiv", "aten::floordiv"},
    SymbolOp{"_operator.truediv", "aten::div"},  SymbolOp{"_operator.mod", "aten::remainder"},
    SymbolOp{"_operator.pow", "aten::pow"},      SymbolOp{"_operator.neg", "aten::neg"},
    SymbolOp{"_operator.eq", "aten::eq"},        SymbolOp{"_operator.ne", "aten::ne"},
    SymbolOp{"_operator.lt", "aten::lt"},        SymbolOp{"_operator.le", "aten::le"},
    SymbolOp{"_operator.gt", "aten::gt"},        SymbolOp{"_operator.ge", "aten::ge"},
    SymbolOp{"_operator.and_", "aten::__and__"}, SymbolOp{"_operator.or_", "aten::__or__"},
    SymbolOp{"torch.sym_float", "aten::Float"},  SymbolOp{"torch.sym_int", "aten::Int"},
    SymbolOp{"torch.sym_max", "prim::max"},      SymbolOp{"torch.sym_min", "prim::min"},
    SymbolOp{"torch.sym_not", "aten::__not__"},  SymbolOp{"math.trunc", "aten::Int"},
    SymbolOp{"torch._sym_sqrt", "aten::sqrt"},   SymbolOp{"torch.sym_sqrt", "aten::sqrt"},
    SymbolOp{"math.ceil", "aten::ceil"},         SymbolOp{"math.floor", "aten::floor"},
};

// Checks at run time. They are not translated: that of an element type fails in float64.
bool isAssertion(std::string_view name) {
  return name == "_assert_tensor_metadata" || name == "_assert_scalar" || name == "_assert_async" ||
         name.starts_with("sym_constrain_range");
}

struct OpName {
  std::string space, name, overload;  // "aten", "add", "Tensor"
};
OpName opName(std::string_view target) {
  target.remove_prefix(kOperators.size());
  const size_t first = target.find('.'), last = target.rfind('.');
  if (first == std::string_view::npos || first == last) throw BrokenDocument("an operator has no overload");
  OpName made{std::string(target.substr(0, first)), std::string(target.substr(first + 1, last - first - 1)),
              std::string(target.substr(last + 1))};
  if (made.overload == "default") made.overload.clear();
  if (made.space == "prim") throw BrokenDocument("it has an operator of TorchScript's own");
  return made;
}

// TorchScript's passes, and so its runs, take such an operator for one that changes nothing, and leave it out where
// nothing reads its result: aten::_foreach_add_, aten::unbind_copy.int_out.
bool writesIntoList(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(schema.arguments(), [](const c10::Argument& argument) {
    const c10::AliasInfo* alias = argument.alias_info();
    const bool list = argument.type()->kind() == c10::TypeKind::ListType;
    return list && alias != nullptr &&
           (alias->isWrite() || std::ranges::any_of(alias->containedTypes(), &c10::AliasInfo::isWrite));
  });
}

std::string opaqueName(const OpName& op) {
  return op.space + "::" + op.name + (op.overload.empty() ? "" : "." + op.overload);
}

UnsupportedProgram unknownOperator(const std::string& what) {
  return {"uses the operator " + what.substr(0, 80) + ", which this engine does not run",
          "export it with run_decompositions({}), or without that operator"};
}

// Null: LibTorch does not have it.
const c10::FunctionSchema* schemaOf(const OpName& op) {
  const std::string full = op.space + "::" + op.name;
  if (const auto found = c10::Dispatcher::singleton().findSchema({full, op.overload})) return &found->schema();
  for (const auto& each : torch::jit::getAllOperatorsFor(Symbol::fromQualString(full))) {
    if (each->schema().overload_name() == op.overload) return &each->schema();
  }
  // Our own operators are only looked for where a file uses them.
  if (op.space == "normlens" && torchscript::fastNormAvailable()) {
    if (const auto found = c10::Dispatcher::singleton().findSchema({full, op.overload})) return &found->schema();
  }
  return nullptr;
}

// TorchScript has sym_size and its kin under their old names.
std::string oldName(const std::string& name) {
  for (const std::string_view question : {"sym_size", "sym_stride", "sym_numel", "sym_storage_offset"}) {
    if (name == question) return name.substr(std::string_view("sym_").size());
  }
  return name;
}

bool isTensor(const torch::jit::Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); }

c10::TypePtr typeOfOutput(const std::string& kind) {
  if (kind == "as_tensors") return c10::ListType::ofTensors();
  if (kind == "as_sym_int") return c10::IntType::get();
  if (kind == "as_sym_float") return c10::FloatType::get();
  if (kind == "as_sym_bool") return c10::BoolType::get();
  if (kind == "as_none") return c10::NoneType::get();
  return c10::TensorType::get();
}

// Null where the node leaves it out, or has None.
const Json* argumentOf(const Json& node, std::string_view name) {
  for (const Json& input : node.at("inputs").items()) {
    if (input.at("name").text() == name) return input.at("arg").find("as_none") == nullptr ? &input.at("arg") : nullptr;
  }
  return nullptr;
}

const Json& wantedArgument(const Json& node, const char* name) {
  const Json* argument = argumentOf(node, name);
  if (argument == nullptr) throw BrokenDocument(std::string("a quantisation has no argument '") + name + "'");
  return *argument;
}

at::ScalarType typeArgument(const Json& node, const char* name, at::ScalarType otherwise) {
  const Json* argument = argumentOf(node, name);
  return argument == nullptr ? otherwise : scalarTypeOfSchema(argument->at("as_scalar_type").integer());
}

}  // namespace

const c10::FunctionSchema& schemaOfTarget(const std::string& target) {
  const c10::FunctionSchema* schema = schemaOf(opName(target));
  if (schema == nullptr) throw unknownOperator(target);
  return *schema;
}

// Returns what the file states of a value, as a probe run would have recorded it.
ValueRecord Translator::recordOf(const std::string& name, const Json& graph) {
  ValueRecord record;
  const auto [described, isNew] = described_.try_emplace(&graph);
  if (isNew) {
    for (const auto& [value, meta] : graph.at("tensor_values").members()) described->second.emplace(value, &meta);
  }
  if (const auto meta = described->second.find(name); meta != described->second.end()) {
    const TensorMeta tensor = readTensorMeta(*meta->second);
    record.kind = ValueRecord::Kind::Tensor;
    record.dtype = tensor.dtype;
    record.shape = tensor.exampleShape();
    return record;
  }
  constexpr std::array kNumbers = {std::pair{"sym_int_values", graph::DType::Int64},
                                   std::pair{"sym_float_values", graph::DType::Float64},
                                   std::pair{"sym_bool_values", graph::DType::Bool}};
  for (const auto& [table, dtype] : kNumbers) {
    const Json* values = graph.find(table);
    if (values == nullptr || values->find(name) == nullptr) continue;
    record.kind = ValueRecord::Kind::Scalar;
    record.dtype = dtype;
    return record;
  }
  return record;
}

Translator::Node* Translator::mark(Node* node, const Scope& scope, bool part, bool transparent) {
  const Json& json = scope.json->at("nodes").items()[static_cast<size_t>(scope.node)];
  node->i_(Symbol::attr("pt2_origin"), static_cast<int64_t>(made_.origins.size()));
  made_.origins.push_back({scope.graph, scope.node, part, transparent});
  made_.nodes.push_back(node);
  const auto stack = moduleStack(json);
  if (!stack.empty() && !stack.back().path.empty()) {
    auto& module = scopes_[stack.back().path];
    if (!module) module = c10::make_intrusive<torch::jit::Scope>()->push(Symbol::scope(stack.back().path));
    node->setScope(module);
  }
  if (const SourceLine line = sourceLine(json); line.line > 0) {
    auto& source = sources_[line.file + ":" + std::to_string(line.line)];
    if (!source) source = std::make_shared<torch::jit::Source>("", line.file, static_cast<size_t>(line.line));
    node->setSourceRange(torch::jit::SourceRange(source, 0, 0));
  }
  return node;
}

void Translator::bind(const std::string& name, Value* value, Scope& scope) {
  if (value == nullptr) throw BrokenDocument("'" + name.substr(0, 80) + "' is made by nothing");
  checkName(name);
  if (!scope.values.emplace(name, value).second) throw BrokenDocument("two values are called " + name.substr(0, 80));
  made_.names[static_cast<size_t>(scope.graph)].emplace(value, name);
  auto record = recordOf(name, *scope.json);
  if (record.kind != ValueRecord::Kind::Unseen) made_.records[value] = std::move(record);
  const bool readable = std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; }) &&
                        std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  if (readable && !value->hasDebugName()) value->setDebugName(name);
}

// A list that an operator returns: its elements have names, and no getitem takes them out.
void Translator::bindList(const Json& list, Value* value, Scope& scope) {
  Node* unpack = graph_->insertNode(graph_->create(prim::ListUnpack, {value}, list.items().size()));
  mark(unpack, scope, /*part=*/true);
  ValueRecord record;
  record.kind = ValueRecord::Kind::List;
  for (size_t i = 0; i < list.items().size(); ++i) {
    const std::string& name = list.items()[i].at("name").text();
    unpack->output(i)->setType(c10::TensorType::get());
    bind(name, unpack->output(i), scope);
    record.elements.push_back(recordOf(name, *scope.json));
  }
  made_.records[value] = std::move(record);
}

void Translator::bindOutputs(const Json& json, const Values& results, Scope& scope) {
  const auto& outputs = json.at("outputs").items();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& [kind, value] = outputs[i].only();
    if (kind == "as_none") continue;
    if (i >= results.size()) throw BrokenDocument("a node has more outputs than its operator gives");
    if (kind == "as_tensor") {
      if (!isTensor(results[i])) throw BrokenDocument("a node's output is no tensor");
      bind(value.at("name").text(), results[i], scope);
    } else if (kind == "as_tensors") {
      if (results[i]->type()->kind() != c10::TypeKind::ListType) throw BrokenDocument("a node's output is no list");
      bindList(value, results[i], scope);
    } else if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
      bind(value.at("as_name").text(), results[i], scope);
    } else {
      throw UnsupportedProgram("has an output of the kind '" + kind.substr(0, 40) + "', which NormLens does not know",
                               "export it with run_decompositions({})");
    }
  }
}

void Translator::nodes(Scope& scope) {
  const auto& all = scope.json->at("nodes").items();
  for (size_t i = 0; i < all.size(); ++i) {
    scope.node = static_cast<int>(i);
    node(all[i], scope);
  }
}

void Translator::node(const Json& json, Scope& scope) {
  const std::string& target = json.at("target").text();
  if (target.starts_with(kHigherOrder)) return higherOrder(target.substr(kHigherOrder.size()), json, scope);
  if (target.starts_with(kOperators)) return operatorNode(target, json, scope);
  symbolNode(target, json, scope);
}

void Translator::operatorNode(const std::string& target, const Json& json, Scope& scope) {
  const OpName op = opName(target);
  if (op.space == "aten" && isAssertion(op.name)) return;
  if (op.space == "aten" && op.name == "item") return itemNode(json, scope);
  if (op.space == "quantized_decomposed" && quantizedNode(op.name, json, scope)) return;
  const c10::FunctionSchema* known = schemaOf(op);
  if (known == nullptr && op.space == "normlens") throw unknownOperator(target);
  if (known == nullptr || writesIntoList(*known)) return opaqueNode(opaqueName(op), json, scope);
  const c10::FunctionSchema& schema = *known;
  std::unordered_map<std::string, const Json*> given;
  for (const Json& input : json.at("inputs").items()) given[input.at("name").text()] = &input.at("arg");
  Values inputs;
  size_t used = 0;
  for (const auto& argument : schema.arguments()) {
    const auto found = given.find(argument.name());
    if (found != given.end()) {
      inputs.push_back(read(*found->second, scope, argument.type()));
      ++used;
    } else if (argument.default_value()) {
      inputs.push_back(constant(*argument.default_value()));
    } else {
      throw BrokenDocument("'" + target.substr(0, 80) + "' has no argument '" + argument.name() + "'");
    }
  }
  if (used != given.size())
    throw BrokenDocument("'" + target.substr(0, 80) + "' has an argument that the operator does not take");
  inputs = castForAutocast(json, std::move(inputs), scope);
  const std::string name = op.space + "::" + (op.space == "aten" ? oldName(op.name) : op.name);
  Node* made = graph_->create(Symbol::fromQualString(name), inputs, schema.returns().size());
  for (size_t i = 0; i < schema.returns().size(); ++i) made->output(i)->setType(schema.returns()[i].type());
  graph_->insertNode(made);
  if (made->maybeOperator() == nullptr) {  // no form of it takes a number there
    const torch::jit::WithInsertPoint before(made);
    for (size_t i = 0; i < inputs.size(); ++i)
      made->replaceInput(i, asTensor(inputs[i], schema.arguments()[i].type(), json, scope));
  }
  if (made->maybeOperator() == nullptr) {
    made->destroy();
    return opaqueNode(opaqueName(op), json, scope);
  }
  mark(made, scope);
  bindOutputs(json, made->outputs().vec(), scope);
}

// A number in a tensor's place, as decompositions write it. As torch does it, it has no say in the type of the result
// beyond being whole or not: where that is not whole, it is none either, so that it can be centered.
Translator::Value* Translator::asTensor(Value* value, const c10::TypePtr& wanted, const Json& json,
                                        const Scope& scope) {
  if (!wanted->isSubtypeOf(*c10::OptionalType::ofTensor()) || isTensor(value)) return value;
  const auto number = torch::jit::toIValue(value);
  if (!number) {
    Value* made = graph_->insert(prim::NumToTensor, {value});
    mark(made->node(), scope, /*part=*/true);
    return made;
  }
  if (!number->isScalar()) return value;
  const Json* output = json.at("outputs").items().empty() ? nullptr : json.at("outputs").items()[0].find("as_tensor");
  const auto result = output == nullptr ? ValueRecord() : recordOf(output->at("name").text(), *scope.json);
  const bool isReal = graph::isFloat(result.dtype);
  // Beside a tensor of one element, too, it has none.
  const bool ofItsType = isReal && (result.dtype == graph::DType::Float64 || result.shape == graph::Shape());
  const at::Scalar scalar = number->toScalar();
  const bool whole = !scalar.isFloatingPoint() && !(isReal && scalar.isIntegral(/*includeBool=*/true));
  const auto type = whole ? scalar.type() : ofItsType ? torchscript::scalarTypeOf(result.dtype) : at::kFloat;
  return constant(at::scalar_tensor(scalar, type));
}

void Translator::itemNode(const Json& json, Scope& scope) {
  const auto& inputs = json.at("inputs").items();
  const auto& outputs = json.at("outputs").items();
  if (inputs.size() != 1 || outputs.size() != 1) throw BrokenDocument("an item() has not one input and one output");
  const std::string& kind = outputs[0].only().first;
  const auto op = kind == "as_sym_int" ? aten::Int : kind == "as_sym_float" ? aten::Float : aten::Bool;
  Value* made = graph_->insert(op, {read(inputs[0].at("arg"), scope, nullptr)});
  mark(made->node(), scope);
  bindOutputs(json, {made}, scope);
}

void Translator::symbolNode(const std::string& target, const Json& json, Scope& scope) {
  Values inputs;
  for (const Json& input : json.at("inputs").items()) inputs.push_back(read(input.at("arg"), scope, nullptr));
  const auto* const found = std::ranges::find(kSymbolOps, target, &SymbolOp::target);
  if (found == kSymbolOps.end()) throw unknownOperator(target);
  Value* made = nullptr;
  try {
    std::vector<torch::jit::NamedValue> operands(inputs.begin(), inputs.end());
    made = graph_->insert(Symbol::fromQualString(found->op), operands);
  } catch (const std::exception&) {
    throw unknownOperator(target + " with such arguments");
  }
  mark(made->node(), scope);
  const auto& outputs = json.at("outputs").items();
  const bool wantsInt = outputs.size() == 1 && outputs[0].only().first == "as_sym_int";
  if (wantsInt && made->type()->kind() == c10::TypeKind::FloatType) {  // aten::pow of two integers
    made = graph_->insert(aten::Int, {made});
    mark(made->node(), scope, /*part=*/true);
  }
  bindOutputs(json, {made}, scope);
}

// In a region of torch.autocast an operator computes in the type that the file states for its output: operands of other
// floating types are cast to it.
Translator::Values Translator::castForAutocast(const Json& json, Values inputs, const Scope& scope) {
  if (!made_.inAutocast[static_cast<size_t>(scope.graph)]) return inputs;
  const auto& outputs = json.at("outputs").items();
  const Json* first = outputs.empty() ? nullptr : outputs[0].find("as_tensor");
  if (first == nullptr) return inputs;
  const auto wanted = recordOf(first->at("name").text(), *scope.json).dtype;
  if (!graph::isFloat(wanted)) return inputs;
  for (Value*& input : inputs) {
    const auto known = made_.records.find(input);
    if (known == made_.records.end() || !graph::isFloat(known->second.dtype) || known->second.dtype == wanted) continue;
    const auto record = known->second;
    const auto type = static_cast<int64_t>(torchscript::scalarTypeOf(wanted));
    input = graph_->insert(aten::to, {input, type, false, false});
    mark(input->node(), scope, /*part=*/true, /*transparent=*/true);
    made_.records[input] = record;
    made_.records[input].dtype = wanted;
  }
  return inputs;
}

void Translator::opaqueNode(const std::string& name, const Json& json, Scope& scope) {
  checkName(name);
  Values inputs;
  for (const Json& input : json.at("inputs").items()) {
    const std::string& kind = input.at("arg").only().first;
    if (kind != "as_graph" && kind != "as_operator") inputs.push_back(read(input.at("arg"), scope, nullptr));
  }
  const auto& outputs = json.at("outputs").items();
  Node* made = graph_->create(c10::Symbol::fromQualString(name), inputs, outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) made->output(i)->setType(typeOfOutput(outputs[i].only().first));
  mark(graph_->insertNode(made), scope);
  if (std::ranges::find(made_.opaque, name) == made_.opaque.end()) made_.opaque.push_back(name);
  bindOutputs(json, made->outputs().vec(), scope);
}

// Source: torch/ao/quantization/fx/_decomposed.py, whose arithmetic this is, operation by operation; its permutation of
// the channels' axis to the front and back is left out. False: another of its operators.
// Operators that are registered in Python alone, so that LibTorch does not have them: those of quantized_decomposed,
// which torch's quantization writes, are written out in ATen's; of others it is known what they read and return.

bool Translator::quantizedNode(const std::string& name, const Json& json, Scope& scope) {
  const bool byChannel = name.ends_with("_per_channel");
  if (!byChannel && !name.ends_with("_per_tensor")) return false;
  Value* made = name.starts_with("quantize_") ? quantized(json, byChannel, scope) : dequantized(json, byChannel, scope);
  bindOutputs(json, {made}, scope);
  return true;
}

Translator::Value* Translator::quantized(const Json& json, bool byChannel, Scope& scope) {
  Value* x = read(wantedArgument(json, "input"), scope, nullptr);
  const auto type = made_.records[x].dtype;
  const bool isHalf = type == graph::DType::Float16 || type == graph::DType::BFloat16;
  if (isHalf) x = step(aten::to, {x, static_cast<int64_t>(at::kFloat), false, false}, at::kFloat, x, scope, true);
  Value *inverse = nullptr, *zero = nullptr;
  if (byChannel) {
    Value* scales = alongChannels(json, "scales", x, scope);
    inverse = step(aten::reciprocal, {scales}, at::kFloat, scales, scope);
    zero = alongChannels(json, "zero_points", x, scope);
  } else {
    Value* scale = numberOf(json, "scale", aten::Float, scope);
    const auto known = torch::jit::toIValue(scale);
    inverse = known ? constant(1.0 / known->toDouble()) : graph_->insert(aten::div, {1.0, scale});
    if (!known) mark(inverse->node(), scope, /*part=*/true);
    zero = numberOf(json, "zero_point", aten::Int, scope);
  }
  Value* made = step(aten::mul, {x, inverse}, at::kFloat, x, scope, !isHalf);
  made = step(aten::round, {made}, at::kFloat, x, scope);
  made = step(aten::add, {made, zero}, at::kFloat, x, scope);
  Value* low = numberOf(json, "quant_min", aten::Int, scope);
  made = step(aten::clamp, {made, low, numberOf(json, "quant_max", aten::Int, scope)}, at::kFloat, x, scope);
  const auto integer = typeArgument(json, "dtype", at::kChar);
  return step(aten::to, {made, static_cast<int64_t>(integer), false, false}, integer, x, scope);
}

Translator::Value* Translator::dequantized(const Json& json, bool byChannel, Scope& scope) {
  Value* x = read(wantedArgument(json, "input"), scope, nullptr);
  const auto type = typeArgument(json, "out_dtype", at::kFloat);
  const NamedValue wanted(static_cast<int64_t>(type));
  if (!byChannel) {
    Value* made = step(aten::to, {x, wanted, false, false}, type, x, scope, true);
    made = step(aten::sub, {made, numberOf(json, "zero_point", aten::Int, scope)}, type, x, scope);
    return step(aten::mul, {made, numberOf(json, "scale", aten::Float, scope)}, type, x, scope);
  }
  const bool hasZeros = argumentOf(json, "zero_points") != nullptr;
  const auto both = [&](const Value* a, const Value* b) {
    return at::promote_types(torchscript::scalarTypeOf(made_.records.at(a).dtype),
                             torchscript::scalarTypeOf(made_.records.at(b).dtype));
  };
  Value* made = x;
  if (hasZeros) {
    Value* zeros = alongChannels(json, "zero_points", x, scope);
    made = step(aten::sub, {x, zeros}, both(x, zeros), x, scope, true);
  }
  Value* scales = alongChannels(json, "scales", x, scope);
  made = step(aten::mul, {made, scales}, both(made, scales), x, scope, !hasZeros);
  return step(aten::to, {made, wanted, false, false}, type, x, scope);
}

// A number, or what the only element of a tensor is.
Translator::Value* Translator::numberOf(const Json& json, const char* argument, c10::Symbol from, const Scope& scope) {
  const c10::TypePtr type = from == aten::Float ? c10::TypePtr(c10::FloatType::get()) : c10::IntType::get();
  Value* number = read(wantedArgument(json, argument), scope, type);
  if (!number->type()->isSubtypeOf(*c10::TensorType::get())) return number;
  number = graph_->insert(from, {number});
  mark(number->node(), scope, /*part=*/true);
  return number;
}

// A tensor of one element for each channel, as it is to be multiplied with `input`.
Translator::Value* Translator::alongChannels(const Json& json, const char* argument, Value* input, const Scope& scope) {
  Value* each = read(wantedArgument(json, argument), scope, nullptr);
  const auto& shape = made_.records[input].shape;
  const int64_t axis = wantedArgument(json, "axis").at("as_int").integer();
  if (!shape || axis < 0 || axis >= static_cast<int64_t>(shape->size()))
    throw BrokenDocument("a quantisation goes over an axis that its input does not have");
  std::vector<int64_t> sizes(shape->size(), 1);
  sizes[static_cast<size_t>(axis)] = -1;
  ValueRecord record = made_.records[each];
  record.shape = graph::Shape(shape->size(), 1);
  (*record.shape)[static_cast<size_t>(axis)] = (*shape)[static_cast<size_t>(axis)];
  Value* made = graph_->insert(aten::view, {each, sizes});
  mark(made->node(), scope, /*part=*/true);
  made_.records[made] = std::move(record);
  return made;
}

Translator::Value* Translator::step(c10::Symbol op, const std::vector<NamedValue>& operands, at::ScalarType type,
                                    Value* like, const Scope& scope, bool reads) {
  Value* made = graph_->insert(op, operands);
  mark(made->node(), scope, /*part=*/!reads);
  if (reads) made_.origins.back().writtenOut = true;
  ValueRecord record = made_.records[like];
  record.dtype = torchscript::dtypeOf(type);
  made_.records[made] = std::move(record);
  return made;
}

}  // namespace normlens::formats::pt2

#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/formats/pt2/translate/translator.h"
#include "core/formats/torchscript/program/fast_norm.h"
#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::pt2 {
namespace {

using c10::Symbol;
using torchscript::ValueRecord;

namespace aten = c10::aten;
namespace prim = c10::prim;

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

std::string opaqueName(const OpName& op) {
  return op.space + "::" + op.name + (op.overload.empty() ? "" : "." + op.overload);
}

UnsupportedProgram unknownOperator(const std::string& what) {
  return {"uses the operator " + what.substr(0, 80) + ", which this engine does not have",
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
  if (known == nullptr) return opaqueNode(opaqueName(op), json, scope);
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

}  // namespace normlens::formats::pt2

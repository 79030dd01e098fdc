#include "core/formats/pt2/write/tape.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/pt2/file/meta_algebra.h"
#include "core/formats/pt2/file/tensor_meta.h"
#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::pt2 {
namespace {

namespace prim = c10::prim;
using c10::IValue;
using c10::TypeKind;
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

// What is written as an argument of other nodes, or stands for its operand.
bool isArgument(const Node& node) {
  return node.kind() == prim::Constant || node.kind() == prim::ListConstruct || node.kind() == prim::unchecked_cast ||
         node.kind() == c10::aten::size;
}

const Value* bare(const Value* value) {
  while (value->node()->kind() == prim::unchecked_cast) value = value->node()->input();
  return value;
}

Json stackOf(const Json& node) {
  Json::Object kept;
  const Json* all = node.find("metadata");
  for (const char* name : {"stack_trace", "nn_module_stack"}) {
    const Json* text = all == nullptr ? nullptr : all->find(name);
    if (text != nullptr) kept.emplace_back(name, *text);
  }
  return {std::move(kept)};
}

// TensorMeta of a value; throws EditRefused where it has none.
using MetaOf = std::function<Json(const Value*)>;

constexpr std::array<std::string_view, 12> kLikeTheFirst = {
    "aten::rms_norm", "aten::pow",   "aten::rsqrt",  "aten::sqrt",       "aten::neg", "aten::clone",
    "aten::detach",   "aten::alias", "aten::square", "aten::zeros_like", "aten::abs", "aten::dropout"};
// Dense, whatever they read.
constexpr std::array<std::string_view, 3> kDenseLikeTheFirst = {"aten::contiguous", "normlens::rms_norm",
                                                                "normlens::layer_norm"};
constexpr std::array<std::string_view, 2> kAddsAndNorms = {"normlens::add_rms_norm", "normlens::add_layer_norm"};
// The same elements in other sizes, which only what the view takes the place of shows.
constexpr std::array<std::string_view, 3> kViews = {"aten::view", "aten::reshape", "aten::flatten"};
constexpr std::array<std::string_view, 4> kElementwise = {"aten::add", "aten::sub", "aten::mul", "aten::div"};

template <class T>
T constantAt(const Node& node, size_t input) {
  const auto value = input < node.inputs().size() ? torch::jit::toIValue(node.input(input)) : std::nullopt;
  if (!value) throw EditRefused(std::string("an argument of ") + node.kind().toQualString() + " is no constant");
  return value->to<T>();
}

bool isTensor(const Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); }

// Returns the type that torch makes of two tensors of a floating type.
int64_t promoted(const Json& a, const Json& b) {
  const auto left = dtypeOfSchema(a.at("dtype").integer()), right = dtypeOfSchema(b.at("dtype").integer());
  if (left == right) return a.at("dtype").integer();
  if (!graph::isFloat(left) || !graph::isFloat(right))
    throw EditRefused("an operator on two element types would have to be added");
  const auto wider = std::max(graph::dtypeBytes(left), graph::dtypeBytes(right));
  if (graph::dtypeBytes(left) == graph::dtypeBytes(right))
    return schemaNumber(graph::DType::Float32);  // both are halves
  return schemaNumber(graph::dtypeBytes(left) == wider ? left : right);
}

Json dense(const Json& meta) { return denseMeta(meta, meta.at("sizes").items()); }

Json elementwise(const Node& node, const MetaOf& metaOf) {
  // A result of an operation on a part of a tensor lies in memory of its own.
  const bool part = node.input(0)->node()->kind() == c10::aten::slice;
  const Json first = part ? dense(metaOf(node.input(0))) : metaOf(node.input(0));
  if (!isTensor(node.input(1))) return first;
  const Json second = metaOf(node.input(1));
  return typedMeta(broadcastMeta(first, second), promoted(first, second));
}

Json joined(const Node& node, const MetaOf& metaOf) {
  std::vector<Json> parts;
  for (const Value* part : node.input(0)->node()->inputs()) parts.push_back(metaOf(part));
  std::vector<const Json*> all;
  for (const Json& part : parts) all.push_back(&part);
  return joinedMeta(all, constantAt<int64_t>(node, 1));
}

Json described(const Node& node, const MetaOf& metaOf, const Json* replaced) {
  const std::string_view op = node.kind().toQualString();
  const auto is = [&](const auto& list) { return std::ranges::find(list, op) != list.end(); };
  if (is(kLikeTheFirst)) return metaOf(node.input(0));
  if (is(kElementwise)) return elementwise(node, metaOf);
  if (is(kDenseLikeTheFirst)) return dense(metaOf(node.input(0)));
  if (replaced != nullptr && (is(kAddsAndNorms) || is(kViews))) return dense(*replaced);
  if (is(kAddsAndNorms)) return dense(elementwise(node, metaOf));
  if (op == "aten::mean" || op == "aten::sum")
    return reducedMeta(metaOf(node.input(0)), constantAt<std::vector<int64_t>>(node, 1), constantAt<bool>(node, 2));
  if (op == "aten::reshape_as") return dense(metaOf(node.input(1)));
  // By a single row, fold::RestoreMean.
  if (op == "aten::linear") return reducedMeta(metaOf(node.input(0)), {-1}, /*keepAxes=*/true);
  if (op == "aten::to") {
    const auto type = torchscript::dtypeOf(static_cast<at::ScalarType>(constantAt<int64_t>(node, 1)));
    return typedMeta(metaOf(node.input(0)), schemaNumber(type));
  }
  if (op == "aten::type_as") return typedMeta(metaOf(node.input(0)), metaOf(node.input(1)).at("dtype").integer());
  if (op == "aten::unflatten")
    return unflattenedMeta(metaOf(node.input(0)), constantAt<int64_t>(node, 1),
                           constantAt<std::vector<int64_t>>(node, 2));
  if (op == "aten::flatten")
    return flattenedMeta(metaOf(node.input(0)), constantAt<int64_t>(node, 1), constantAt<int64_t>(node, 2));
  if (op == "aten::slice" && constantAt<int64_t>(node, 4) == 1)
    return slicedMeta(metaOf(node.input(0)), constantAt<int64_t>(node, 1), constantAt<int64_t>(node, 2),
                      constantAt<int64_t>(node, 3));
  if (op == "aten::constant_pad_nd")
    return paddedMeta(metaOf(node.input(0)), constantAt<std::vector<int64_t>>(node, 1));
  if (op == "aten::cat") return joined(node, metaOf);
  throw EditRefused("the fold needs the operator " + std::string(op) +
                    ", which NormLens does not write into this format");
}

// TensorMeta of each output of an operator that an edit adds: all have one. `replaced`: that of the value whose place
// an output takes; null: none is known. Throws EditRefused for an operator, or sizes, of which it cannot be computed.
Json metaOfResult(const Node& node, const MetaOf& metaOf, const Json* replaced) {
  try {
    return described(node, metaOf, replaced);
  } catch (const BrokenDocument& error) {
    throw EditRefused(std::string("the sizes of what the fold adds are not known: ") + error.what());
  }
}

Json as(const char* kind, Json value) { return {Json::Object{{kind, std::move(value)}}}; }

template <class Numbers>
Json list(const char* kind, const Numbers& numbers) {
  Json::Array items;
  for (const auto& number : numbers) items.emplace_back(number);
  return as(kind, {std::move(items)});
}

TypeKind innermost(c10::TypePtr type) {
  while (type->kind() == TypeKind::OptionalType) type = type->expectRef<c10::OptionalType>().getElementType();
  return type->kind();
}

Json deviceArgument(const c10::Device& device) {
  Json index = device.has_index() ? Json(static_cast<int64_t>(device.index())) : Json();
  return as("as_device", {Json::Object{{"type", Json(c10::DeviceTypeName(device.type(), /*lower_case=*/true))},
                                       {"index", std::move(index)}}});
}

Json elementType(int64_t number) {
  const int64_t schema = schemaNumber(torchscript::dtypeOf(static_cast<at::ScalarType>(number)));
  if (schema == 0) throw EditRefused("an element type has no number in the file's schema");
  return as("as_scalar_type", {schema});
}

// {"as_tensor": {"name": ...}}, or as_sym_int and its kin, by the value's type.
Json namedArgument(const std::string& name, const c10::Type& type) {
  const auto symbol = [&](const char* kind) { return as(kind, as("as_name", {name})); };
  switch (type.kind()) {
    case TypeKind::IntType:
      return symbol("as_sym_int");
    case TypeKind::FloatType:
      return symbol("as_sym_float");
    case TypeKind::BoolType:
      return symbol("as_sym_bool");
    default:
      return as("as_tensor", as("name", {name}));
  }
}

}  // namespace

Json literalArgument(const IValue& value, const c10::TypePtr& type) {
  if (value.isNone()) return as("as_none", {true});
  if (value.isInt()) {
    const TypeKind wanted = innermost(type);
    if (wanted == TypeKind::ScalarTypeType) return elementType(value.toInt());
    if (wanted == TypeKind::LayoutType || wanted == TypeKind::MemoryFormatType)
      throw EditRefused("an argument that an edit gives has no form in the file");
    return as("as_int", {value.toInt()});
  }
  // A number in a tensor's place, which the translation made a tensor.
  if (value.isTensor() && value.toTensor().dim() == 0) return literalArgument(value.toTensor().item(), type);
  if (value.isDouble()) return as("as_float", {value.toDouble()});
  if (value.isBool()) return as("as_bool", {value.toBool()});
  if (value.isString()) return as("as_string", {value.toStringRef()});
  if (value.isDevice()) return deviceArgument(value.toDevice());
  if (value.isIntList()) return list("as_ints", value.toIntVector());
  if (value.isDoubleList()) return list("as_floats", value.toDoubleVector());
  throw EditRefused("an argument that an edit gives has no form in the file");
}

Value* Tape::named(const std::string& name, const c10::TypePtr& type) {
  Value*& known = inputs_[name];
  if (known == nullptr) {
    known = graph_->addInput()->setType(type);
    names_[known] = name;
  }
  return known;
}

Value* Tape::tensor(const GraphName& value) {
  if (value.first != of_) throw EditRefused("what an edit reads is in another part of the program");
  return named(editor_.nowRead(value), c10::TensorType::get());
}

Value* Tape::size(const Json& symbol) {
  const auto& [kind, value] = symbol.only();
  if (kind == "as_int") return graph_->insertConstant(value.integer());
  return named(editor_.nowRead({of_, value.text()}), c10::IntType::get());
}

Value* Tape::read(const Json& argument) {
  const auto& [kind, value] = argument.only();
  if (kind == "as_none") return graph_->insertConstant(c10::IValue());
  if (kind == "as_tensor") return tensor({of_, value.at("name").text()});
  if (kind == "as_int") return graph_->insertConstant(value.integer());
  if (kind == "as_float") return graph_->insertConstant(value.real());
  if (kind == "as_bool") return graph_->insertConstant(value.boolean());
  if (kind == "as_sym_int") return size(value);
  if (kind == "as_ints") {
    c10::List<int64_t> sizes;
    for (const Json& item : value.items()) sizes.push_back(item.integer());
    return graph_->insertConstant(sizes);
  }
  if (kind != "as_sym_ints")
    throw EditRefused("an operation that would change has an argument of the kind " + kind.substr(0, 40));
  std::vector<Value*> sizes;
  for (const Json& item : value.items()) sizes.push_back(size(item));
  return graph_->insertNode(graph_->createList(c10::IntType::get(), sizes))->output();
}

Node* Tape::add(const Json& node) {
  const c10::FunctionSchema& schema = schemaOfTarget(node.at("target").text());
  std::vector<Value*> inputs;
  for (const c10::Argument& argument : schema.arguments()) {
    const auto& given = node.at("inputs").items();
    const auto found =
        std::ranges::find_if(given, [&](const Json& input) { return input.at("name").text() == argument.name(); });
    inputs.push_back(found != given.end() ? read(found->at("arg")) : graph_->insertConstant(*argument.default_value()));
  }
  const bool isSize = schema.name() == "aten::sym_size";  // TorchScript has it under its old name
  const auto symbol = isSize ? c10::aten::size : c10::Symbol::fromQualString(schema.name());
  Node* made = graph_->insertNode(graph_->create(symbol, inputs, schema.returns().size()));
  for (size_t i = 0; i < schema.returns().size(); ++i) made->output(i)->setType(schema.returns()[i].type());
  return made;
}

std::string Tape::nameOf(const Value* value) const {
  const auto found = names_.find(bare(value));
  if (found == names_.end()) throw EditRefused("what an edit gives has no form in the file");
  return found->second;
}

Json Tape::metaOf(const Value* value) const {
  const auto name = names_.find(bare(value));
  const Json* meta = name == names_.end() ? nullptr : editor_.metaOf({of_, name->second});
  if (meta == nullptr) throw EditRefused("the file says nothing of a value that the fold reads");
  return *meta;
}

// A size that an edit needs, where the file states it.
Json Tape::sizeArgument(const Node& size) {
  const auto sizes = readTensorMeta(metaOf(size.input(0))).sizes;
  const int64_t axis = torch::jit::toIValue(size.input(1)).value().toInt();
  const SymSize& asked = sizes.at(static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(sizes.size()) : axis));
  if (!asked.isFixed()) throw EditRefused("the fold needs a size that the file leaves open");
  return literalArgument(asked.example, c10::IntType::get());
}

Json Tape::listArgument(const Node& list) {
  const auto item = list.output()->type()->containedType(0);
  Json::Array items;
  if (item->isSubtypeOf(*c10::TensorType::get())) {
    for (const Value* each : list.inputs()) items.emplace_back(Json::Object{{"name", Json(nameOf(each))}});
    return {Json::Object{{"as_tensors", Json(std::move(items))}}};
  }
  for (const Value* each : list.inputs()) {
    const Json one = argument(each, c10::IntType::get());
    const auto& [kind, value] = one.only();
    items.push_back(kind == "as_sym_int" ? value : one);
  }
  return {Json::Object{{"as_sym_ints", Json(std::move(items))}}};
}

Json Tape::argument(const Value* value, const c10::TypePtr& type) {
  value = bare(value);
  const Node& node = *value->node();
  if (node.kind() == c10::aten::size) return sizeArgument(node);
  if (node.kind() == prim::ListConstruct) return listArgument(node);
  if (node.kind() != prim::Constant) return namedArgument(nameOf(value), *value->type());
  const auto known = torch::jit::toIValue(value);
  if (!known) throw EditRefused("an argument that an edit gives has no form in the file");
  return literalArgument(*known, type);
}

// Without defaults, but for those in front of another argument that goes by its position.
Json Tape::inputsOf(const Node& node, const c10::FunctionSchema& schema) {
  Json::Array inputs;
  bool isInFront = false;
  for (size_t i = node.inputs().size(); i-- > 0;) {
    const c10::Argument& of = schema.arguments().at(i);
    const bool goesByName = of.kwarg_only();
    if (isDefault(node.input(i), of) && (goesByName || !isInFront)) continue;
    isInFront = isInFront || !goesByName;
    inputs.emplace_back(Json::Object{{"name", Json(of.name())},
                                     {"arg", argument(node.input(i), of.real_type())},
                                     {"kind", Json(int64_t{goesByName ? 2 : 1})}});
  }
  std::ranges::reverse(inputs);
  return {std::move(inputs)};
}

// The names of a new node's outputs, which the tables describe from now on.
Json Tape::outputsOf(const Node& node, const c10::FunctionSchema& schema, const std::string& name) {
  const Json* replaced = nullptr;
  for (const Value* output : node.outputs()) {
    const auto stands = standsFor_.find(output);
    if (stands != standsFor_.end() && replaced == nullptr) replaced = editor_.metaOf({of_, stands->second});
  }
  const Json meta = metaOfResult(
      node, [this](const Value* value) { return metaOf(value); }, replaced);
  Json::Array outputs;
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const bool alone = node.outputs().size() == 1;
    const std::string own = alone ? name : editor_.freshName(name + "_" + schema.returns()[i].name());
    editor_.describe({of_, own}, meta);
    names_[node.output(i)] = own;
    outputs.push_back(namedArgument(own, *c10::TensorType::get()));
  }
  return {std::move(outputs)};
}

Json Tape::nodeFor(const Node& node, const Json& metadata) {
  if (translation_.inAutocast[static_cast<size_t>(of_)])
    throw EditRefused("a norm in a region of torch.autocast would change: export with run_decompositions({})");
  if (translation_.runsTwice[static_cast<size_t>(of_)]) throw EditRefused("the condition of a loop would change");
  const auto* op = node.maybeOperator();
  if (op == nullptr || op->schema().is_mutable() ||
      !c10::Dispatcher::singleton().findSchema({op->schema().name(), op->schema().overload_name()}))
    throw EditRefused(std::string("the fold needs the operator ") + node.kind().toQualString() +
                      ", which NormLens does not write into this format");
  Json inputs = inputsOf(node, op->schema());
  std::string wanted = op->schema().name();
  wanted = wanted.substr(wanted.find("::") + 2);
  const std::string name = editor_.freshName(wanted);
  Json outputs = outputsOf(node, op->schema(), name);
  Json::Object made{{"target", Json(targetOf(op->schema()))},
                    {"inputs", std::move(inputs)},
                    {"outputs", std::move(outputs)},
                    {"metadata", metadata}};
  const auto& nodes = editor_.graph(of_).at("nodes").items();
  const auto isSaid = [&](const char* member) { return !nodes.empty() && nodes.front().find(member) != nullptr; };
  if (isSaid("is_hop_single_tensor_return")) made.emplace_back("is_hop_single_tensor_return", Json());
  if (isSaid("name")) made.emplace_back("name", Json(name));
  return {std::move(made)};
}

std::vector<Json> Tape::written(const Json& like) {
  const Json metadata = stackOf(like);
  std::vector<Json> made;
  for (const Node* node : graph_->nodes()) {
    if (!isArgument(*node)) made.push_back(nodeFor(*node, metadata));
  }
  for (const auto& [value, name] : standsFor_) editor_.readInstead({of_, name}, nameOf(value));
  return made;
}

void Tape::insert(size_t before, const Json& like) {
  for (Json& made : written(like)) editor_.insert(of_, static_cast<int>(before), std::move(made));
}

void Tape::replace(int node, const Json& like) {
  auto made = written(like);
  Json last = std::move(made.back());
  made.pop_back();
  for (Json& each : made) editor_.insert(of_, node, std::move(each));
  editor_.replace(of_, node, std::move(last));
}

}  // namespace normlens::formats::pt2

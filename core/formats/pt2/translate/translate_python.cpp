// Operators that are registered in Python alone, so that LibTorch does not have them: those of quantized_decomposed,
// which torch's quantization writes, are written out in ATen's; of others it is known what they read and return.
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>

#include "core/formats/pt2/translate/translator.h"
#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::pt2 {
namespace {

namespace aten = c10::aten;
using torch::jit::NamedValue;
using torchscript::ValueRecord;

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

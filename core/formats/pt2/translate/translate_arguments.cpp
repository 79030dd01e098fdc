#include <cmath>
#include <limits>

#include "core/formats/pt2/translate/translator.h"

namespace normlens::formats::pt2 {
namespace {

using c10::IValue;
using c10::TypeKind;

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

}  // namespace

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

}  // namespace normlens::formats::pt2

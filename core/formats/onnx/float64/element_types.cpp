#include "core/formats/onnx/float64/element_types.h"

#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "core/formats/onnx/float64/float64_ops.h"
#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/types/flatten_functions.h"
#include "core/formats/onnx/types/guarded_schemas.h"

namespace normlens::formats::onnx {
namespace {

using ::ONNX_NAMESPACE::InferenceContext;
using ::ONNX_NAMESPACE::OpSchema;
using ::ONNX_NAMESPACE::TypeProto;

bool isDouble(InferenceContext& context, size_t input) {
  const auto* type = input < context.getNumInputs() ? context.getInputType(input) : nullptr;
  return type != nullptr && type->tensor_type().elem_type() == TensorProto::DOUBLE;
}

// One that has no kernel of ours: its first output is what its first input is.
void inferOutputs(InferenceContext& context, const float64::KernelRow* kernel) {
  if (!isDouble(context, kernel ? static_cast<size_t>(kernel->typedInput) : 0)) return;
  const std::string_view outputs = kernel ? kernel->outputs : "d";
  const size_t count = std::min(context.getNumOutputs(), outputs.size());
  for (size_t i = 0; i < count; ++i) {
    context.getOutputType(i)->mutable_tensor_type()->set_elem_type(elementType(outputs[i]));
  }
}

// Norms and activations: a Scan needs the shapes of what its body returns.
bool keepsShape(const std::string& op) {
  static constexpr std::array<std::string_view, 9> kOps = {"SimplifiedLayerNormalization",
                                                           "SkipSimplifiedLayerNormalization",
                                                           "SkipLayerNormalization",
                                                           "BiasAdd",
                                                           "FastGelu",
                                                           "BiasGelu",
                                                           "Gelu",
                                                           "QuickGelu",
                                                           "LayerNormalization"};
  return std::ranges::find(kOps, op) != kOps.end();
}

void inferShapes(InferenceContext& context) {
  constexpr size_t kSum = 3;  // Its place in a norm that adds first.
  if (!::ONNX_NAMESPACE::hasNInputShapes(context, 1)) return;
  ::ONNX_NAMESPACE::propagateShapeFromInputToOutput(context, 0, 0);
  if (context.getNumOutputs() > kSum) ::ONNX_NAMESPACE::propagateShapeFromInputToOutput(context, 0, kSum);
}

// The onnx library's operator definitions, and for operators that only ONNX Runtime knows what types they make of
// doubles: a value of unknown type would hide that the nodes behind it work on doubles.
class RuntimeSchemas final : public ::ONNX_NAMESPACE::ISchemaRegistry {
 public:
  const OpSchema* GetSchema(const std::string& op, int version, const std::string& domain) const override {
    const auto* known = isStandardDomain(domain)
                            ? guarded_.GetSchema(op, version, domain)
                            : ::ONNX_NAMESPACE::OpSchemaRegistry::Instance()->GetSchema(op, version, domain);
    if (known != nullptr || domain == kTapDomain) return known;  // Nobody reads a tap's result as a number.
    auto& made = made_[{domain, op}];
    if (!made) {
      auto schema = std::make_unique<OpSchema>();
      schema->TypeAndShapeInferenceFunction(
          [kernel = kernelFor(domain, op), keeps = keepsShape(op)](InferenceContext& context) {
            inferOutputs(context, kernel);
            if (keeps) inferShapes(context);
          });
      made = std::move(schema);
    }
    return made.get();
  }

 private:
  GuardedSchemas guarded_;
  mutable std::map<std::pair<std::string, std::string>, std::unique_ptr<const OpSchema>> made_;
};

int32_t typeOf(const ::ONNX_NAMESPACE::ValueInfoProto& value) {
  const TypeProto& type = value.type();
  if (type.has_tensor_type()) return type.tensor_type().elem_type();
  return type.value_case() == TypeProto::VALUE_NOT_SET ? kUnknownType : kNotATensor;
}

}  // namespace

ElementTypes::ElementTypes(const GraphProto& graph, const ElementTypes* outer) : outer_(outer) {
  for (const auto& value : graph.value_info()) types_[value.name()] = typeOf(value);
  for (const auto& value : graph.output()) types_[value.name()] = typeOf(value);
  for (const auto& value : graph.input()) types_[value.name()] = typeOf(value);
  for (const auto& tensor : graph.initializer()) types_[tensor.name()] = tensor.data_type();
  for (const auto& tensor : graph.sparse_initializer()) types_[tensor.values().name()] = tensor.values().data_type();
}

int32_t ElementTypes::of(const std::string& name) const {
  for (const ElementTypes* types = this; types != nullptr; types = types->outer_) {
    const auto found = types->types_.find(name);
    if (found != types->types_.end() && found->second != kUnknownType) return found->second;
  }
  return kUnknownType;
}

void inferTypes(ModelProto& model) {
  const RuntimeSchemas schemas;
  try {
    ::ONNX_NAMESPACE::shape_inference::InferShapes(model, &schemas);
  } catch (const std::exception&) {
    // Types that were found until then stay.
  }
}

}  // namespace normlens::formats::onnx

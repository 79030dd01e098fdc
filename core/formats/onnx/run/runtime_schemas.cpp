#include "core/formats/onnx/run/runtime_schemas.h"

#include <onnx/defs/shape_inference.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/formats/onnx/float64/flatten_functions.h"
#include "core/formats/onnx/float64/float64_ops.h"
#include "core/formats/onnx/read/check_model.h"

namespace normlens::formats::onnx {
namespace {

using ::ONNX_NAMESPACE::InferenceContext;
using ::ONNX_NAMESPACE::OpSchema;

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
  constexpr size_t kSum = 3;  // of a norm that adds first
  if (!::ONNX_NAMESPACE::hasNInputShapes(context, 1)) return;
  ::ONNX_NAMESPACE::propagateShapeFromInputToOutput(context, 0, 0);
  if (context.getNumOutputs() > kSum) ::ONNX_NAMESPACE::propagateShapeFromInputToOutput(context, 0, kSum);
}

}  // namespace

const OpSchema* RuntimeSchemas::GetSchema(const std::string& op, int version, const std::string& domain) const {
  const auto* known = isStandardDomain(domain)
                          ? guarded_.GetSchema(op, version, domain)
                          : ::ONNX_NAMESPACE::OpSchemaRegistry::Instance()->GetSchema(op, version, domain);
  if (known != nullptr || domain == kTapDomain) return known;  // what a tap makes, nobody reads as a number
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

}  // namespace normlens::formats::onnx

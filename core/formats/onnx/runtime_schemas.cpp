#include "core/formats/onnx/runtime_schemas.h"

#include <cctype>

#include "core/formats/onnx/flatten_functions.h"
#include "core/formats/onnx/float64_ops.h"

namespace normlens::formats::onnx {
namespace {

using ::ONNX_NAMESPACE::InferenceContext;
using ::ONNX_NAMESPACE::OpSchema;

int32_t typeFor(char letter) {
  switch (std::tolower(static_cast<unsigned char>(letter))) {
    case 'b':
      return TensorProto::INT8;
    case 'u':
      return TensorProto::UINT8;
    case 'i':
      return TensorProto::INT32;
    case 'l':
      return TensorProto::INT64;
    default:
      return TensorProto::DOUBLE;
  }
}

bool isDouble(InferenceContext& context, size_t input) {
  const auto* type = input < context.getNumInputs() ? context.getInputType(input) : nullptr;
  return type != nullptr && type->tensor_type().elem_type() == TensorProto::DOUBLE;
}

void inferOutputs(InferenceContext& context, const OwnSignature& signature) {
  if (!isDouble(context, static_cast<size_t>(signature.typedInput))) return;
  const size_t count = std::min(context.getNumOutputs(), signature.outputs.size());
  for (size_t i = 0; i < count; ++i) {
    context.getOutputType(i)->mutable_tensor_type()->set_elem_type(typeFor(signature.outputs[i]));
  }
}

}  // namespace

const OpSchema* RuntimeSchemas::GetSchema(const std::string& op, int version, const std::string& domain) const {
  const auto* known = ::ONNX_NAMESPACE::OpSchemaRegistry::Instance()->GetSchema(op, version, domain);
  if (known != nullptr || domain == kTapDomain) return known;  // what a tap makes, nobody reads as a number
  auto& made = made_[{domain, op}];
  if (!made) {
    // One that has no kernel of ours: its first output is what its first input is.
    auto schema = std::make_unique<OpSchema>();
    schema->TypeAndShapeInferenceFunction([signature = ownSignature(domain, op).value_or(OwnSignature{0, "d"})](
                                              InferenceContext& context) { inferOutputs(context, signature); });
    made = std::move(schema);
  }
  return made.get();
}

}  // namespace normlens::formats::onnx

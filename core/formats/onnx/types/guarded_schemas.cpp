#include "core/formats/onnx/types/guarded_schemas.h"

#include <algorithm>
#include <vector>

#include "core/formats/einsum_equation.h"
#include "core/formats/onnx/source/operators.h"

namespace normlens::formats::onnx {
namespace {

using ::ONNX_NAMESPACE::DataPropagationContext;
using ::ONNX_NAMESPACE::InferenceContext;
using ::ONNX_NAMESPACE::OpSchema;

// No tensor has as many axes, and no graph as many outputs of one node.
constexpr int64_t kMostElements = 65536;

// Marks the operator's inputs that take nothing but integers, so they are a shape, axes, repeats or indices.
std::vector<bool> integerInputs(const OpSchema& schema) {
  std::vector<bool> only;
  for (const auto& input : schema.inputs()) {
    const auto isInteger = [](const std::string* type) { return *type == "tensor(int64)" || *type == "tensor(int32)"; };
    only.push_back(!input.GetTypes().empty() && std::ranges::all_of(input.GetTypes(), isInteger));
  }
  return only;
}

// An axis that the first input does not have; up to one behind its last, which some operators take.
bool hasStrayAxis(const InferenceContext& context) {
  const auto* axis = context.getAttribute("axis");
  const auto* type = context.getNumInputs() == 0 ? nullptr : context.getInputType(0);
  if (axis == nullptr || type == nullptr || !type->has_tensor_type() || !type->tensor_type().has_shape()) return false;
  const int64_t rank = type->tensor_type().shape().dim_size();
  return axis->i() < -rank || axis->i() > rank;
}

// An operand of an einsum with anything but letters and an ellipsis: the operator's inference would never end.
bool hasStrayEquation(const InferenceContext& context) {
  const auto* equation = context.getAttribute("equation");
  return equation != nullptr && !isEquation(equation->s());
}

// onnx's inference for texts (RegexFullMatch) reads the type of its input without looking whether there is one.
bool takesText(const OpSchema& schema) {
  return !schema.inputs().empty() && std::ranges::all_of(schema.inputs()[0].GetTypes(), [](const std::string* type) {
    return *type == "tensor(string)";
  });
}
bool lacksFirstType(const InferenceContext& context) {
  return context.getNumInputs() == 0 || context.getInputType(0) == nullptr;
}

bool isEndless(const ::ONNX_NAMESPACE::TypeProto* type) {
  if (type == nullptr || !type->has_tensor_type()) return false;
  const auto& dims = type->tensor_type().shape().dim();
  return dims.size() == 1 && dims[0].dim_value() > kMostElements;
}

bool hasEndlessList(const InferenceContext& context, const std::vector<bool>& integers) {
  for (size_t i = 0; i < context.getNumInputs() && !integers.empty(); ++i) {
    if (integers[std::min(i, integers.size() - 1)] && isEndless(context.getInputType(i))) return true;
  }
  return false;
}

}  // namespace

const OpSchema* GuardedSchemas::GetSchema(const std::string& op, int version, const std::string& domain) const {
  if (!isStandardDomain(domain)) return nullptr;
  auto& made = made_[{op, version}];
  if (made) return made.get();
  const OpSchema* original = ::ONNX_NAMESPACE::OpSchemaRegistry::Instance()->GetSchema(op, version, domain);
  if (original == nullptr) return nullptr;
  auto guarded = std::make_unique<OpSchema>(*original);
  if (auto infer = original->GetTypeAndShapeInferenceFunction()) {
    guarded->TypeAndShapeInferenceFunction(
        [infer, only = integerInputs(*original), text = takesText(*original)](InferenceContext& context) {
          if (text && lacksFirstType(context)) return;
          if (!hasStrayAxis(context) && !hasStrayEquation(context) && !hasEndlessList(context, only)) infer(context);
        });
  }
  // This propagates numbers that make up a shape; any input is looked at as such.
  if (auto propagate = original->GetDataPropagationFunction()) {
    guarded->PartialDataPropagationFunction([propagate](DataPropagationContext& context) {
      for (size_t i = 0; i < context.getNumInputs(); ++i) {
        if (isEndless(context.getInputType(i))) return;
      }
      propagate(context);
    });
  }
  made = std::move(guarded);
  return made.get();
}

}  // namespace normlens::formats::onnx

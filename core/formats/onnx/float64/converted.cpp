// OnnxModel::converted: the same nodes with every floating type another one.
#include "core/base/plain_error.h"
#include "core/formats/onnx/float64/float64_ops.h"
#include "core/formats/onnx/float64/retype.h"
#include "core/formats/onnx/read/onnx_model.h"
#include "core/formats/onnx/read/tensors/dtypes.h"

namespace normlens::formats::onnx {

Result<std::unique_ptr<Model>> OnnxModel::converted(graph::DType dtype) const {
  const std::string refusal = "the model cannot be run in " + std::string(graph::dtypeName(dtype)) + ": ";
  if (!graph::isFloat(dtype)) return fail(ErrorCode::Unsupported, refusal + "it is no floating type");
  if (auto status = computeWeights({}); !status) return tl::unexpected(std::move(status.error()));
  try {
    const std::string obstacle = conversionObstacle(*source_.skeleton, dtype);
    if (!obstacle.empty()) return fail(ErrorCode::Unsupported, refusal + obstacle);
    const Retype retype = allFloatsTo(dtype);
    OnnxSource made = source_;
    auto skeleton = std::make_shared<ModelProto>(*source_.skeleton);
    retypeModel(*skeleton, retype);
    made.skeleton = std::move(skeleton);
    made.weights = std::make_shared<const Weights>(retypeWeights(*source_.weights, retype));
    made.everyFloat = dtype;
    made.float64Twin = dtype == graph::DType::Float64;
    auto model = fromSource(std::move(made), facts_);
    if (!model) return tl::unexpected(model.error());
    if (shapes_) {
      ProbeShapes shapes = *shapes_;
      for (auto& [path, value] : shapes) {
        if (graph::isFloat(value.dtype)) value.dtype = dtype;
      }
      (*model)->adoptShapes(std::move(shapes));
    }
    return std::unique_ptr<Model>(std::move(*model));
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unsupported, refusal + plainError(error));
  }
}

}  // namespace normlens::formats::onnx

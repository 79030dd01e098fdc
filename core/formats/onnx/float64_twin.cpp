// OnnxModel::toFloat64: the same nodes with every floating type double.
#include "core/formats/onnx/dtypes.h"
#include "core/formats/onnx/float64_ops.h"
#include "core/formats/onnx/onnx_model.h"
#include "core/formats/onnx/retype.h"

namespace normlens::formats::onnx {

Result<std::unique_ptr<Model>> OnnxModel::toFloat64() const {
  try {
    const std::string obstacle = float64Obstacle(*source_.skeleton);
    if (!obstacle.empty()) {
      return fail(ErrorCode::Unsupported, "the model cannot be run in float64: " + obstacle);
    }
    const Retype retype = allFloatsToDouble();
    OnnxSource twin = source_;
    auto skeleton = std::make_shared<ModelProto>(*source_.skeleton);
    retypeModel(*skeleton, retype);
    twin.skeleton = std::move(skeleton);
    twin.weights = std::make_shared<const Weights>(retypeWeights(*source_.weights, retype));
    twin.float64Twin = true;
    auto model = fromSource(std::move(twin), facts_);
    if (!model) return tl::unexpected(model.error());
    if (shapes_) {
      ProbeShapes shapes = *shapes_;
      for (auto& [path, value] : shapes) {
        if (graph::isFloat(value.dtype)) value.dtype = graph::DType::Float64;
      }
      (*model)->adoptShapes(std::move(shapes));
    }
    return std::unique_ptr<Model>(std::move(*model));
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unsupported, std::string("the model cannot be run in float64: ") + error.what());
  }
}

}  // namespace normlens::formats::onnx

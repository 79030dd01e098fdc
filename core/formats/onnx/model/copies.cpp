// Copies of a model with other numbers: in another floating type, or every weight moved by up to half a unit in its
// last place.
#include <algorithm>
#include <set>

#include "core/base/plain_error.h"
#include "core/formats/edit/opened_files.h"
#include "core/formats/onnx/float64/float64_ops.h"
#include "core/formats/onnx/model/onnx_model.h"
#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/tensors/float_cast.h"
#include "core/formats/onnx/tensors/tensor_data.h"
#include "core/formats/onnx/tensors/tensor_store.h"
#include "core/formats/onnx/types/retype.h"
#include "core/formats/rounding_noise.h"

namespace normlens::formats::onnx {
namespace {

using graph::TensorView;

uint64_t seedOf(const std::string& name, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash ^ scrambled(seed);
}

// Numbers that decide how something is done, not weights: exponents, sizes, bounds. A single number is left alone
// wherever it stands: it may be an exponent by another way, and its share of the rounding is small.
void collectSettings(const GraphProto& graph, std::set<std::string>& settings) {
  eachNode(graph.node(), [&](const NodeProto& node) {
    const std::string& op = node.op_type();
    const bool all = op == "Range" || op == "Clip";
    const bool rest = op == "Pow" || op == "Resize" || op == "Upsample" || op == "Pad" || op == "OneHot";
    for (int i = 0; i < node.input_size(); ++i) {
      if (all || (rest && i > 0)) settings.insert(node.input(i));
    }
  });
}

class Perturber {
 public:
  Perturber(uint64_t seed, const std::set<std::string>& settings) : seed_(seed), settings_(settings) {}

  [[nodiscard]] bool moves(const std::string& name, const TensorView& view) const {
    return graph::isFloat(view.dtype) && view.data && graph::elementCount(view.shape).value_or(0) > 1 &&
           !settings_.contains(name);
  }

  void graph(GraphProto& graph, const std::string& path) {
    for (auto& tensor : *graph.mutable_initializer()) move(tensor, path + tensor.name());
    nodes(*graph.mutable_node(), path);
  }

  void nodes(::google::protobuf::RepeatedPtrField<NodeProto>& list, const std::string& path) {
    int index = 0;
    for (NodeProto& node : list) {
      const std::string inside = path + std::to_string(index++) + "/";
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) graph(*attribute.mutable_g(), inside + attribute.name() + "/");
        const bool constant = node.op_type() == "Constant" && node.output_size() == 1 && attribute.has_t();
        if (constant && !settings_.contains(node.output(0))) move(*attribute.mutable_t(), inside);
      }
    }
  }

  [[nodiscard]] TensorView copy(const std::string& name, const TensorView& view) const {
    const RoundingNoise noise(view.dtype, seedOf(name, seed_));
    return castFloats(denseView(view), view.dtype,
                      [&](double value, int64_t index) { return value * noise.factor(index); });
  }

 private:
  void move(TensorProto& tensor, const std::string& name) const {
    const TensorView view = viewOf(tensor, nullptr);
    if (!moves(tensor.name(), view)) return;
    const TensorView moved = copy(name, view);
    const auto count = static_cast<size_t>(graph::elementCount(moved.shape).value_or(0));
    (void)storeTensor(tensor, {moved.data, count * graph::dtypeBytes(moved.dtype)});
  }

  uint64_t seed_;
  const std::set<std::string>& settings_;
};

}  // namespace

// The probe's shapes are those of the copy too, floats in its own type.
Result<std::unique_ptr<Model>> OnnxModel::asCopy(OnnxSource source) const {
  const graph::DType every = source.everyFloat;
  auto model = fromSource(std::move(source), facts_);
  if (!model) return tl::unexpected(model.error());
  if (shapes_) {
    ProbeShapes shapes = *shapes_;
    for (auto& [path, value] : shapes) {
      if (every != graph::DType::Unknown && graph::isFloat(value.dtype)) value.dtype = every;
    }
    (*model)->adoptShapes(std::move(shapes));
  }
  return model;
}

Result<std::unique_ptr<Model>> OnnxModel::converted(graph::DType dtype) const {
  const std::string refusal = "the model cannot be run in " + std::string(graph::dtypeName(dtype)) + ": ";
  if (!graph::isFloat(dtype)) return fail(ErrorCode::Unsupported, refusal + "it is no floating type");
  RETURN_IF_ERROR(computeWeights({}));
  try {
    const std::string obstacle = conversionObstacle(*source_.skeleton, dtype);
    if (!obstacle.empty()) return fail(ErrorCode::Unsupported, refusal + obstacle);
    const Retype retype = allFloatsTo(dtype);
    OnnxSource made = source_;
    auto skeleton = std::make_shared<ModelProto>(*source_.skeleton);
    retypeModel(*skeleton, retype);
    made.skeleton = std::move(skeleton);
    const auto pagesLetGo = [files = filesOf(source_)](const TensorView& read) { letGo(read, files); };
    made.weights = std::make_shared<const Weights>(retypeWeights(*source_.weights, retype, pagesLetGo));
    made.everyFloat = dtype;
    made.float64Twin = dtype == graph::DType::Float64;
    return asCopy(std::move(made));
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unsupported, refusal + plainError(error));
  }
}

Result<std::unique_ptr<Model>> OnnxModel::perturbed(uint64_t seed) const {
  RETURN_IF_ERROR(computeWeights({}));
  try {
    std::set<std::string> settings;
    collectSettings(source_.skeleton->graph(), settings);
    Perturber perturber(seed, settings);
    OnnxSource made = source_;
    auto skeleton = std::make_shared<ModelProto>(*source_.skeleton);
    perturber.graph(*skeleton->mutable_graph(), "");
    for (auto& function : *skeleton->mutable_functions())
      perturber.nodes(*function.mutable_node(), function.name() + "//");
    auto weights = std::make_shared<Weights>(*source_.weights);
    for (auto& [name, weight] : *weights) {
      if (!perturber.moves(name, weight.view)) continue;
      weight.view = perturber.copy(name, weight.view);
      weight.asOpened = false;
    }
    made.skeleton = std::move(skeleton);
    made.weights = std::move(weights);
    return asCopy(std::move(made));
  } catch (const std::exception& error) {
    return fail(ErrorCode::Internal, "the weights cannot be perturbed: " + plainError(error));
  }
}

}  // namespace normlens::formats::onnx

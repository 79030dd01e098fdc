#include "core/formats/onnx/run/static_shapes.h"

#include <algorithm>

#include "core/formats/onnx/read/known_types.h"
#include "core/formats/onnx/run/input_sizes.h"
#include "core/formats/onnx/run/stand_ins.h"

namespace normlens::formats::onnx {
namespace {

ProbeShapes givenShapes(const ModelProto& model, const Tensors& inputs) {
  ProbeShapes given;
  const auto sized = sizedInputs(model);
  for (size_t i = 0; i < sized.size(); ++i) {
    if (const auto* view = inputFor(inputs, sized[i].name, i)) given[sized[i].name] = {sized[i].dtype, view->shape};
  }
  return given;
}

bool isFloat(const KnownTypes& types, const std::string& name) {
  const auto found = types.find(name);
  return found != types.end() && graph::isFloat(found->second.dtype);
}

class Collector {
 public:
  Collector(const GraphProto& graph, const KnownTypes& types) : graph_(graph), types_(types) {
    for (const TensorProto& tensor : graph.initializer()) constants_.insert(tensor.name());
  }

  StaticShapes collect() {
    for (const NodeProto& node : graph_.node()) {
      if (node.op_type() == "Constant") {
        constants_.insert(node.output().begin(), node.output().end());
        continue;
      }
      for (const std::string& output : node.output()) take(output, readsComputedNumbers(node));
    }
    for (const auto& input : graph_.input()) take(input.name(), false);
    return std::move(out_);
  }

 private:
  // Sizes may hang on what such an input holds: anything computed that is not known to be of a floating type.
  [[nodiscard]] bool readsComputedNumbers(const NodeProto& node) const {
    return std::ranges::any_of(node.input(), [&](const std::string& name) {
      return !name.empty() && !constants_.contains(name) && !isFloat(types_, name);
    });
  }

  void take(const std::string& name, bool compared) {
    const auto found = name.empty() ? types_.end() : types_.find(name);
    if (found == types_.end() || found->second.dtype == graph::DType::Unknown) return;
    const auto shape = found->second.shape();
    if (!shape) return;
    out_.shapes[name] = {found->second.dtype, *shape};
    if (compared) out_.alsoTapped.insert(name);
  }

  const GraphProto& graph_;
  const KnownTypes& types_;
  std::unordered_set<std::string> constants_;
  StaticShapes out_;
};

}  // namespace

StaticShapes staticShapes(const OnnxSource& source, const Tensors& inputs) {
  if (source.everyFloat != graph::DType::Unknown) return {};  // its nodes get their types when the session is made
  const KnownTypes types = inferredTypes(source, givenShapes(*source.skeleton, inputs));
  StaticShapes found = Collector(source.skeleton->graph(), types).collect();
  found.onlyForShape = weightsOnlyForShape(source, types);
  return found;
}

}  // namespace normlens::formats::onnx

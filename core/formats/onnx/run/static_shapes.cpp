#include "core/formats/onnx/run/static_shapes.h"

#include <algorithm>

#include "core/formats/onnx/run/stand_ins.h"
#include "core/formats/onnx/types/input_sizes.h"
#include "core/formats/onnx/types/known_types.h"

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

StaticShapes collected(const GraphProto& graph, const KnownTypes& types) {
  StaticShapes out;
  std::unordered_set<std::string> constants;
  for (const TensorProto& tensor : graph.initializer()) constants.insert(tensor.name());
  // Sizes may depend on what such an input holds: anything computed that is not known to be of a floating type.
  const auto isComputedNumber = [&](const std::string& name) {
    return !name.empty() && !constants.contains(name) && !isKnownFloat(types, name);
  };
  const auto take = [&](const std::string& name, bool compared) {
    const auto found = name.empty() ? types.end() : types.find(name);
    if (found == types.end() || found->second.dtype == graph::DType::Unknown) return;
    const auto shape = found->second.shape();
    if (!shape) return;
    out.shapes[name] = {found->second.dtype, *shape};
    if (compared) out.alsoTapped.insert(name);
  };
  for (const NodeProto& node : graph.node()) {
    if (node.op_type() == "Constant") {
      constants.insert(node.output().begin(), node.output().end());
      continue;
    }
    const bool compared = std::ranges::any_of(node.input(), isComputedNumber);
    for (const std::string& output : node.output()) take(output, compared);
  }
  for (const auto& input : graph.input()) take(input.name(), false);
  return out;
}

}  // namespace

StaticShapes staticShapes(const OnnxSource& source, const Tensors& inputs, const ProbeShapes& seen) {
  if (source.everyFloat != graph::DType::Unknown) return {};  // its nodes get their types when the session is made
  const KnownTypes types = inferredTypes(source, givenShapes(*source.skeleton, inputs), seen);
  StaticShapes found = collected(source.skeleton->graph(), types);
  found.onlyForShape = weightsOnlyForShape(source, types);
  return found;
}

}  // namespace normlens::formats::onnx

#include "core/formats/pt2/write/run_sizes.h"

#include <unordered_map>

#include "core/formats/pt2/file/meta_algebra.h"
#include "core/formats/pt2/file/node_place.h"
#include "core/formats/pt2/file/tensor_meta.h"

namespace normlens::formats::pt2 {
namespace {

using torch::jit::Value;

std::unordered_map<const Value*, graph::Shape> shapesOf(const torchscript::TorchScriptModel& probed) {
  std::unordered_map<const Value*, graph::Shape> shapes;
  const auto& values = probed.program().values;
  for (size_t i = 0; i < values.size(); ++i) {
    const graph::ValueId id = probed.lowered().graphValue[i];
    if (id == graph::kNoValue) continue;
    if (const auto& shape = probed.graph().value(id).shape) shapes.emplace(values[i].value, *shape);
  }
  return shapes;
}

}  // namespace

void describeSizes(Program& program, const torchscript::TorchScriptModel& probed) {
  const auto shapes = shapesOf(probed);
  const auto graphs = graphsIn(program.file.program.at("graph_module").at("graph"));
  for (size_t graph = 0; graph < graphs.size(); ++graph) {
    Json& metas = graphs[graph]->at("tensor_values");
    for (const auto& [value, name] : program.translation.names[graph]) {
      const auto shape = shapes.find(value);
      Json* meta = shape == shapes.end() ? nullptr : metas.find(name);
      if (meta == nullptr) continue;
      const TensorMeta known = readTensorMeta(*meta);
      if (known.sizes.size() != shape->second.size()) continue;
      for (size_t axis = 0; axis < known.sizes.size(); ++axis) {
        const int64_t size = shape->second[axis];
        if (known.sizes[axis].isFixed() && known.sizes[axis].example != size) *meta = resizedMeta(*meta, axis, size);
      }
    }
  }
}

}  // namespace normlens::formats::pt2

#include "core/run/compare/capture.h"

#include <algorithm>

namespace normlens::run {

using graph::ValueId;

Result<Captured> capture(const formats::Model& model, std::vector<ValueId> values, const formats::Tensors& inputs,
                         const Task& task) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  auto tensors = model.runCapturing(inputs, values, task);
  if (!tensors) return tl::unexpected(tensors.error());
  Captured captured;
  if (tensors->size() == values.size()) {
    for (size_t i = 0; i < values.size(); ++i) captured[values[i]] = (*tensors)[i].view;
    return captured;
  }
  // Some were not reached (a branch not taken): the names tell which.
  for (const formats::NamedTensor& tensor : *tensors) {
    const auto value = std::ranges::find(values, tensor.name, [&](ValueId id) { return model.graph().value(id).name; });
    if (value != values.end()) captured[*value] = tensor.view;
  }
  return captured;
}

}  // namespace normlens::run

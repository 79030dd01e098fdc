#include "core/run/compare/capture.h"

#include <algorithm>

namespace normlens::run {

Captured captured(const std::vector<graph::ValueId>& values, const formats::Tensors& tensors) {
  Captured all;
  for (size_t i = 0; i < values.size() && i < tensors.size(); ++i) all[values[i]] = tensors[i].view;
  return all;
}

Result<Captured> capture(const formats::Model& model, std::vector<graph::ValueId> values,
                         const formats::Tensors& inputs, const Task& task) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  return model.runCapturing(inputs, values, task).map([&](const formats::Tensors& tensors) {
    return captured(values, tensors);
  });
}

}  // namespace normlens::run

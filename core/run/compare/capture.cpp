#include "core/run/compare/capture.h"

#include <algorithm>

namespace normlens::run {

Captured captured(const std::vector<graph::ValueId>& values, const formats::Tensors& tensors) {
  Captured all;
  for (size_t i = 0; i < values.size() && i < tensors.size(); ++i) all[values[i]] = tensors[i].view;
  return all;
}

Result<Captured> capture(const formats::Model& model, std::vector<graph::ValueId> values,
                         const formats::Tensors& inputs, const Task& task, formats::Runner* runner) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  const auto tensors =
      runner != nullptr ? runner->runCapturing(values, task) : model.runCapturing(inputs, values, task);
  return tensors.map([&](const formats::Tensors& each) { return captured(values, each); });
}

std::vector<std::pair<size_t, size_t>> captureTurns(const std::vector<int64_t>& bytes) {
  constexpr int64_t kMostCapturedBytes = int64_t{1} << 30;
  std::vector<std::pair<size_t, size_t>> turns;
  for (size_t begin = 0; begin < bytes.size();) {
    size_t end = begin;
    int64_t together = 0;
    while (end < bytes.size() && (end == begin || together + bytes[end] <= kMostCapturedBytes)) {
      together += bytes[end++];
    }
    turns.emplace_back(begin, end);
    begin = end;
  }
  return turns;
}

}  // namespace normlens::run

#include "core/formats/torchscript/run/device_memory.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace normlens::formats::torchscript {
namespace {

constexpr int64_t kAligned = 64;  // bytes: reads of several elements at once stay possible

bool hasBytes(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && tensor.has_storage() && !tensor.is_quantized() &&
         !tensor.is_conj() && !tensor.is_neg() && tensor.numel() > 0;
}

// First byte in its storage, and the one behind the last.
std::pair<int64_t, int64_t> stretchOf(const at::Tensor& tensor) {
  int64_t last = tensor.storage_offset();
  for (int64_t axis = 0; axis < tensor.dim(); ++axis) last += (tensor.size(axis) - 1) * tensor.stride(axis);
  const auto bytes = static_cast<int64_t>(tensor.element_size());
  return {tensor.storage_offset() * bytes / kAligned * kAligned, (last + 1) * bytes};
}

}  // namespace

void DeviceMemory::expect(const at::Tensor& tensor) {
  if (!hasBytes(tensor)) return;
  auto [first, end] = stretchOf(tensor);
  Stretches& stretches = memory_[tensor.storage().unsafeGetStorageImpl()];
  auto next = stretches.upper_bound(first);
  if (next != stretches.begin() && std::prev(next)->second.end > first) --next;
  while (next != stretches.end() && next->first < end) {
    if (next->second.moved.defined()) {
      if (next->first <= first && next->second.end >= end) return;
      break;  // comes too late: a stretch of its own
    }
    first = std::min(first, next->first);
    end = std::max(end, next->second.end);
    next = stretches.erase(next);
  }
  stretches[first] = {end, tensor.storage(), {}};
}

at::Tensor DeviceMemory::of(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  if (!hasBytes(tensor)) return tensor.to(device_, tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
  expect(tensor);
  Stretches& stretches = memory_[tensor.storage().unsafeGetStorageImpl()];
  auto& [first, stretch] = *std::prev(stretches.upper_bound(stretchOf(tensor).first));
  const auto bytes = tensor.options().dtype(at::kByte).requires_grad(false);
  if (!stretch.moved.defined()) {
    const at::Tensor there = at::empty({0}, bytes).set_(tensor.storage(), first, {stretch.end - first}, {1});
    stretch.moved = there.to(device_, at::kByte, /*non_blocking=*/false, /*copy=*/true);
  }
  const int64_t offset = tensor.storage_offset() - first / static_cast<int64_t>(tensor.element_size());
  return at::empty({0}, tensor.options().device(device_).requires_grad(false))
      .set_(stretch.moved.storage(), offset, tensor.sizes(), tensor.strides());
}

}  // namespace normlens::formats::torchscript

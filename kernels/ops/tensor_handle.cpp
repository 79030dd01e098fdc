#include "kernels/ops/tensor_handle.h"

#include <torch/headeronly/util/shim_utils.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

namespace normlens::kernels {
namespace {

std::optional<Scalar> scalarOf(int32_t type) {
  static const std::array ofScalar = {aoti_torch_dtype_float32(), aoti_torch_dtype_float64(),
                                      aoti_torch_dtype_float16(), aoti_torch_dtype_bfloat16()};
  const auto* found = std::ranges::find(ofScalar, type);
  if (found == ofScalar.end()) return std::nullopt;
  return static_cast<Scalar>(found - ofScalar.begin());
}

AtenTensorHandle another(AtenTensorHandle tensor) {
  AtenTensorHandle made = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_new_tensor_handle(tensor, &made));
  return made;
}

}  // namespace

int64_t TensorFacts::count() const {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies());
}

TensorHandle::~TensorHandle() {
  if (handle_ != nullptr) aoti_torch_delete_tensor_object(handle_);
}

AtenTensorHandle TensorHandle::release() {
  facts_.reset();
  return std::exchange(handle_, nullptr);
}

torch::stable::Tensor TensorHandle::shared() const { return torch::stable::Tensor(another(handle_)); }

TensorHandle TensorHandle::of(const torch::stable::Tensor& tensor) { return TensorHandle(another(tensor.get())); }

std::optional<Scalar> TensorHandle::scalar() const {
  if (facts_) return facts_->scalar;
  int32_t type = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(handle_, &type));
  return scalarOf(type);
}

int64_t TensorHandle::axes() const {
  if (facts_) return static_cast<int64_t>(facts_->sizes.size());
  int64_t axes = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dim(handle_, &axes));
  return axes;
}

const TensorFacts& TensorHandle::facts() const {
  if (facts_) return *facts_;
  int64_t axes = 0;
  int64_t* sizes = nullptr;
  int64_t* strides = nullptr;
  int32_t type = 0;
  TensorFacts facts;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dim(handle_, &axes));
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_sizes(handle_, &sizes));
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_strides(handle_, &strides));
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(handle_, &type));
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(handle_, &facts.deviceType));
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_index(handle_, &facts.deviceIndex));
  facts.scalar = scalarOf(type);
  facts.sizes = {sizes, static_cast<size_t>(axes)};
  facts.strides = {strides, static_cast<size_t>(axes)};
  return facts_.emplace(facts);
}

const void* TensorHandle::data() const {
  const void* data = nullptr;
  TORCH_ERROR_CODE_CHECK(torch_get_const_data_ptr(handle_, &data));
  return data;
}

void* TensorHandle::mutableData() const {
  void* data = nullptr;
  TORCH_ERROR_CODE_CHECK(torch_get_mutable_data_ptr(handle_, &data));
  return data;
}

}  // namespace normlens::kernels

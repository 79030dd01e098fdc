#include "core/formats/torchscript/program/tensor_convert.h"

#include <algorithm>
#include <array>
#include <utility>

namespace normlens::formats::torchscript {

using graph::DType;

namespace {

using Types = std::pair<at::ScalarType, DType>;
constexpr std::array kTypes = {
    Types{at::kBool, DType::Bool},
    Types{at::kByte, DType::UInt8},
    Types{at::kChar, DType::Int8},
    Types{at::kShort, DType::Int16},
    Types{at::kInt, DType::Int32},
    Types{at::kLong, DType::Int64},
    Types{at::kHalf, DType::Float16},
    Types{at::kBFloat16, DType::BFloat16},
    Types{at::kFloat, DType::Float32},
    Types{at::kDouble, DType::Float64},
    Types{at::kComplexFloat, DType::Complex64},
    Types{at::kComplexDouble, DType::Complex128},
};

}  // namespace

DType dtypeOf(at::ScalarType type) {
  if (c10::isQIntType(type)) return DType::Quantized;
  const auto* found = std::ranges::find(kTypes, type, &Types::first);
  return found == kTypes.end() ? DType::Unknown : found->second;
}

at::ScalarType scalarTypeOf(DType dtype) {
  const auto* found = std::ranges::find(kTypes, dtype, &Types::second);
  return found == kTypes.end() ? at::kFloat : found->first;
}

graph::TensorView viewOf(const at::Tensor& tensor) {
  graph::TensorView view;
  if (!tensor.defined()) return view;
  const auto kept = std::make_shared<at::Tensor>(tensor);
  view.dtype = dtypeOf(tensor.scalar_type());
  view.shape = tensor.sizes().vec();
  // Elements of other layouts and devices cannot be read through a pointer: the view then has a shape only.
  if (tensor.layout() == at::kStrided && tensor.device().is_cpu() && !tensor.is_conj() && !tensor.is_neg()) {
    view.strides = tensor.strides().vec();
    view.data = static_cast<const std::byte*>(tensor.const_data_ptr());
  }
  view.owner = kept;
  return view;
}

at::Tensor tensorOf(const graph::TensorView& view) {
  const auto options = at::TensorOptions().dtype(scalarTypeOf(view.dtype));
  if (view.data == nullptr) return at::zeros(view.shape, options);
  auto* data = const_cast<std::byte*>(view.data);
  return at::from_blob(
      data, view.shape, view.strides, [owner = view.owner](void*) {}, options);
}

}  // namespace normlens::formats::torchscript

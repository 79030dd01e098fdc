#include <torch/script.h>

#include "core/formats/torchscript/program/torchscript_model.h"

namespace normlens::formats::torchscript {

using graph::DType;

DType dtypeOf(at::ScalarType type) {
  switch (type) {
    case at::kBool:
      return DType::Bool;
    case at::kByte:
      return DType::UInt8;
    case at::kChar:
      return DType::Int8;
    case at::kShort:
      return DType::Int16;
    case at::kInt:
      return DType::Int32;
    case at::kLong:
      return DType::Int64;
    case at::kHalf:
      return DType::Float16;
    case at::kBFloat16:
      return DType::BFloat16;
    case at::kFloat:
      return DType::Float32;
    case at::kDouble:
      return DType::Float64;
    case at::kComplexFloat:
      return DType::Complex64;
    case at::kComplexDouble:
      return DType::Complex128;
    case at::kQInt8:
    case at::kQUInt8:
    case at::kQInt32:
      return DType::Quantized;
    default:
      return DType::Unknown;
  }
}

at::ScalarType scalarTypeOf(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return at::kBool;
    case DType::UInt8:
      return at::kByte;
    case DType::Int8:
      return at::kChar;
    case DType::Int16:
      return at::kShort;
    case DType::Int32:
      return at::kInt;
    case DType::Int64:
      return at::kLong;
    case DType::Float16:
      return at::kHalf;
    case DType::BFloat16:
      return at::kBFloat16;
    case DType::Float32:
      return at::kFloat;
    case DType::Float64:
      return at::kDouble;
    case DType::Complex64:
      return at::kComplexFloat;
    case DType::Complex128:
      return at::kComplexDouble;
    default:
      return at::kFloat;
  }
}

graph::TensorView viewOf(const at::Tensor& tensor) {
  graph::TensorView view;
  if (!tensor.defined()) return view;
  const auto kept = std::make_shared<at::Tensor>(tensor);
  view.dtype = tensor.is_quantized() ? DType::Quantized : dtypeOf(tensor.scalar_type());
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

#include "core/formats/onnx/run/ort_values.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "core/formats/onnx/source/onnx_source.h"
#include "core/formats/onnx/tensors/float_cast.h"
#include "core/formats/onnx/tensors/tensor_data.h"
#include "core/graph/numbers.h"

namespace normlens::formats::onnx {
namespace {

using graph::DType;
using graph::TensorView;

// Kernels load whole vectors at once.
constexpr uintptr_t kTensorAlignment = 16;

template <class T>
bool allWithin(const std::vector<double>& numbers) {
  using Limits = std::numeric_limits<T>;
  return std::ranges::all_of(numbers, [](double number) {
    return number >= static_cast<double>(Limits::lowest()) && number <= static_cast<double>(Limits::max());
  });
}

// Returns whether numbers of this type hold all of them; false for types that are no numbers.
bool allFit(const std::vector<double>& numbers, DType wanted) {
  switch (wanted) {
    case DType::Bool:
      return true;
    case DType::UInt8:
      return allWithin<uint8_t>(numbers);
    case DType::Int8:
      return allWithin<int8_t>(numbers);
    case DType::Int16:
      return allWithin<int16_t>(numbers);
    case DType::Int32:
      return allWithin<int32_t>(numbers);
    case DType::Int64:
      return allWithin<int64_t>(numbers);
    default:
      return graph::isFloat(wanted);
  }
}

template <class T>
Result<TensorView> widenUnsigned(const std::string& name, const T* numbers, const graph::Shape& shape) {
  FreshTensor fresh = freshTensor(DType::Int64, shape);
  const int64_t count = graph::elementCount(shape).value_or(0);
  for (int64_t i = 0; i < count; ++i) {
    if (!std::in_range<int64_t>(numbers[i])) {
      return fail(ErrorCode::Unsupported, "the output '" + name + "' holds numbers beyond 2^63");
    }
    const auto number = static_cast<int64_t>(numbers[i]);
    std::memcpy(fresh.bytes + static_cast<size_t>(i) * sizeof(number), &number, sizeof(number));
  }
  return fresh.view;
}

// Texts are compared as numbers that are equal where they are: 53 bits of FNV-1a, which a double holds.
TensorView numbersOfTexts(const Ort::Value& value, const graph::Shape& shape) {
  FreshTensor fresh = freshTensor(DType::Int64, shape);
  const int64_t count = graph::elementCount(shape).value_or(0);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : value.GetStringTensorElement(static_cast<size_t>(i))) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    const auto number = static_cast<int64_t>(hash >> 11);
    std::memcpy(fresh.bytes + static_cast<size_t>(i) * sizeof(number), &number, sizeof(number));
  }
  return fresh.view;
}

Result<TensorView> viewOfValue(const std::string& name, Ort::Value value) {
  const auto info = value.GetTensorTypeAndShapeInfo();
  const graph::Shape shape = info.GetShape();
  const auto type = static_cast<int32_t>(info.GetElementType());
  if (type == TensorProto::UINT16) return widenUnsigned(name, value.GetTensorData<uint16_t>(), shape);
  if (type == TensorProto::UINT32) return widenUnsigned(name, value.GetTensorData<uint32_t>(), shape);
  if (type == TensorProto::STRING) return numbersOfTexts(value, shape);
  if (type == TensorProto::UINT64) return widenUnsigned(name, value.GetTensorData<uint64_t>(), shape);
  TensorView view = viewOf(value.GetConst());
  if (graph::dtypeBytes(view.dtype) == 0) {
    return fail(ErrorCode::Unsupported, "the output '" + name + "' is of a type that cannot be compared");
  }
  view.owner = std::make_shared<Ort::Value>(std::move(value));
  return view;
}

}  // namespace

TensorView viewOf(const Ort::ConstValue& value) {
  const auto info = value.GetTensorTypeAndShapeInfo();
  TensorView view;
  view.dtype = fromOnnxType(static_cast<int32_t>(info.GetElementType()));
  view.shape = info.GetShape();
  view.strides = denseStrides(view.shape);
  if (graph::dtypeBytes(view.dtype) > 0) view.data = static_cast<const std::byte*>(value.GetTensorRawData());
  return view;
}

bool suitsRuntime(const TensorView& view) {
  return view.data != nullptr && view.contiguous() && reinterpret_cast<uintptr_t>(view.data) % kTensorAlignment == 0;
}

SharedValue shareTensor(const TensorView& view) {
  TensorView dense = denseView(view);
  const auto bytes = static_cast<size_t>(graph::byteCount(dense));
  if (!suitsRuntime(dense)) dense = copyOf(dense);
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  // The runtime takes inputs by a pointer to writable memory; it only reads them.
  auto* data = const_cast<std::byte*>(dense.data);
  // ONNX's and ONNX Runtime's element types have the same numbers.
  const auto type = static_cast<ONNXTensorElementDataType>(toOnnxType(dense.dtype));
  SharedValue shared;
  shared.value = Ort::Value::CreateTensor(memory, data, bytes, dense.shape.data(), dense.shape.size(), type);
  shared.memory = dense.owner;
  return shared;
}

Result<TensorView> convertInput(const TensorView& view, DType wanted, const std::string& input) {
  const TensorView dense = denseView(view);
  if (dense.dtype == wanted) return dense;
  if (graph::isFloat(dense.dtype) && graph::isFloat(wanted)) return castFloats(dense, wanted);
  const auto refused = [&] {
    return fail(ErrorCode::BadInput, "the input '" + input + "' is " + std::string(graph::dtypeName(wanted)) +
                                         " in the model, the given array is " +
                                         std::string(graph::dtypeName(dense.dtype)));
  };
  auto numbers = graph::isFloat(dense.dtype) ? std::nullopt : graph::toDoubles(dense);
  if (!numbers || !allFit(*numbers, wanted)) return refused();
  if (wanted == DType::Bool) std::ranges::transform(*numbers, numbers->begin(), [](double x) { return x != 0; });
  if (!graph::isFloat(wanted)) return graph::tensorFromDoubles(dense.shape, *numbers, wanted);
  return castFloats(graph::tensorFromDoubles(dense.shape, *numbers, DType::Float64), wanted);
}

Status appendOutput(const std::string& name, Ort::Value value, Tensors& outputs) {
  if (!value || !value.HasValue()) return {};  // an optional output that holds nothing
  const auto type = value.GetTypeInfo().GetONNXType();
  if (type == ONNX_TYPE_TENSOR) {
    ASSIGN_OR_RETURN(auto view, viewOfValue(name, std::move(value)));
    outputs.push_back({name, std::move(view)});
    return {};
  }
  if (type != ONNX_TYPE_SEQUENCE) {
    return fail(ErrorCode::Unsupported, "the output '" + name + "' is not a tensor");
  }
  Ort::AllocatorWithDefaultOptions allocator;
  const size_t count = value.GetCount();
  for (size_t i = 0; i < count; ++i) {
    Ort::Value element = value.GetValue(static_cast<int>(i), allocator);
    RETURN_IF_ERROR(appendOutput(name + "[" + std::to_string(i) + "]", std::move(element), outputs));
  }
  return {};
}

}  // namespace normlens::formats::onnx

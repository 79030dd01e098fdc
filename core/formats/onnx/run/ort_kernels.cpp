#include "core/formats/onnx/run/ort_kernels.h"

#include <cctype>
#include <cstring>
#include <exception>
#include <mutex>

#include "core/formats/onnx/float64/float64_ops.h"
#include "core/formats/onnx/read/tensors/dtypes.h"
#include "core/formats/onnx/read/tensors/tensor_data.h"

namespace normlens::formats::onnx {
namespace {

using float64::Array;
using float64::Shape;

// Exceptions end at the runtime's door.
template <class F>
OrtStatusPtr guarded(F&& f) {
  try {
    f();
    return nullptr;
  } catch (const std::exception& error) {
    return Ort::Status(error.what(), ORT_FAIL).release();
  }
}

class KernelAttributes final : public float64::Attributes {
 public:
  explicit KernelAttributes(const OrtKernelInfo* info) : info_(info) {}

  [[nodiscard]] int64_t integer(const char* name, int64_t otherwise) const override {
    int64_t value = 0;
    return found(Ort::GetApi().KernelInfoGetAttribute_int64(info_, name, &value)) ? value : otherwise;
  }
  [[nodiscard]] double number(const char* name, double otherwise) const override {
    float value = 0;
    return found(Ort::GetApi().KernelInfoGetAttribute_float(info_, name, &value)) ? static_cast<double>(value)
                                                                                  : otherwise;
  }
  [[nodiscard]] std::string text(const char* name, const std::string& otherwise) const override {
    size_t size = 0;
    if (!found(Ort::GetApi().KernelInfoGetAttribute_string(info_, name, nullptr, &size))) return otherwise;
    std::string value(size, '\0');
    if (!found(Ort::GetApi().KernelInfoGetAttribute_string(info_, name, value.data(), &size))) return otherwise;
    value.resize(std::strlen(value.c_str()));
    return value;
  }
  [[nodiscard]] std::vector<int64_t> integers(const char* name) const override {
    size_t size = 0;
    if (!found(Ort::GetApi().KernelInfoGetAttributeArray_int64(info_, name, nullptr, &size))) return {};
    std::vector<int64_t> values(size);
    found(Ort::GetApi().KernelInfoGetAttributeArray_int64(info_, name, values.data(), &size));
    return values;
  }
  [[nodiscard]] std::vector<double> numbers(const char* name) const override {
    size_t size = 0;
    if (!found(Ort::GetApi().KernelInfoGetAttributeArray_float(info_, name, nullptr, &size))) return {};
    std::vector<float> values(size);
    found(Ort::GetApi().KernelInfoGetAttributeArray_float(info_, name, values.data(), &size));
    return {values.begin(), values.end()};
  }
  // The runtime has no call for lists of strings: they are handed over as one, joined by commas.
  [[nodiscard]] std::vector<std::string> texts(const char* name) const override {
    const std::string joined = text(name, "");
    std::vector<std::string> values;
    for (size_t begin = 0; begin < joined.size();) {
      const size_t end = std::min(joined.find(',', begin), joined.size());
      values.push_back(joined.substr(begin, end - begin));
      begin = end + 1;
    }
    return values;
  }

 private:
  static bool found(OrtStatus* status) {
    if (!status) return true;
    Ort::GetApi().ReleaseStatus(status);
    return false;
  }
  const OrtKernelInfo* info_;
};

template <class T>
std::vector<int64_t> widened(const T* data, size_t count) {
  return {data, data + count};
}

class KernelCall final : public float64::Call {
 public:
  KernelCall(OrtKernelContext* context, const float64::KernelRow& row) : context_(context), row_(row) {}

  [[nodiscard]] bool has(size_t input) const override {
    return input < context_.GetInputCount() && context_.GetInput(input) != nullptr;
  }
  [[nodiscard]] Array array(size_t input) const override {
    const auto value = valueOf(input);
    const auto info = value.GetTensorTypeAndShapeInfo();
    if (info.GetElementType() != ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE)
      throw std::runtime_error("an input that is not double");
    return {value.GetTensorData<double>(), info.GetShape()};
  }
  [[nodiscard]] Shape shapeOf(size_t input) const override {
    return valueOf(input).GetTensorTypeAndShapeInfo().GetShape();
  }
  [[nodiscard]] bool isFloat(size_t input) const override {
    return valueOf(input).GetTensorTypeAndShapeInfo().GetElementType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
  }
  [[nodiscard]] std::vector<int64_t> integers(size_t input) const override {
    const auto value = valueOf(input);
    const auto info = value.GetTensorTypeAndShapeInfo();
    const size_t count = info.GetElementCount();
    switch (info.GetElementType()) {
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
        return widened(value.GetTensorData<int64_t>(), count);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
        return widened(value.GetTensorData<int32_t>(), count);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
        return widened(value.GetTensorData<int16_t>(), count);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
        return widened(value.GetTensorData<int8_t>(), count);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
        return widened(value.GetTensorData<uint8_t>(), count);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
        return widened(value.GetTensorData<bool>(), count);
      default:
        throw std::runtime_error("an input that is not an integer");
    }
  }
  [[nodiscard]] bool wants(size_t output) const override {
    // The runtime says so only by giving no memory; asking with an empty shape would fix the shape. Trailing outputs
    // that are not wanted are not written in the node, others are always made.
    return output < context_.GetOutputCount();
  }
  double* output(size_t output, const Shape& shape) override { return made<double>(output, shape); }
  int32_t* output32(size_t output, const Shape& shape) override { return made<int32_t>(output, shape); }
  int64_t* output64(size_t output, const Shape& shape) override { return made<int64_t>(output, shape); }
  void* outputBytes(size_t output, const Shape& shape) override { return made<uint8_t>(output, shape); }

  void parallel(int64_t count, const std::function<void(int64_t)>& body) override {
    if (count <= 0) return;
    struct Work {
      const std::function<void(int64_t)>& body;
      std::exception_ptr failed;
      std::mutex mutex;
    } work{body, nullptr, {}};
    context_.ParallelFor(
        [](void* data, size_t index) {
          auto& shared = *static_cast<Work*>(data);
          try {
            shared.body(static_cast<int64_t>(index));
          } catch (...) {
            const std::lock_guard lock(shared.mutex);
            shared.failed = std::current_exception();
          }
        },
        static_cast<size_t>(count), 0, &work);
    if (work.failed) std::rethrow_exception(work.failed);
  }

 private:
  [[nodiscard]] Ort::ConstValue valueOf(size_t input) const {
    if (!has(input)) throw std::runtime_error("an input that is missing");
    return context_.GetInput(input);
  }
  template <class T>
  T* made(size_t output, const Shape& shape) {
    auto value = context_.GetOutput(output, shape);
    if (value) return static_cast<T*>(value.GetTensorMutableRawData());
    // An optional output that nobody reads.
    auto& spare = spare_.emplace_back(static_cast<size_t>(float64::product(shape)) * sizeof(T) / sizeof(double) + 1);
    return reinterpret_cast<T*>(spare.data());
  }

  Ort::KernelContext context_;
  const float64::KernelRow& row_;
  std::vector<std::vector<double>> spare_;
};

bool mayBeMissing(char letter) { return std::isupper(static_cast<unsigned char>(letter)) != 0; }

ONNXTensorElementDataType typeFor(char letter) {
  switch (std::tolower(static_cast<unsigned char>(letter))) {
    case 'd':
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
    case 'b':
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
    case 'u':
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
    case 'i':
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
    case 'l':
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
    default:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  }
}

}  // namespace

OrtStatusPtr TapKernel::ComputeV2(OrtKernelContext* context) {
  return guarded([&] {
    const Ort::KernelContext call(context);
    const int64_t none = 0;
    *call.GetOutput(0, &none, 0).GetTensorMutableData<bool>() = true;
    if (!receiver_.sink || !*receiver_.sink) return;
    const auto value = call.GetInput(0);
    if (!value) return;  // an output that its operator leaves out
    const auto info = value.GetTensorTypeAndShapeInfo();
    graph::TensorView view;
    view.dtype = fromOnnxType(static_cast<int32_t>(info.GetElementType()));
    view.shape = info.GetShape();
    view.strides = denseStrides(view.shape);
    if (graph::dtypeBytes(view.dtype) > 0) view.data = static_cast<const std::byte*>(value.GetTensorRawData());
    const std::lock_guard lock(receiver_.one);
    (*receiver_.sink)(receiver_.sites->at(static_cast<size_t>(index_)), view);
  });
}

OrtStatusPtr TapOp::CreateKernelV2(const OrtApi&, const OrtKernelInfo* info, void** kernel) const {
  return guarded([&] { *kernel = new TapKernel(receiver_, KernelAttributes(info).integer(kTapIndex, 0)); });
}

OrtStatusPtr DoubleKernel::ComputeV2(OrtKernelContext* context) {
  return guarded([&] {
    try {
      KernelCall call(context, row_);
      kernel_(call);
    } catch (const std::exception& error) {
      throw std::runtime_error(std::string(row_.name) + ": " + error.what());
    }
  });
}

size_t DoubleOp::GetInputTypeCount() const { return std::strlen(row_.inputs); }
ONNXTensorElementDataType DoubleOp::GetInputType(size_t index) const { return typeFor(row_.inputs[index]); }
OrtCustomOpInputOutputCharacteristic DoubleOp::GetInputCharacteristic(size_t index) const {
  return mayBeMissing(row_.inputs[index]) ? INPUT_OUTPUT_OPTIONAL : INPUT_OUTPUT_REQUIRED;
}
size_t DoubleOp::GetOutputTypeCount() const { return std::strlen(row_.outputs); }
ONNXTensorElementDataType DoubleOp::GetOutputType(size_t index) const { return typeFor(row_.outputs[index]); }
OrtCustomOpInputOutputCharacteristic DoubleOp::GetOutputCharacteristic(size_t index) const {
  return mayBeMissing(row_.outputs[index]) ? INPUT_OUTPUT_OPTIONAL : INPUT_OUTPUT_REQUIRED;
}

OrtStatusPtr DoubleOp::CreateKernelV2(const OrtApi&, const OrtKernelInfo* info, void** kernel) const {
  return guarded([&] { *kernel = new DoubleKernel(row_, row_.make(KernelAttributes(info))); });
}

OwnOps::OwnOps() {
  for (const auto rows : float64::allKernels()) {
    for (const float64::KernelRow& row : rows) kernels_.emplace_back(row);
  }
  domains_.emplace_back(kTapDomain);
  domains_.back().Add(&tap_);
  domains_.emplace_back(kFloat64Domain);
  for (const DoubleOp& op : kernels_) domains_.back().Add(&op);
}

void OwnOps::addTo(Ort::SessionOptions& options) {
  for (const auto& domain : domains_) options.Add(domain);
}

}  // namespace normlens::formats::onnx

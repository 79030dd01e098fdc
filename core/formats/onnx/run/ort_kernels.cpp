#include "core/formats/onnx/run/ort_kernels.h"

#include <cctype>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <sstream>

#include "core/formats/onnx/float64/float64_ops.h"
#include "core/formats/onnx/float64/kernel.h"
#include "core/formats/onnx/run/ort_values.h"

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
    return given([&] { return info_.GetAttribute<int64_t>(name); }, otherwise);
  }
  [[nodiscard]] double number(const char* name, double otherwise) const override {
    return given([&] { return static_cast<double>(info_.GetAttribute<float>(name)); }, otherwise);
  }
  [[nodiscard]] std::string text(const char* name, const std::string& otherwise) const override {
    return given([&] { return info_.GetAttribute<std::string>(name); }, otherwise);
  }
  [[nodiscard]] std::vector<int64_t> integers(const char* name) const override {
    return given([&] { return info_.GetAttributes<int64_t>(name); }, std::vector<int64_t>());
  }
  [[nodiscard]] std::vector<double> numbers(const char* name) const override {
    const auto values = given([&] { return info_.GetAttributes<float>(name); }, std::vector<float>());
    return {values.begin(), values.end()};
  }
  // The runtime has no call for lists of strings: they are handed over as one, joined by commas.
  [[nodiscard]] std::vector<std::string> texts(const char* name) const override {
    std::vector<std::string> values;
    std::istringstream joined(text(name, ""));
    for (std::string value; std::getline(joined, value, ',');) values.push_back(value);
    return values;
  }

 private:
  // The runtime's way to report that an attribute is missing is an exception.
  template <class Read, class Value>
  static Value given(const Read& read, Value otherwise) {
    try {
      return read();
    } catch (const Ort::Exception&) {
      return otherwise;
    }
  }
  Ort::ConstKernelInfo info_;
};

class KernelCall final : public float64::Call {
 public:
  explicit KernelCall(OrtKernelContext* context) : context_(context) {}

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
  [[nodiscard]] std::vector<int64_t> integers(size_t input) const override {
    const graph::TensorView view = viewOf(valueOf(input));
    const auto numbers = graph::isFloat(view.dtype) ? std::nullopt : graph::toDoubles(view);
    if (!numbers) throw std::runtime_error("an input that is not an integer");
    return {numbers->begin(), numbers->end()};
  }
  [[nodiscard]] bool wants(size_t output) const override {
    // The runtime shows it only by giving no memory; a call with an empty shape would fix the shape. Trailing outputs
    // that are not wanted are not written in the node, others are always made.
    return output < context_.GetOutputCount();
  }
  double* output(size_t output, const Shape& shape) override { return made<double>(output, shape); }
  int32_t* output32(size_t output, const Shape& shape) override { return made<int32_t>(output, shape); }
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
  std::vector<std::vector<double>> spare_;
};

// Taps read any value, and the tap before them.
// NOLINTBEGIN(readability-identifier-naming, readability-convert-member-functions-to-static): ONNX Runtime's names and
// forms
class TapKernel {
 public:
  TapKernel(const TapReceiver& receiver, int64_t index) : receiver_(receiver), index_(index) {}

  OrtStatusPtr ComputeV2(OrtKernelContext* context) {
    return guarded([&] {
      const Ort::KernelContext call(context);
      const int64_t none = 0;
      *call.GetOutput(0, &none, 0).GetTensorMutableData<bool>() = true;
      if (!receiver_.sink || !*receiver_.sink) return;
      const auto value = call.GetInput(0);
      if (!value) return;  // an output that its operator leaves out
      const std::lock_guard lock(receiver_.one);
      (*receiver_.sink)(receiver_.sites->at(static_cast<size_t>(index_)), viewOf(value));
    });
  }

 private:
  const TapReceiver& receiver_;
  int64_t index_;
};

class TapOp : public Ort::CustomOpBase<TapOp, TapKernel, true> {
 public:
  explicit TapOp(const TapReceiver& receiver) : receiver_(receiver) {}
  [[nodiscard]] const char* GetName() const { return kTapOp; }
  [[nodiscard]] size_t GetInputTypeCount() const { return 2; }
  [[nodiscard]] ONNXTensorElementDataType GetInputType(size_t index) const {
    return index == 0 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED : ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
  }
  [[nodiscard]] OrtCustomOpInputOutputCharacteristic GetInputCharacteristic(size_t index) const {
    return index == 0 ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
  }
  [[nodiscard]] size_t GetOutputTypeCount() const { return 1; }
  [[nodiscard]] ONNXTensorElementDataType GetOutputType(size_t) const { return ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL; }
  OrtStatusPtr CreateKernelV2(const OrtApi&, const OrtKernelInfo* info, void** kernel) const {
    return guarded([&] { *kernel = new TapKernel(receiver_, KernelAttributes(info).integer(kTapIndex, 0)); });
  }

 private:
  const TapReceiver& receiver_;
};

class DoubleKernel {
 public:
  DoubleKernel(const float64::KernelRow& row, float64::Kernel kernel) : row_(row), kernel_(std::move(kernel)) {}

  OrtStatusPtr ComputeV2(OrtKernelContext* context) {
    return guarded([&] {
      try {
        KernelCall call(context);
        kernel_(call);
      } catch (const std::exception& error) {
        throw std::runtime_error(std::string(row_.name) + ": " + error.what());
      }
    });
  }

 private:
  const float64::KernelRow& row_;
  float64::Kernel kernel_;
};

// ONNX's and ONNX Runtime's element types have the same numbers.
ONNXTensorElementDataType typeFor(char letter) { return static_cast<ONNXTensorElementDataType>(elementType(letter)); }

OrtCustomOpInputOutputCharacteristic presenceFor(char letter) {
  return std::isupper(static_cast<unsigned char>(letter)) != 0 ? INPUT_OUTPUT_OPTIONAL : INPUT_OUTPUT_REQUIRED;
}

class DoubleOp : public Ort::CustomOpBase<DoubleOp, DoubleKernel, true> {
 public:
  explicit DoubleOp(const float64::KernelRow& row) : row_(row) {}
  [[nodiscard]] const char* GetName() const { return row_.name; }
  [[nodiscard]] size_t GetInputTypeCount() const { return std::strlen(row_.inputs); }
  [[nodiscard]] ONNXTensorElementDataType GetInputType(size_t index) const { return typeFor(row_.inputs[index]); }
  [[nodiscard]] OrtCustomOpInputOutputCharacteristic GetInputCharacteristic(size_t index) const {
    return presenceFor(row_.inputs[index]);
  }
  [[nodiscard]] size_t GetOutputTypeCount() const { return std::strlen(row_.outputs); }
  [[nodiscard]] ONNXTensorElementDataType GetOutputType(size_t index) const { return typeFor(row_.outputs[index]); }
  [[nodiscard]] OrtCustomOpInputOutputCharacteristic GetOutputCharacteristic(size_t index) const {
    return presenceFor(row_.outputs[index]);
  }
  OrtStatusPtr CreateKernelV2(const OrtApi&, const OrtKernelInfo* info, void** kernel) const {
    return guarded([&] { *kernel = new DoubleKernel(row_, row_.make(KernelAttributes(info))); });
  }

 private:
  const float64::KernelRow& row_;
};
// NOLINTEND(readability-identifier-naming, readability-convert-member-functions-to-static)

}  // namespace

OwnOps::OwnOps() {
  add(kTapDomain, {std::make_shared<TapOp>(receiver_)});
  std::vector<std::shared_ptr<const OrtCustomOp>> kernels;
  for (const auto rows : float64::allKernels()) {
    for (const float64::KernelRow& row : rows) kernels.push_back(std::make_shared<DoubleOp>(row));
  }
  add(kFloat64Domain, kernels);
}

void OwnOps::add(const char* domain, const std::vector<std::shared_ptr<const OrtCustomOp>>& ops) {
  domains_.emplace_back(domain);
  for (const auto& op : ops) domains_.back().Add(op.get());
  ops_.insert(ops_.end(), ops.begin(), ops.end());
}

void OwnOps::addTo(Ort::SessionOptions& options) {
  for (const auto& domain : domains_) options.Add(domain);
}

}  // namespace normlens::formats::onnx

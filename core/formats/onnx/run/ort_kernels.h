// Our operators as ONNX Runtime wants them: taps, and kernels in double. Private to formats/onnx; only where ONNX
// Runtime is there.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "core/formats/onnx/float64/kernel.h"
#include "core/formats/onnx/run/session.h"

namespace normlens::formats::onnx {

// Whom the taps of one session tell; set while it runs.
struct TapReceiver {
  const std::vector<TapSite>* sites = nullptr;
  const TapSink* sink = nullptr;
  mutable std::mutex one{};  // the runtime may run two bodies at a time
};

class TapKernel {
 public:
  TapKernel(const TapReceiver& receiver, int64_t index) : receiver_(receiver), index_(index) {}
  OrtStatusPtr ComputeV2(OrtKernelContext* context);

 private:
  const TapReceiver& receiver_;
  int64_t index_;
};

class TapOp : public Ort::CustomOpBase<TapOp, TapKernel, true> {
 public:
  explicit TapOp(const TapReceiver& receiver) : receiver_(receiver) {}
  [[nodiscard]] const char* GetName() const { return kTapOp; }
  // The value, and the tap before this one.
  [[nodiscard]] size_t GetInputTypeCount() const { return 2; }
  [[nodiscard]] ONNXTensorElementDataType GetInputType(size_t index) const {
    return index == 0 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED : ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
  }
  [[nodiscard]] OrtCustomOpInputOutputCharacteristic GetInputCharacteristic(size_t index) const {
    return index == 0 ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
  }
  [[nodiscard]] size_t GetOutputTypeCount() const { return 1; }
  [[nodiscard]] ONNXTensorElementDataType GetOutputType(size_t) const { return ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL; }
  OrtStatusPtr CreateKernelV2(const OrtApi& api, const OrtKernelInfo* info, void** kernel) const;

 private:
  const TapReceiver& receiver_;
};

class DoubleKernel {
 public:
  DoubleKernel(const float64::KernelRow& row, float64::Kernel kernel) : row_(row), kernel_(std::move(kernel)) {}
  OrtStatusPtr ComputeV2(OrtKernelContext* context);

 private:
  const float64::KernelRow& row_;
  float64::Kernel kernel_;
};

class DoubleOp : public Ort::CustomOpBase<DoubleOp, DoubleKernel, true> {
 public:
  explicit DoubleOp(const float64::KernelRow& row) : row_(row) {}
  [[nodiscard]] const char* GetName() const { return row_.name; }
  [[nodiscard]] size_t GetInputTypeCount() const;
  [[nodiscard]] ONNXTensorElementDataType GetInputType(size_t index) const;
  [[nodiscard]] OrtCustomOpInputOutputCharacteristic GetInputCharacteristic(size_t index) const;
  [[nodiscard]] size_t GetOutputTypeCount() const;
  [[nodiscard]] ONNXTensorElementDataType GetOutputType(size_t index) const;
  [[nodiscard]] OrtCustomOpInputOutputCharacteristic GetOutputCharacteristic(size_t index) const;
  OrtStatusPtr CreateKernelV2(const OrtApi& api, const OrtKernelInfo* info, void** kernel) const;

 private:
  const float64::KernelRow& row_;
};

// The operators of one session, in the domains that its nodes name. Outlives the session.
class OwnOps {
 public:
  OwnOps();
  OwnOps(const OwnOps&) = delete;
  OwnOps& operator=(const OwnOps&) = delete;
  void addTo(Ort::SessionOptions& options);
  [[nodiscard]] TapReceiver& receiver() { return receiver_; }

 private:
  TapReceiver receiver_;
  TapOp tap_{receiver_};
  std::deque<DoubleOp> kernels_;
  std::vector<Ort::CustomOpDomain> domains_;
};

}  // namespace normlens::formats::onnx

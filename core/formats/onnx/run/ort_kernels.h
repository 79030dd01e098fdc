// Our operators as ONNX Runtime wants them: taps, and kernels in double. Private to formats/onnx; only where ONNX
// Runtime is there.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <memory>
#include <mutex>
#include <vector>

#include "core/formats/onnx/run/session.h"

namespace normlens::formats::onnx {

// Names the receiver of what the taps of one session read; set while it runs.
struct TapReceiver {
  const std::vector<TapSite>* sites = nullptr;
  const TapSink* sink = nullptr;
  mutable std::mutex one{};  // the runtime may run two bodies at a time
};

// The operators of one session, in the domains that its nodes name. Outlives the session.
class OwnOps {
 public:
  OwnOps();
  OwnOps(const OwnOps&) = delete;
  OwnOps& operator=(const OwnOps&) = delete;
  ~OwnOps() = default;
  void addTo(Ort::SessionOptions& options);
  [[nodiscard]] TapReceiver& receiver() { return receiver_; }

 private:
  void add(const char* domain, const std::vector<std::shared_ptr<const OrtCustomOp>>& ops);

  TapReceiver receiver_;
  std::vector<std::shared_ptr<const OrtCustomOp>> ops_;  // that the domains point to
  std::vector<Ort::CustomOpDomain> domains_;
};

}  // namespace normlens::formats::onnx

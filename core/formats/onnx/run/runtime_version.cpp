#include <algorithm>

#include "core/formats/onnx/read/open.h"

#ifdef NORMLENS_HAVE_ONNXRUNTIME
#include <onnxruntime_cxx_api.h>
#endif

namespace normlens::formats::onnx {

std::string runtimeVersion() {
#ifdef NORMLENS_HAVE_ONNXRUNTIME
  return Ort::GetVersionString();
#else
  return {};
#endif
}

std::vector<std::string> runtimeProviders() {
#ifdef NORMLENS_HAVE_ONNXRUNTIME
  return Ort::GetAvailableProviders();
#else
  return {};
#endif
}

bool runtimeHasCuda() { return std::ranges::count(runtimeProviders(), "CUDAExecutionProvider") > 0; }

}  // namespace normlens::formats::onnx

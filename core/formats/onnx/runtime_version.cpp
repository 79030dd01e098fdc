#include "core/formats/onnx/open.h"

#ifdef NORMLENS_HAVE_ONNXRUNTIME
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#endif

namespace normlens::formats::onnx {

std::string runtimeVersion() {
#ifdef NORMLENS_HAVE_ONNXRUNTIME
  return Ort::GetVersionString();
#else
  return {};
#endif
}

bool runtimeHasCuda() {
#ifdef NORMLENS_HAVE_ONNXRUNTIME
  return std::ranges::count(Ort::GetAvailableProviders(), "CUDAExecutionProvider") > 0;
#else
  return false;
#endif
}

}  // namespace normlens::formats::onnx

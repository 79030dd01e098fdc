#include "core/formats/onnx/open.h"

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

}  // namespace normlens::formats::onnx

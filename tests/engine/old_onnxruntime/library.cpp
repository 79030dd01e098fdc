// A stand-in for an ONNX Runtime that is older than the headers that the engine is built with (test_moved.py).
#include <cstdint>

namespace {

struct Base {  // as OrtApiBase in onnxruntime_c_api.h
  const void* (*api)(uint32_t version);
  const char* (*version)();
};
constexpr Base kBase{[](uint32_t) -> const void* { return nullptr; }, [] { return "1.20.1"; }};

}  // namespace

extern "C" const Base* OrtGetApiBase() { return &kBase; }  // NOLINT(readability-identifier-naming)

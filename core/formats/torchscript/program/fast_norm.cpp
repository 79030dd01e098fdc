#include "core/formats/torchscript/program/fast_norm.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <mutex>

#include "core/base/library/own_library.h"

namespace normlens::formats::torchscript {
namespace {

bool registered() { return !torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString("normlens::rms_norm")).empty(); }

}  // namespace

bool fastNormAvailable() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (!registered()) static_cast<void>(loadOwnLibrary(kOpsLibrary, /*global=*/true));
  });
  return registered();
}

}  // namespace normlens::formats::torchscript

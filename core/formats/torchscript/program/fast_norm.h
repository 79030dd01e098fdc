// The custom operator normlens::rms_norm of libnormlens_ops.so. Private to formats/torchscript.
#pragma once

namespace normlens::formats::torchscript {

// The operator can be called in this process: loads the library from beside the program if that has not been done yet.
// False where there is none. Thread: any.
[[nodiscard]] bool fastNormAvailable();

}  // namespace normlens::formats::torchscript

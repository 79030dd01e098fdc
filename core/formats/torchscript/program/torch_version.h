// The LibTorch that this engine was built with.
#pragma once

#include <string>

namespace normlens::formats::torchscript {

[[nodiscard]] std::string torchVersion();  // "2.15.0+cu132"

}  // namespace normlens::formats::torchscript

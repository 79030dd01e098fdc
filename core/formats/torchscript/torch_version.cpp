#include "core/formats/torchscript/torch_version.h"

#include <torch/version.h>

namespace normlens::formats::torchscript {

std::string torchVersion() { return TORCH_VERSION; }

}  // namespace normlens::formats::torchscript

#include "core/formats/torchscript/program/torch_version.h"

#include <torch/version.h>

namespace normlens::formats::torchscript {

std::string torchVersion() { return TORCH_VERSION; }

}  // namespace normlens::formats::torchscript

// A checked archive -> torch's module. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/script.h>

#include <memory>

#include "core/base/result.h"
#include "core/formats/torchscript/program/module_source.h"

namespace normlens::formats::torchscript {

struct LoadedModule {
  ModuleSource source;
  bool wasTraining = false;
};

// Loads onto the CPU from the mapped file and puts the module in eval mode. Extra files of up to 64 MiB are kept.
// Forbidden ops in the code that torch runs by itself as it loads are not run (forbidden_ops.h); `strict`: see
// OpenChoice. Errors: Unreadable with torch's own reason on one line; Unsupported for what is not run.
[[nodiscard]] Result<LoadedModule> loadModule(const std::shared_ptr<const Archive>& archive, bool strict = false);

}  // namespace normlens::formats::torchscript

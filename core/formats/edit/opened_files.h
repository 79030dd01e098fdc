// The files that a model's weights lie in. Thread: any.
#pragma once

#include <memory>
#include <vector>

#include "core/fold/edited_weight.h"
#include "core/formats/file/mapped_file.h"

namespace normlens::formats {

using OpenedFiles = std::vector<std::shared_ptr<const MappedFile>>;

// Releases the memory that a weight was computed from, which nobody reads for now.
inline void letGoOfOrigins(const fold::EditedWeight& weight, const OpenedFiles& files) {
  for (const auto& origin : weight.origins()) {
    const auto bytes = static_cast<size_t>(graph::byteCount(origin));
    for (const auto& file : files) {
      if (file && origin.data != nullptr) file->letGo({origin.data, bytes});
    }
  }
}

}  // namespace normlens::formats

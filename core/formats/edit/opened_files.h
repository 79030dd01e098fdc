// The files that a model's weights lie in. Thread: any.
#pragma once

#include <memory>
#include <vector>

#include "core/fold/edited_weight.h"
#include "core/formats/file/mapped_file.h"

namespace normlens::formats {

using OpenedFiles = std::vector<std::shared_ptr<const MappedFile>>;

// Releases the memory of a tensor that nobody reads for now, as far as it lies in one of the files.
inline void letGo(const graph::TensorView& tensor, const OpenedFiles& files) {
  const auto bytes = static_cast<size_t>(graph::byteCount(tensor));
  for (const auto& file : files) {
    if (file && tensor.data != nullptr) file->letGo({tensor.data, bytes});
  }
}

// Alike, of all that a weight was computed from.
inline void letGoOfOrigins(const fold::EditedWeight& weight, const OpenedFiles& files) {
  for (const auto& origin : weight.origins()) letGo(origin, files);
}

}  // namespace normlens::formats

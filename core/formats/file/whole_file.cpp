#include "core/formats/file/whole_file.h"

#include "core/formats/file/atomic_file.h"

namespace normlens::formats {

Status writeWhole(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  auto file = AtomicFile::create(path, bytes.size());
  if (!file) return tl::unexpected(file.error());
  if (auto status = file->writeAt(0, bytes); !status) return status;
  return file->commit();
}

}  // namespace normlens::formats

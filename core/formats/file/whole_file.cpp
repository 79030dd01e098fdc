#include "core/formats/file/whole_file.h"

#include "core/formats/file/atomic_file.h"

namespace normlens::formats {

Status writeWhole(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  ASSIGN_OR_RETURN(auto file, AtomicFile::create(path, bytes.size()));
  RETURN_IF_ERROR(file.writeAt(0, bytes));
  return file.commit();
}

}  // namespace normlens::formats

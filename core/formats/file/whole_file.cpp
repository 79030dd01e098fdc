#include "core/formats/file/whole_file.h"

#include <span>

#include "core/formats/file/atomic_file.h"

namespace normlens::formats {

Status writeWhole(const std::filesystem::path& path, std::string_view bytes) {
  ASSIGN_OR_RETURN(auto file, AtomicFile::create(path, bytes.size()));
  RETURN_IF_ERROR(file.writeAt(0, std::as_bytes(std::span(bytes))));
  return file.commit();
}

}  // namespace normlens::formats

#include "core/service/text_file.h"

#include <span>

#include "core/formats/file/atomic_file.h"

namespace normlens::service {

Status writeText(const std::filesystem::path& path, const std::string& text) {
  auto file = formats::AtomicFile::create(path, text.size());
  if (!file) return tl::unexpected(file.error());
  if (auto status = file->writeAt(0, std::as_bytes(std::span(text))); !status) return status;
  return file->commit();
}

}  // namespace normlens::service

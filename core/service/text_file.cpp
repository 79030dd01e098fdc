#include "core/service/text_file.h"

#include <span>

#include "core/formats/file/whole_file.h"

namespace normlens::service {

Status writeText(const std::filesystem::path& path, const std::string& text) {
  return formats::writeWhole(path, std::as_bytes(std::span(text)));
}

}  // namespace normlens::service

// Archives of torch 2.5 to 2.8 as those of torch 2.9: the same bytes of the same file under the names that 2.9 gives
// them, with the tables that 2.9 writes. Their tensors lie in a zip of torch.save inside the zip, whose pickle is
// scanned and never unpickled. No torch here.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "core/formats/archive/archive_reader.h"
#include "core/formats/pt2/file/program_file.h"

namespace normlens::formats::pt2 {

struct LegacyProgram {
  std::shared_ptr<const Archive> archive;  // not as it is in the file
  ProgramFile file;
};

// container: Flat or Pickled. Errors: Unreadable, Unsupported.
[[nodiscard]] Result<LegacyProgram> readLegacyProgram(const std::shared_ptr<const Archive>& container);

// Lists what torch.export.load wants of an archive beside the model: names without their folder, and contents.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kContainerRecords{
    {{"archive_format", "pt2"}, {"archive_version", "0"}, {"byteorder", "little"}, {".data/version", "6\n"}}};

}  // namespace normlens::formats::pt2

#include "core/run/inputs/npz.h"

#include <algorithm>
#include <limits>

#include "core/base/printable.h"
#include "core/formats/archive/archive_reader.h"
#include "core/formats/file/crc32.h"
#include "core/run/inputs/npy.h"

namespace normlens::run {
namespace {

tl::unexpected<Error> refused(const std::filesystem::path& path, ErrorCode code, const std::string& why) {
  return fail(code, "cannot read the arrays of " + path.string() + ": " + printable(why),
              "save them with numpy.savez(file, in_0=..., in_1=...)");
}

bool startsWith(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin(),
                                                    [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
}

std::string arrayName(const std::string& entry) {
  constexpr std::string_view kSuffix = ".npy";
  return entry.ends_with(kSuffix) ? entry.substr(0, entry.size() - kSuffix.size()) : entry;
}

Result<graph::TensorView> readRecord(const formats::Archive& archive, const formats::ZipRecord& record) {
  const auto& path = archive.file().path();
  const auto content = archive.read(record, std::numeric_limits<uint64_t>::max());
  if (!content) return refused(path, content.error().code, content.error().message);
  const auto bytes = std::as_bytes(std::span(*content));
  if (formats::crcOf(0, bytes.data(), bytes.size()) != record.crc) {
    return refused(path, ErrorCode::Unreadable, "record '" + record.name + "' is damaged (checksum)");
  }
  auto view = parseNpy(bytes);
  if (view) return view;
  return refused(path, view.error().code, "array '" + arrayName(record.name) + "': " + view.error().message);
}

}  // namespace

Result<ReadableArrays> readWhatCanBeRead(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(auto file, formats::MappedFile::open(path));
  const auto bytes = file->bytes();
  if (startsWith(bytes, "\x93NUMPY")) {
    const auto view = parseNpy(bytes);
    if (!view) return refused(path, view.error().code, view.error().message);
    return ReadableArrays{{{"in_0", *view}}, {}};
  }
  if (!startsWith(bytes, "PK")) return refused(path, ErrorCode::Unreadable, "it is neither an .npz nor an .npy file");
  ASSIGN_OR_RETURN(const auto archive, formats::Archive::open(file));
  ReadableArrays read;
  for (const formats::ZipRecord& record : archive->records()) {
    const std::string name = arrayName(record.name);
    const auto view = readRecord(*archive, record);
    if (!view) read.unreadable.emplace(name, view.error());
    read.arrays.push_back({name, view.value_or(graph::TensorView{})});
  }
  return read;
}

}  // namespace normlens::run

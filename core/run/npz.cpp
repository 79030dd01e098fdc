#include "core/run/npz.h"

#include <algorithm>
#include <fstream>
#include <system_error>

#include "core/base/printable.h"
#include "core/formats/file/mapped_file.h"
#include "core/run/npy.h"
#include "core/run/zip_archive.h"

namespace normlens::run {
namespace {

tl::unexpected<Error> about(const std::filesystem::path& path, const Error& error) {
  return fail(error.code, "cannot read the arrays of " + path.string() + ": " + printable(error.message),
              "save them with numpy.savez(file, in_0=..., in_1=...)");
}

Result<std::vector<std::byte>> readFile(const std::filesystem::path& path) {
  const auto file = formats::MappedFile::open(path);
  if (!file) return tl::unexpected(file.error());
  std::vector<std::byte> bytes((*file)->bytes().size());
  if ((*file)->readAt(0, bytes)) return bytes;
  return fail(ErrorCode::Unreadable, "the file " + path.string() + " cannot be read to its end");
}

bool startsWith(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin(),
                                                    [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
}

std::string arrayName(const std::string& entry) {
  constexpr std::string_view kSuffix = ".npy";
  return entry.ends_with(kSuffix) ? entry.substr(0, entry.size() - kSuffix.size()) : entry;
}

Result<graph::TensorView> readEntry(const std::filesystem::path& path, std::span<const std::byte> bytes,
                                    const ZipEntry& entry) {
  const auto unpacked = unpackZipEntry(bytes, entry);
  if (!unpacked) return about(path, unpacked.error());
  auto view = parseNpy(*unpacked);
  if (view) return view;
  return about(path, Error{view.error().code, "array '" + arrayName(entry.name) + "': " + view.error().message, {}});
}

}  // namespace

Result<ReadableArrays> readWhatCanBeRead(const std::filesystem::path& path) {
  const auto bytes = readFile(path);
  if (!bytes) return tl::unexpected(bytes.error());
  if (startsWith(*bytes, "\x93NUMPY")) {
    const auto view = parseNpy(*bytes);
    if (!view) return about(path, view.error());
    return ReadableArrays{{{"in_0", *view}}, {}};
  }
  if (!startsWith(*bytes, "PK")) {
    return about(path, Error{ErrorCode::Unreadable, "it is neither an .npz nor an .npy file", {}});
  }
  const auto entries = listZip(*bytes);
  if (!entries) return about(path, entries.error());
  ReadableArrays read;
  for (const ZipEntry& entry : *entries) {
    const std::string name = arrayName(entry.name);
    const auto view = readEntry(path, *bytes, entry);
    if (!view) read.unreadable.emplace(name, view.error());
    read.arrays.push_back({name, view.value_or(graph::TensorView{})});
  }
  return read;
}

Result<formats::Tensors> readArrays(const std::filesystem::path& path) {
  auto read = readWhatCanBeRead(path);
  if (!read) return tl::unexpected(read.error());
  for (const formats::NamedTensor& array : read->arrays) {
    const auto found = read->unreadable.find(array.name);
    if (found != read->unreadable.end()) return tl::unexpected(found->second);
  }
  return std::move(read->arrays);
}

Status writeNpz(const std::filesystem::path& path, const formats::Tensors& arrays) {
  ZipWriter zip;
  for (const formats::NamedTensor& array : arrays) {
    const auto npy = formatNpy(array.view);
    if (!npy) return tl::unexpected(npy.error());
    if (const Status added = zip.add(array.name + ".npy", *npy); !added) return added;
  }
  const std::vector<std::byte> bytes = std::move(zip).finish();
  const std::filesystem::path temporary = path.string() + ".part";
  {
    std::ofstream file(temporary, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.flush();
    if (!file) {
      std::error_code ignored;
      std::filesystem::remove(temporary, ignored);
      return fail(ErrorCode::WriteFailed, "the file " + path.string() + " cannot be written");
    }
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error)
    return fail(ErrorCode::WriteFailed, "the file " + path.string() + " cannot be written: " + error.message());
  return {};
}

}  // namespace normlens::run

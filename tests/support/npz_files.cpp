#include "tests/support/npz_files.h"

#include <deque>

#include "core/formats/archive/archive_writer.h"
#include "core/run/inputs/npy.h"
#include "core/run/inputs/npz.h"
#include "core/run/tensors.h"

namespace normlens::run {

Result<formats::Tensors> readArrays(const std::filesystem::path& path) {
  auto read = readWhatCanBeRead(path);
  if (!read) return tl::unexpected(read.error());
  for (const formats::NamedTensor& array : read->arrays) {
    const auto found = read->unreadable.find(array.name);
    if (found != read->unreadable.end()) return tl::unexpected(found->second);
  }
  return std::move(read->arrays);
}

Result<std::vector<std::byte>> formatNpy(const graph::TensorView& given) {
  const graph::TensorView view =
      given.dtype == graph::DType::BFloat16 ? castFloat(given, graph::DType::Float32) : given;
  const auto header = npyHeader(view.dtype, view.shape);
  if (!header) return tl::unexpected(header.error());
  auto data = denseBytes(view);
  if (!data) return data;
  std::vector<std::byte> file;
  file.reserve(header->size() + data->size());
  const auto* bytes = reinterpret_cast<const std::byte*>(header->data());
  file.insert(file.end(), bytes, bytes + header->size());
  file.insert(file.end(), data->begin(), data->end());
  return file;
}

Status writeNpz(const std::filesystem::path& path, const formats::Tensors& arrays) {
  std::deque<std::vector<std::byte>> contents;
  std::vector<formats::RecordToWrite> records;
  for (const formats::NamedTensor& array : arrays) {
    auto npy = formatNpy(array.view);
    if (!npy) return tl::unexpected(npy.error());
    const auto& content = contents.emplace_back(std::move(*npy));
    records.push_back({array.name + ".npy", formats::ZipMethod::Stored, content.size(), {content}, std::nullopt});
  }
  return formats::writeArchive(path, std::move(records), {}, {});
}

}  // namespace normlens::run

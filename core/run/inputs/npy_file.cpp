#include "core/run/inputs/npy_file.h"

#include "core/formats/file/atomic_file.h"
#include "core/run/tensor_parts.h"
#include "core/run/inputs/npy.h"
#include "core/run/tensors.h"

namespace normlens::run {
namespace {

constexpr int64_t kElementsAtATime = int64_t{1} << 20;

}  // namespace

Result<int64_t> writeNpyFile(const std::filesystem::path& path, const graph::TensorView& view, const Task& task) {
  const graph::DType written = view.dtype == graph::DType::BFloat16 ? graph::DType::Float32 : view.dtype;
  const auto header = npyHeader(written, view.shape);
  if (!header) return tl::unexpected(header.error());
  const int64_t count = graph::elementCount(view.shape).value_or(0);
  const uint64_t width = graph::dtypeBytes(written);
  const uint64_t size = header->size() + static_cast<uint64_t>(count) * width;
  auto file = formats::AtomicFile::create(path, size);
  if (!file) return tl::unexpected(file.error());
  if (auto status = file->writeAt(0, std::as_bytes(std::span(*header))); !status) return tl::unexpected(status.error());
  const auto status = forEachPart(view, kElementsAtATime, [&](int64_t first, const graph::TensorView& part) -> Status {
    task.report("writing " + path.filename().string(), static_cast<double>(first) / static_cast<double>(count));
    if (auto stopped = task.check(); !stopped) return stopped;
    const auto bytes = denseBytes(castFloat(part, written));
    if (!bytes) return tl::unexpected(bytes.error());
    return file->writeAt(header->size() + static_cast<uint64_t>(first) * width, *bytes);
  });
  if (!status) return tl::unexpected(status.error());
  if (auto committed = file->commit(); !committed) return tl::unexpected(committed.error());
  return static_cast<int64_t>(size);
}

}  // namespace normlens::run

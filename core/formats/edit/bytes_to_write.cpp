#include "core/formats/edit/bytes_to_write.h"

#include <optional>

#include "core/base/parallel.h"

namespace normlens::formats {
namespace {

constexpr size_t kWorthReading = size_t{64} << 10;  // less is mapped soon enough

}  // namespace

MakeBytes BytesToWrite::makerOf(std::span<const std::byte> bytes) const {
  if (const auto part = pending_ ? pending_->partAt(bytes) : std::nullopt) return computing(*part, bytes.size());
  if (bytes.size() < kWorthReading) return {};
  for (const auto& file : files_) {
    const auto offset = file ? file->offsetOf(bytes) : std::nullopt;
    if (!offset) continue;
    return [file, offset = *offset](uint64_t at, std::span<std::byte> out) -> Status {
      if (file->readAt(offset + at, out)) return {};
      return changedSinceOpened(file->path());
    };
  }
  return {};
}

MakeBytes BytesToWrite::computing(const fold::PendingWeights::Part& part, uint64_t size) const {
  // Everything that its blocks need is held from the first to the last of them.
  const auto blocks = std::make_shared<std::optional<fold::Blocks>>();
  return [part, size, blocks, kept = pending_, files = files_](uint64_t at, std::span<std::byte> out) -> Status {
    if (!*blocks) {
      ASSIGN_OR_RETURN(auto opened, part.weight->open(hardwareThreads()));
      *blocks = std::move(opened);
    }
    const auto first = (part.offset + at) / graph::dtypeBytes(part.weight->view().dtype);
    auto status = (**blocks)(static_cast<int64_t>(first), out);
    if (at + out.size() == size) {
      blocks->reset();
      letGoOfOrigins(*part.weight, files);
    }
    return status;
  };
}

}  // namespace normlens::formats

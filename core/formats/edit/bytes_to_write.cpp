#include "core/formats/edit/bytes_to_write.h"

#include <sys/stat.h>

#include <optional>

#include "core/base/parallel.h"
#include "core/formats/file/sha256.h"

namespace normlens::formats {
namespace {

constexpr size_t kWorthReading = size_t{64} << 10;  // less is mapped soon enough

// Which file it is, as it is now: its times cannot be set back. Empty where that is not as it was opened.
std::string stampOf(const MappedFile& file) {
  struct stat info {};
  if (::stat(file.path().c_str(), &info) != 0 || !file.untouched()) return {};
  std::string out;
  for (const auto part : {static_cast<int64_t>(info.st_dev), static_cast<int64_t>(info.st_ino), int64_t{info.st_size},
                          int64_t{info.st_mtim.tv_sec}, int64_t{info.st_mtim.tv_nsec}, int64_t{info.st_ctim.tv_sec},
                          int64_t{info.st_ctim.tv_nsec}})
    out += std::to_string(part) + ' ';
  return out;
}

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

std::string BytesToWrite::digestOf(std::span<const FilePiece> pieces,
                                   const std::map<std::string, std::string>& history) const {
  if (pending_ && !history.contains("normlens.plan")) return {};
  std::string all;
  for (const auto& [key, text] : history) all += key + ' ' + std::to_string(text.size()) + ' ' + text + '\n';
  for (const auto& file : files_) {
    const std::string stamp = file ? stampOf(*file) : "none";
    if (stamp.empty()) return {};
    all += stamp + '\n';
  }
  for (const FilePiece& piece : pieces) {
    all += std::to_string(piece.offset) + ' ' + std::to_string(piece.bytes.size()) + ' ' + originOf(piece.bytes) + '\n';
  }
  return sha256Hex(std::as_bytes(std::span(all)));
}

// Edited weights, computed by now or not, follow from the plan.
std::string BytesToWrite::originOf(std::span<const std::byte> bytes) const {
  if (pending_ && pending_->isAt(bytes.data())) return "edited";
  for (size_t i = 0; i < files_.size() && bytes.size() >= kWorthReading; ++i) {
    const auto offset = files_[i] ? files_[i]->offsetOf(bytes) : std::nullopt;
    if (offset) return "at " + std::to_string(*offset) + " of " + std::to_string(i);
  }
  return sha256Hex(bytes);
}

MakeBytes BytesToWrite::computing(const fold::PendingWeights::Part& part, uint64_t size) const {
  // What its blocks rest on is held from the first to the last of them.
  const auto blocks = std::make_shared<std::optional<fold::Blocks>>();
  return [part, size, blocks, kept = pending_, files = files_](uint64_t at, std::span<std::byte> out) -> Status {
    if (!*blocks) {
      auto opened = part.weight->open(hardwareThreads());
      if (!opened) return tl::unexpected(opened.error());
      *blocks = std::move(*opened);
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

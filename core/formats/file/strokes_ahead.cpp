#include "core/formats/file/strokes_ahead.h"

#include <algorithm>

#include "core/base/map_ahead.h"
#include "core/base/plain_error.h"

namespace normlens::formats {
namespace {

constexpr size_t kMadeBytes = size_t{1} << 20;       // stays in a cache until it is written
constexpr size_t kWorthMapping = size_t{256} << 10;  // less is mapped as it is written

}  // namespace

StrokesAhead::StrokesAhead(std::span<const FilePiece> pieces) {
  for (const FilePiece& piece : pieces) {
    const uint64_t most = piece.make ? kMadeBytes : kMapAheadBytes;
    for (uint64_t at = 0; at < piece.bytes.size(); at += most)
      parts_.push_back({&piece, at, std::min(most, piece.bytes.size() - at)});
    total_ += piece.bytes.size();
  }
  worker_ = std::thread([this] { run(); });
}

StrokesAhead::~StrokesAhead() {
  ended_ = true;
  limit_ = parts_.size() + kAhead;
  limit_.notify_one();
  worker_.join();
}

void StrokesAhead::run() {
  for (size_t part = 0; part < parts_.size(); ++part) {
    for (size_t limit = limit_; part >= limit; limit = limit_) limit_.wait(limit);
    if (ended_) return;
    try {
      made_[part % kAhead] = prepare(part);
    } catch (const std::exception& error) {
      made_[part % kAhead] = fail(ErrorCode::WriteFailed, "nothing was written: " + plainError(error));
    }
    prepared_ = part + 1;
    prepared_.notify_one();
  }
}

Status StrokesAhead::prepare(size_t part) {
  const auto& [piece, at, size] = parts_[part];
  auto& bytes = ready_[part % kAhead];
  if (piece->make) {
    auto& buffer = buffers_[part % kAhead];
    buffer.resize(size);
    bytes = buffer;
    if (auto status = piece->make(at, buffer); !status) return status;
  } else {
    bytes = piece->bytes.subspan(at, size);
    if (size >= kWorthMapping) mapAhead(bytes);
  }
  if (piece->see) piece->see(bytes);
  return {};
}

std::optional<Result<StrokesAhead::Stroke>> StrokesAhead::next() {
  if (taken_ == parts_.size()) return std::nullopt;
  const size_t part = taken_++;
  limit_ = part + kAhead;  // the buffer of the one before it is free
  limit_.notify_one();
  for (size_t prepared = prepared_; prepared <= part; prepared = prepared_) prepared_.wait(prepared);
  const size_t slot = part % kAhead;
  if (!made_[slot]) return Result<Stroke>(tl::unexpected(made_[slot].error()));
  return Result<Stroke>(Stroke{parts_[part].piece->offset + parts_[part].at, ready_[slot]});
}

}  // namespace normlens::formats

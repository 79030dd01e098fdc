#include "core/formats/file/strokes_ahead.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/map_ahead.h"
#include "core/base/plain_error.h"

namespace normlens::formats {
namespace {

constexpr size_t kMadeBytes = size_t{1} << 20;       // stays in a cache until it is written
constexpr size_t kWorthMapping = size_t{256} << 10;  // less is mapped as it is written

}  // namespace

Status readBack(int descriptor, uint64_t offset, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = ::pread(descriptor, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(ErrorCode::WriteFailed, "what an earlier fold has written cannot be read back");
    offset += static_cast<uint64_t>(got);
    into = into.subspan(static_cast<size_t>(got));
  }
  return {};
}

StrokesAhead::StrokesAhead(std::span<const FilePiece> pieces, Written written) : descriptor_(written.descriptor) {
  for (const FilePiece& piece : pieces) {
    const uint64_t there = std::min<uint64_t>(written.bytes, piece.bytes.size());
    written.bytes -= there;
    add(piece, there);
    total_ += piece.bytes.size();
  }
  worker_ = std::thread([this] { run(); });
}

void StrokesAhead::add(const FilePiece& piece, uint64_t there) {
  for (uint64_t at = piece.see ? 0 : there; at < piece.bytes.size();) {
    const bool written = at < there;
    const uint64_t most = written || piece.make ? kMadeBytes : kMapAheadBytes;
    const uint64_t size = std::min(most, (written ? there : piece.bytes.size()) - at);
    parts_.push_back({&piece, at, size, written});
    at += size;
  }
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
  const auto& [piece, at, size, there] = parts_[part];
  auto& bytes = ready_[part % kAhead];
  if (there || piece->make) {
    auto& buffer = buffers_[part % kAhead];
    buffer.resize(size);
    bytes = buffer;
    if (auto status = there ? readBack(descriptor_, piece->offset + at, buffer) : piece->make(at, buffer); !status)
      return status;
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
  return Result<Stroke>(Stroke{parts_[part].piece->offset + parts_[part].at, ready_[slot], parts_[part].there});
}

}  // namespace normlens::formats

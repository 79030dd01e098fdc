#include "core/formats/file/kept_part.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "core/formats/file/crc32.h"
#include "core/formats/file/sha256.h"

namespace normlens::formats {
namespace {

constexpr uint64_t kPlace = 4096;                         // a place for a record: a page
constexpr uint64_t kRecordedEvery = uint64_t{128} << 20;  // bytes: what is lost at most, against a flush of the disk
constexpr std::array kMark{'N', 'L', 'p', 'a', 'r', 't', '0', '2'};

using Digest = std::array<char, 64>;

struct Record {
  std::array<char, kMark.size()> mark = kMark;
  Digest digest{};
  uint64_t size = 0, written = 0, sumOfWritten = 0, turn = 0;
  Digest sum{};  // of all that is before it

  [[nodiscard]] Digest sumOfRest() const {
    Digest out{};
    const auto rest = std::as_bytes(std::span(this, 1)).first(offsetof(Record, sum));
    const std::string hex = sha256Hex(rest);
    std::memcpy(out.data(), hex.data(), std::min(hex.size(), out.size()));
    return out;
  }
};

uint64_t placesAt(uint64_t size) { return (size + kPlace - 1) / kPlace * kPlace; }

}  // namespace

KeptPart::KeptPart(int descriptor, uint64_t size, std::string digest)
    : descriptor_(descriptor), size_(size), digest_(std::move(digest)) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0 || static_cast<uint64_t>(info.st_size) != end()) return;
  for (const uint64_t place : {0, 1}) {
    Record record;
    const auto at = static_cast<off_t>(placesAt(size) + place * kPlace);
    if (::pread(descriptor, &record, sizeof record, at) != static_cast<ssize_t>(sizeof record)) continue;
    const bool whole = record.mark == kMark && record.sum == record.sumOfRest();
    const bool same = std::string_view(record.digest.data(), record.digest.size()) == digest_;
    if (!whole || !same || record.size != size || record.written > size || record.turn < turn_) continue;
    written_ = recorded_ = record.written;
    sum_ = static_cast<uint32_t>(record.sumOfWritten);
    turn_ = record.turn;
  }
}

uint64_t KeptPart::end() const { return placesAt(size_) + 2 * kPlace; }

// Both places are taken on the disk, as a full one may have no room for them later.
int KeptPart::begin() {
  written_ = recorded_ = 0;
  sum_ = 0;
  const int error = put();
  return error != 0 ? error : put();
}

int KeptPart::wrote(std::span<const std::byte> bytes) {
  written_ += bytes.size();
  sum_ = crcOf(sum_, bytes.data(), bytes.size());
  return written_ - recorded_ >= kRecordedEvery ? record() : 0;
}

int KeptPart::record() {
  if (written_ == recorded_) return 0;
  if (::fdatasync(descriptor_) != 0) return errno;
  recorded_ = written_;
  return put();
}

int KeptPart::put() {
  Record record;
  std::memcpy(record.digest.data(), digest_.data(), std::min(digest_.size(), record.digest.size()));
  record.size = size_;
  record.written = written_;
  record.sumOfWritten = sum_;
  record.turn = ++turn_;
  record.sum = record.sumOfRest();
  const auto at = static_cast<off_t>(placesAt(size_) + turn_ % 2 * kPlace);
  std::array<std::byte, kPlace> place{};
  std::memcpy(place.data(), &record, sizeof record);
  const ssize_t written = ::pwrite(descriptor_, place.data(), place.size(), at);
  if (written == static_cast<ssize_t>(place.size())) return 0;
  return written < 0 ? errno : ENOSPC;
}

}  // namespace normlens::formats

#include "core/formats/archive/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <array>

namespace normlens::formats {

bool inflateTo(std::span<const std::byte> packed, uint64_t size,
               const std::function<void(std::span<const std::byte>)>& take) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  std::array<std::byte, 1 << 16> piece;  // NOLINT: filled by inflate
  uint64_t made = 0;
  int state = Z_OK;
  while (state == Z_OK && made <= size) {
    constexpr size_t kMost = size_t{1} << 30;  // zlib counts in 32 bits
    const auto in = static_cast<uInt>(std::min(kMost, packed.size()));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    stream.avail_in = in;
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    state = inflate(&stream, Z_NO_FLUSH);
    const size_t got = piece.size() - stream.avail_out;
    if (state == Z_OK && got == 0 && stream.avail_in == in) break;
    made += got;
    if (made <= size) take(std::span(piece).first(got));
    packed = packed.subspan(in - stream.avail_in);
  }
  inflateEnd(&stream);
  return state == Z_STREAM_END && made == size;
}

}  // namespace normlens::formats

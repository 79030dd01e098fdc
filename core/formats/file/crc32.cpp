#include "core/formats/file/crc32.h"

#ifdef NORMLENS_HAVE_ISAL
#include <isa-l/crc.h>
#else
#include <zlib.h>
#endif

namespace normlens::formats {

uint32_t crcOf(uint32_t start, const std::byte* data, size_t size) {
#ifdef NORMLENS_HAVE_ISAL
  return crc32_gzip_refl(start, reinterpret_cast<const unsigned char*>(data), size);
#else
  return static_cast<uint32_t>(crc32_z(start, reinterpret_cast<const Bytef*>(data), size));
#endif
}

}  // namespace normlens::formats

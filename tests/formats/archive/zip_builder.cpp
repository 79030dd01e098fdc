#include "tests/formats/archive/zip_builder.h"

#include <zlib.h>

#include <fstream>

namespace normlens::formats::test {
namespace {

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 255);
}

struct Placed {
  uint64_t offset;
  uint32_t crc;
  uint64_t size;
};

void putSizes(std::string& out, const ZipEntry& entry, const Placed& at) {
  put(out, at.crc, 4);
  put(out, entry.zip64 ? 0xffffffffU : entry.content.size(), 4);
  put(out, entry.zip64 ? 0xffffffffU : at.size, 4);
}

}  // namespace

std::string deflated(const std::string& content) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(compressBound(content.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string buildZip(const std::vector<ZipEntry>& entries) {
  std::string out;
  std::vector<Placed> places;
  for (const ZipEntry& entry : entries) {
    Placed at{};
    at.offset = out.size();
    at.size = entry.size < 0 ? entry.content.size() : static_cast<uint64_t>(entry.size);
    at.crc = entry.crc >= 0 ? static_cast<uint32_t>(entry.crc)
                            : static_cast<uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(entry.content.data()),
                                                            static_cast<uInt>(entry.content.size())));
    places.push_back(at);
    const std::string& name = entry.localName.empty() ? entry.name : entry.localName;
    put(out, 0x04034b50, 4);
    put(out, 20, 2);
    put(out, entry.flags, 2);
    put(out, entry.method, 2);
    put(out, 0, 4);
    putSizes(out, entry, at);
    put(out, name.size(), 2);
    put(out, 0, 2);
    out += name + entry.content;
  }
  const uint64_t start = out.size();
  for (size_t i = 0; i < entries.size(); ++i) {
    const ZipEntry& entry = entries[i];
    std::string extra;
    if (entry.zip64) {
      put(extra, 1, 2);
      put(extra, 24, 2);
      put(extra, places[i].size, 8);
      put(extra, entry.content.size(), 8);
      put(extra, places[i].offset, 8);
    }
    put(out, 0x02014b50, 4);
    put(out, 20, 2);
    put(out, 20, 2);
    put(out, entry.flags, 2);
    put(out, entry.method, 2);
    put(out, 0, 4);
    putSizes(out, entry, places[i]);
    put(out, entry.name.size(), 2);
    put(out, extra.size(), 2);
    put(out, 0, 6);
    put(out, entry.attributes, 4);
    put(out, entry.zip64 ? 0xffffffffU : places[i].offset, 4);
    out += entry.name + extra;
  }
  const uint64_t length = out.size() - start;
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, entries.size(), 2);
  put(out, entries.size(), 2);
  put(out, length, 4);
  put(out, start, 4);
  put(out, 0, 2);
  return out;
}

void writeFile(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace normlens::formats::test

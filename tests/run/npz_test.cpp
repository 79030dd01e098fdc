#include "core/run/inputs/npz.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <deque>
#include <fstream>

#include "core/formats/archive/archive_writer.h"
#include "core/run/inputs/npy.h"
#include "core/run/tensors.h"
#include "tests/support/must.h"
#include "tests/support/npz_files.h"
#include "tests/support/temporary_folder.h"

namespace normlens::run {
namespace {

using graph::DType;

std::filesystem::path scratch(const std::string& name) {
  static const TemporaryFolder folder;
  return folder / name;
}

void writeBytes(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

formats::Tensors twoArrays() {
  const double ids[] = {3, 1, 4, 1, 5, 9};
  const double values[] = {0.5, -1};
  return {{"in_0", fromDoubles(DType::Int64, {2, 3}, ids)}, {"in_1", fromDoubles(DType::Float32, {2}, values)}};
}

std::vector<std::byte> bytesOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> zipOfTwoArrays() {
  const auto path = scratch("two.npz");
  EXPECT_TRUE(writeNpz(path, twoArrays()));
  return bytesOf(path);
}

void put(std::vector<std::byte>& bytes, size_t at, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
}

size_t find(const std::vector<std::byte>& bytes, std::string_view text, size_t from = 0) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return all.find(text, from);
}

TEST(Npz, RoundTrips) {
  const auto path = scratch("a.npz");
  ASSERT_TRUE(writeNpz(path, twoArrays()));
  const auto arrays = must(readArrays(path));
  ASSERT_EQ(arrays.size(), 2U);
  EXPECT_EQ(arrays[0].name, "in_0");
  EXPECT_EQ(arrays[0].view.shape, (graph::Shape{2, 3}));
  EXPECT_EQ(graph::toDoubles(arrays[0].view), (std::vector<double>{3, 1, 4, 1, 5, 9}));
  EXPECT_EQ(graph::toDoubles(arrays[1].view), (std::vector<double>{0.5, -1}));
}

TEST(Npz, NamesWithControlCharactersAreRefused) {
  const auto path = scratch("odd.npz");
  formats::Tensors arrays = twoArrays();
  arrays.back().name = "PK\x06\x07 and 12 more.";  // its last 20 bytes, with .npy, stand where a zip64 locator would
  ASSERT_TRUE(writeNpz(path, arrays));
  EXPECT_EQ(failureOf(readArrays(path)).code, ErrorCode::Unreadable);
}

TEST(Npz, TheSameArraysGiveTheSameFile) { EXPECT_EQ(zipOfTwoArrays(), zipOfTwoArrays()); }

TEST(Npz, ASingleArrayIsTheFirstInput) {
  const auto path = scratch("a.npy");
  writeBytes(path, *formatNpy(twoArrays()[0].view));
  const auto arrays = must(readArrays(path));
  EXPECT_EQ(arrays.front().name, "in_0");
}

// Of one packed array.
std::vector<std::byte> deflatedZip(uint64_t claimedBytes = 0) {
  const std::vector<double> zeros(10000);
  const auto npy = *formatNpy(fromDoubles(DType::Float64, {10000}, zeros));
  std::vector<std::byte> packed(compressBound(npy.size()));
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(npy.data()));
  stream.avail_in = static_cast<uInt>(npy.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);

  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(npy.data()), static_cast<uInt>(npy.size()));
  const auto path = scratch("packed.npz");
  const uint64_t bytes = claimedBytes ? claimedBytes : npy.size();
  EXPECT_TRUE(formats::writeArchive(
      path, {{"in_0.npy", formats::ZipMethod::Deflate, bytes, {packed}, static_cast<uint32_t>(crc)}}, {}, {}));
  return bytesOf(path);
}

TEST(Npz, ReadsDeflatedEntries) {
  const auto path = scratch("a.npz");
  writeBytes(path, deflatedZip());
  const auto arrays = must(readArrays(path));
  EXPECT_EQ(arrays.front().view.shape, graph::Shape{10000});
}

TEST(Npz, MalformedFilesAreNamed) {
  struct Row {
    const char* name;
    std::function<void(std::vector<std::byte>&)> damage;
    const char* message;
  };
  const Row rows[] = {
      {"text",
       [](auto& b) {
         b = {std::byte{'h'}, std::byte{'i'}};
       },
       "it is neither an .npz nor an .npy file"},
      {"empty", [](auto& b) { b.clear(); }, "it is neither an .npz nor an .npy file"},
      {"no end", [](auto& b) { b.resize(b.size() - 30); }, "no end-of-central-directory record"},
      {"directory offset", [](auto& b) { put(b, b.size() - 6, 0xfffffff0, 4); }, "points outside the file"},
      {"entry count", [](auto& b) { put(b, b.size() - 12, 60000, 2); }, "points outside the file"},
      {"checksum", [](auto& b) { b[find(b, "NUMPY") + 130] ^= std::byte{1}; }, "is damaged (checksum)"},
      {"method", [](auto& b) { put(b, find(b, "PK\x01\x02") + 10, 99, 2); }, "uses compression method 99"},
      {"encrypted", [](auto& b) { put(b, find(b, "PK\x01\x02") + 8, 1, 2); }, "is encrypted"},
      {"offset", [](auto& b) { put(b, find(b, "PK\x01\x02") + 42, 0x7fffffff, 4); }, "lies outside the file"},
      {"offset inside", [](auto& b) { put(b, find(b, "PK\x01\x02") + 42, 7, 4); }, "has no local header"},
      {"packed size", [](auto& b) { put(b, find(b, "PK\x01\x02") + 20, 0x7fffffff, 4); }, "has two different sizes"},
      {"stored size", [](auto& b) { put(b, find(b, "PK\x01\x02") + 24, 5, 4); }, "has two different sizes"},
      {"64-bit size", [](auto& b) { put(b, find(b, "PK\x01\x02") + 24, 0xffffffff, 4); }, "has no zip64 sizes"},
      {"a bomb", [](auto& b) { b = deflatedZip(0x7fffffff); }, "does not unpack to its size"},
      {"deflate ends early", [](auto& b) { b = deflatedZip(80500); }, "does not unpack to its size"},
      {"deflate goes on", [](auto& b) { b = deflatedZip(70000); }, "does not unpack to its size"},
  };
  for (const Row& row : rows) {
    std::vector<std::byte> file = zipOfTwoArrays();
    row.damage(file);
    const auto path = scratch("broken.npz");
    writeBytes(path, file);
    const auto arrays = readArrays(path);
    ASSERT_FALSE(arrays) << row.name;
    EXPECT_NE(arrays.error().message.find(row.message), std::string::npos)
        << row.name << ": " << arrays.error().message;
    EXPECT_NE(arrays.error().message.find(path.string()), std::string::npos) << arrays.error().message;
    EXPECT_EQ(arrays.error().code, ErrorCode::Unreadable);
  }
}

TEST(Npz, AnArrayThatCannotBeReadIsInTheWayOfNoOther) {
  const std::vector<std::byte> nonsense(16);
  std::deque<std::vector<std::byte>> contents{nonsense};
  std::vector<formats::RecordToWrite> records{{"notes.npy", formats::ZipMethod::Stored, 16, {nonsense}, {}}};
  for (const auto& array : twoArrays()) {
    const auto& npy = contents.emplace_back(*formatNpy(array.view));
    records.push_back({array.name + ".npy", formats::ZipMethod::Stored, npy.size(), {npy}, {}});
  }
  const auto path = scratch("a.npz");
  ASSERT_TRUE(formats::writeArchive(path, std::move(records), {}, {}));
  const auto read = must(readWhatCanBeRead(path));
  ASSERT_EQ(read.arrays.size(), 3U);
  EXPECT_EQ(graph::toDoubles(read.arrays[2].view), (std::vector<double>{0.5, -1}));
  ASSERT_EQ(read.unreadable.size(), 1U);
  EXPECT_NE(read.unreadable.at("notes").message.find("array 'notes'"), std::string::npos);
  EXPECT_FALSE(readArrays(path));
}

TEST(Npz, MissingFilesAndFoldersAreNamed) {
  EXPECT_EQ(readArrays("/no/such/file.npz").error().message, "there is no file /no/such/file.npz");
  EXPECT_NE(readArrays(::testing::TempDir()).error().message.find("is a folder"), std::string::npos);
}

TEST(Npz, EveryFlippedByteOfTheZipIsNoCrash) {
  const std::vector<std::byte> file = zipOfTwoArrays();
  for (size_t at = 0; at < file.size(); ++at) {
    std::vector<std::byte> broken = file;
    broken[at] ^= std::byte{0xff};
    const auto path = scratch("flipped.npz");
    writeBytes(path, broken);
    (void)readWhatCanBeRead(path);
  }
}

TEST(Npz, AFailedWriteLeavesNothing) { EXPECT_FALSE(writeNpz("/no/such/folder/a.npz", twoArrays())); }

}  // namespace
}  // namespace normlens::run

#include "core/run/npz.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>

#include "core/run/npy.h"
#include "core/run/tensors.h"
#include "core/run/zip_archive.h"

namespace normlens::run {
namespace {

using graph::DType;

std::filesystem::path scratch(const std::string& name) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "normlens_npz_test";
  std::filesystem::create_directories(folder);
  return folder / (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + "_" + name);
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

std::vector<std::byte> zipOfTwoArrays() {
  ZipWriter zip;
  for (const auto& array : twoArrays()) EXPECT_TRUE(zip.add(array.name + ".npy", *formatNpy(array.view)));
  return std::move(zip).finish();
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
  const auto arrays = readArrays(path);
  ASSERT_TRUE(arrays) << arrays.error().message;
  ASSERT_EQ(arrays->size(), 2U);
  EXPECT_EQ((*arrays)[0].name, "in_0");
  EXPECT_EQ((*arrays)[0].view.shape, (graph::Shape{2, 3}));
  EXPECT_EQ(graph::toDoubles((*arrays)[0].view), (std::vector<double>{3, 1, 4, 1, 5, 9}));
  EXPECT_EQ(graph::toDoubles((*arrays)[1].view), (std::vector<double>{0.5, -1}));
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".part"));
}

TEST(Npz, ANameThatLooksLikeTheZipsOwnEnd) {
  const auto path = scratch("odd.npz");
  formats::Tensors arrays = twoArrays();
  arrays.back().name = "PK\x06\x07";
  arrays.back().name += "and 12 more.";  // its last 20 bytes, with .npy, stand where a zip64 locator would
  ASSERT_TRUE(writeNpz(path, arrays));
  const auto read = readArrays(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->back().name, arrays.back().name);
}

TEST(Npz, TheSameArraysGiveTheSameFile) { EXPECT_EQ(zipOfTwoArrays(), zipOfTwoArrays()); }

TEST(Npz, ASingleArrayIsTheFirstInput) {
  const auto path = scratch("a.npy");
  writeBytes(path, *formatNpy(twoArrays()[0].view));
  const auto arrays = readArrays(path);
  ASSERT_TRUE(arrays);
  EXPECT_EQ(arrays->front().name, "in_0");
}

// Repacks the first entry of a one-array zip with deflate.
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

  ZipWriter zip;
  EXPECT_TRUE(zip.add("in_0.npy", packed));
  std::vector<std::byte> file = std::move(zip).finish();
  const size_t directory = find(file, "PK\x01\x02");
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(npy.data()), static_cast<uInt>(npy.size()));
  put(file, directory + 10, 8, 2);
  put(file, directory + 16, crc, 4);
  put(file, directory + 24, claimedBytes ? claimedBytes : npy.size(), 4);
  return file;
}

TEST(Npz, ReadsDeflatedEntries) {
  const auto path = scratch("a.npz");
  writeBytes(path, deflatedZip());
  const auto arrays = readArrays(path);
  ASSERT_TRUE(arrays) << arrays.error().message;
  EXPECT_EQ(arrays->front().view.shape, graph::Shape{10000});
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
      {"no end", [](auto& b) { b.resize(b.size() - 30); }, "its end is missing"},
      {"directory offset", [](auto& b) { put(b, b.size() - 6, 0xfffffff0, 4); }, "its zip directory is damaged"},
      {"entry count", [](auto& b) { put(b, b.size() - 12, 60000, 2); }, "its zip directory is damaged"},
      {"checksum", [](auto& b) { b[find(b, "PK\x03\x04") + 180] ^= std::byte{1}; }, "is damaged (checksum)"},
      {"method", [](auto& b) { put(b, find(b, "PK\x01\x02") + 10, 99, 2); }, "a method that is not supported"},
      {"encrypted", [](auto& b) { put(b, find(b, "PK\x01\x02") + 8, 1, 2); }, "is encrypted"},
      {"offset", [](auto& b) { put(b, find(b, "PK\x01\x02") + 42, 0x7fffffff, 4); }, "is cut off"},
      {"offset inside", [](auto& b) { put(b, find(b, "PK\x01\x02") + 42, 7, 4); }, "is not where the directory says"},
      {"packed size", [](auto& b) { put(b, find(b, "PK\x01\x02") + 20, 0x7fffffff, 4); }, "is cut off"},
      {"stored size", [](auto& b) { put(b, find(b, "PK\x01\x02") + 24, 5, 4); }, "is damaged"},
      {"64-bit size", [](auto& b) { put(b, find(b, "PK\x01\x02") + 24, 0xffffffff, 4); },
       "its zip directory is damaged"},
      {"a bomb", [](auto& b) { b = deflatedZip(0x7fffffff); }, "claims an impossible size"},
      {"deflate ends early", [](auto& b) { b = deflatedZip(80500); }, "is damaged"},
      {"deflate goes on", [](auto& b) { b = deflatedZip(70000); }, "is damaged"},
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
  ZipWriter zip;
  const std::vector<std::byte> nonsense(16);
  ASSERT_TRUE(zip.add("notes.npy", nonsense));
  for (const auto& array : twoArrays()) ASSERT_TRUE(zip.add(array.name + ".npy", *formatNpy(array.view)));
  const auto path = scratch("a.npz");
  writeBytes(path, std::move(zip).finish());
  const auto read = readWhatCanBeRead(path);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->arrays.size(), 3U);
  EXPECT_EQ(graph::toDoubles(read->arrays[2].view), (std::vector<double>{0.5, -1}));
  ASSERT_EQ(read->unreadable.size(), 1U);
  EXPECT_NE(read->unreadable.at("notes").message.find("array 'notes'"), std::string::npos);
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
    const auto entries = listZip(broken);
    if (!entries) continue;
    for (const ZipEntry& entry : *entries) (void)unpackZipEntry(broken, entry);
  }
}

TEST(Npz, AFailedWriteLeavesNothing) { EXPECT_FALSE(writeNpz("/no/such/folder/a.npz", twoArrays())); }

}  // namespace
}  // namespace normlens::run

// Arrays in .npz and .npy files: read as NumPy wrote them, and refused where they are broken.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>

#include "core/formats/archive/archive_writer.h"
#include "core/run/inputs/npy.h"
#include "core/run/inputs/npz.h"
#include "core/run/tensor_parts.h"
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

using graph::DType;

// A version 1 file with this dictionary and data.
std::vector<std::byte> npy(const std::string& dictionary, std::string_view data, char version = 1) {
  std::string file = std::string("\x93NUMPY") + version + '\0';
  file += static_cast<char>(dictionary.size() & 0xff);
  file += static_cast<char>(dictionary.size() >> 8);
  if (version > 1) file += std::string(2, '\0');
  file += dictionary;
  file += data;
  const auto* bytes = reinterpret_cast<const std::byte*>(file.data());
  return {bytes, bytes + file.size()};
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string bytes;
  for (const T value : values) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

std::string dictionary(std::string_view descr, std::string_view shape, bool fortran = false) {
  return "{'descr': '" + std::string(descr) + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + std::string(shape) + ", }\n";
}

TEST(Npy, ReadsEveryType) {
  struct Row {
    const char* descr;
    std::string data;
    DType dtype;
    std::vector<double> values;
  };
  const Row rows[] = {
      {"|b1", raw<uint8_t>({1, 0}), DType::Bool, {1, 0}},
      {"|i1", raw<int8_t>({-3, 7}), DType::Int8, {-3, 7}},
      {"|u1", raw<uint8_t>({200, 7}), DType::UInt8, {200, 7}},
      {"<i2", raw<int16_t>({-300, 7}), DType::Int16, {-300, 7}},
      {"<i4", raw<int32_t>({-70000, 7}), DType::Int32, {-70000, 7}},
      {"<i8", raw<int64_t>({-(int64_t{1} << 40), 7}), DType::Int64, {-1099511627776.0, 7}},
      {"<f2", raw<uint16_t>({0x3c00, 0xc000}), DType::Float16, {1, -2}},
      {"<f4", raw<float>({1.5F, -2}), DType::Float32, {1.5, -2}},
      {"<f8", raw<double>({1.5, -2}), DType::Float64, {1.5, -2}},
  };
  for (const Row& row : rows) {
    const auto view = parseNpy(npy(dictionary(row.descr, "(2,)"), row.data));
    ASSERT_TRUE(view) << row.descr << ": " << view.error().message;
    EXPECT_EQ(view->dtype, row.dtype) << row.descr;
    EXPECT_EQ(view->shape, graph::Shape{2});
    EXPECT_EQ(graph::toDoubles(*view), row.values) << row.descr;
  }
}

TEST(Npy, ReadsShapesAndVersions) {
  const std::string six = raw<int32_t>({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(parseNpy(npy(dictionary("<i4", "(2, 3)"), six))->shape, (graph::Shape{2, 3}));
  EXPECT_EQ(parseNpy(npy(dictionary("<i4", "(2, 3, )"), six))->shape, (graph::Shape{2, 3}));
  EXPECT_EQ(parseNpy(npy(dictionary("<i4", "(0, 3)"), ""))->shape, (graph::Shape{0, 3}));
  EXPECT_EQ(parseNpy(npy(dictionary("<i4", "()"), raw<int32_t>({9})))->shape, graph::Shape{});
  for (const char version : {'\2', '\3'}) EXPECT_TRUE(parseNpy(npy(dictionary("<i4", "(6,)"), six, version)));
}

TEST(Npy, TurnsFortranOrderIntoC) {
  const auto view = must(parseNpy(npy(dictionary("<i4", "(2, 3)", true), raw<int32_t>({1, 4, 2, 5, 3, 6}))));
  EXPECT_TRUE(view.contiguous());
  EXPECT_EQ(graph::toDoubles(view), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, MalformedFilesAreNamed) {
  struct Row {
    std::vector<std::byte> file;
    const char* message;
  };
  const std::string four = raw<float>({1, 2, 3, 4});
  std::vector<std::byte> cutHeader = npy(dictionary("<f4", "(4,)"), "");
  cutHeader.resize(20);
  const Row rows[] = {
      {{}, "it is not a NumPy array"},
      {npy("", "", 9), "its NumPy format version 9 is not known"},
      {cutHeader, "its NumPy header is cut off"},
      {npy("no dictionary", four), "its NumPy header is not understood"},
      {npy("{'descr': '<f4', 'shape': (4,)}", four), "its NumPy header is not understood"},
      {npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (4,)}", four), "its NumPy header is not understood"},
      {npy(dictionary("<f4", "(4"), four), "its NumPy header is not understood"},
      {npy(dictionary("<f4", "(-4,)"), four), "its NumPy header is not understood"},
      {npy(dictionary("<f4", "(99999999999999999999,)"), four), "its NumPy header is not understood"},
      {npy(dictionary("<f4", "(5,)"), four), "it says float32[5] but holds only 16 bytes"},
      {npy(dictionary("<f4", "(4294967296, 4294967296)"), four),
       "it says float32[4294967296,4294967296] but holds only 16 bytes"},
      {npy(dictionary("|O", "(1,)"), four), "it holds Python objects, which are never unpickled"},
      {npy(dictionary("<c8", "(1,)"), four), "its element type '<c8' is not supported"},
      {npy(dictionary("<U3", "(1,)"), four), "its element type '<U3' is not supported"},
      {npy(dictionary("", "(1,)"), four), "its element type '' is not supported"},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }", four),
       "it holds records of several fields; save plain arrays"},
      {npy(dictionary("<u2", "(1,)"), four), "its element type '<u2' is not supported"},
      {npy(dictionary(">f4", "(1,)"), four), "its element type '>f4' is not supported"},
  };
  for (const Row& row : rows) {
    const auto view = parseNpy(row.file);
    ASSERT_FALSE(view) << row.message;
    EXPECT_EQ(view.error().message, row.message);
  }
}

TEST(Npy, EveryPrefixIsAnErrorAndNoCrash) {
  const std::vector<std::byte> file = npy(dictionary("<f4", "(2, 2)"), raw<float>({1, 2, 3, 4}));
  ASSERT_TRUE(parseNpy(file));
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(parseNpy(std::span(file).first(size))) << size;
  }
}

TEST(Npy, EveryFlippedByteIsNoCrash) {
  const std::vector<std::byte> file = npy(dictionary("<f4", "(2, 2)"), raw<float>({1, 2, 3, 4}));
  for (size_t at = 0; at < file.size(); ++at) {
    for (const int flip : {0x01, 0x20, 0x80, 0xff}) {
      std::vector<std::byte> broken = file;
      broken[at] ^= static_cast<std::byte>(flip);
      const auto view = parseNpy(broken);
      if (!view) continue;
      EXPECT_TRUE(graph::elementCount(view->shape).has_value());
    }
  }
}

TEST(Npy, RoundTrips) {
  const DType types[] = {DType::Bool,  DType::UInt8,   DType::Int8,    DType::Int16,  DType::Int32,
                         DType::Int64, DType::Float16, DType::Float32, DType::Float64};
  for (const DType dtype : types) {
    for (const graph::Shape& shape : {graph::Shape{}, graph::Shape{1}, graph::Shape{0, 2}, graph::Shape{2, 1, 3}}) {
      std::vector<double> values(static_cast<size_t>(*graph::elementCount(shape)));
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 2);
      const auto file = must(formatNpy(fromDoubles(dtype, shape, values)));
      const auto view = must(parseNpy(file));
      EXPECT_EQ(view.dtype, dtype);
      EXPECT_EQ(view.shape, shape);
      EXPECT_EQ(graph::toDoubles(view), values);
    }
  }
}

TEST(Npy, HeaderIsAligned) {
  const double values[] = {0x1p0};
  const auto file = formatNpy(fromDoubles(DType::Float64, {1}, values));
  EXPECT_EQ((file->size() - 8) % 64, 0U);
}

// A fuzzer's.
TEST(Npy, AnEmptyArrayHasAShapeToo) {
  EXPECT_TRUE(parseNpy(npy(dictionary("<f4", "(0, 4000000000)"), "")));
  EXPECT_EQ(failureOf(parseNpy(npy(dictionary("<f4", "(0, 4000000000, 14729448, 830)"), ""))).message,
            "its shape is larger than any array's");
}

// A fuzzer's: words of a file in a message that is one line.
TEST(Npy, MessagesAreOneLine) {
  const TemporaryFolder folder;
  const auto bytes = npy(dictionary("<\n\x1b[2Jf4", "(1,)"), "1234");
  std::ofstream(folder / "a.npy", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  EXPECT_PRED2(contains, failureOf(readArrays(folder / "a.npy")).message, "'<??[2Jf4'");
}

class NpyFile : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
};

graph::TensorView counting(const graph::Shape& shape) {
  std::vector<double> numbers(static_cast<size_t>(*graph::elementCount(shape)));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i % 1000);
  return fromDoubles(graph::DType::Float32, shape, numbers);
}

TEST(TensorParts, coverATensorInOrderWhateverItsStrides) {
  const graph::TensorView dense = counting({7, 5, 3});
  graph::TensorView turned = dense;
  turned.shape = {3, 5, 7};
  turned.strides = {1, 3, 15};
  for (const auto& view : {dense, turned}) {
    for (const int64_t most : {1, 4, 9, 36, 1000}) {
      std::vector<double> seen;
      const auto status = forEachPart(view, most, [&](int64_t first, const graph::TensorView& part) -> Status {
        EXPECT_EQ(first, static_cast<int64_t>(seen.size()));
        const auto numbers = graph::toDoubles(part);
        EXPECT_LE(static_cast<int64_t>(numbers->size()), most);
        seen.insert(seen.end(), numbers->begin(), numbers->end());
        return {};
      });
      EXPECT_TRUE(status);
      EXPECT_EQ(seen, *graph::toDoubles(view)) << most;
    }
  }
}

TEST_F(NpyFile, isTheSameAsFormattedInOnePiece) {
  const graph::TensorView view = counting({1200, 1000});  // more than one part
  const auto bytes = must(writeNpyFile(folder_ / "w.npy", view, {}));
  EXPECT_EQ(static_cast<uintmax_t>(bytes), std::filesystem::file_size(folder_ / "w.npy"));
  const auto arrays = must(readArrays(folder_ / "w.npy"));
  EXPECT_EQ(arrays.front().view.shape, view.shape);
  EXPECT_EQ(*graph::toDoubles(arrays.front().view), *graph::toDoubles(view));
}

TEST_F(NpyFile, bfloat16IsWrittenAsFloat32) {
  const graph::TensorView view = fromDoubles(graph::DType::BFloat16, {3}, std::vector<double>{1.5, -2, 0.25});
  ASSERT_TRUE(writeNpyFile(folder_ / "b.npy", view, {}));
  const auto arrays = must(readArrays(folder_ / "b.npy"));
  EXPECT_EQ(arrays.front().view.dtype, graph::DType::Float32);
  EXPECT_EQ(*graph::toDoubles(arrays.front().view), (std::vector<double>{1.5, -2, 0.25}));
}

TEST_F(NpyFile, stoppedItLeavesTheOlderFileAlone) {
  std::ofstream(folder_ / "w.npy") << "older";
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(failureOf(writeNpyFile(folder_ / "w.npy", counting({4}), Task{{}, source.get_token()})).code,
            ErrorCode::Cancelled);
  EXPECT_EQ(std::filesystem::file_size(folder_ / "w.npy"), 5U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(NpyFile, aTypeWithoutPlainElementsIsRefused) {
  graph::TensorView view = counting({2});
  view.dtype = graph::DType::Complex64;
  EXPECT_EQ(failureOf(writeNpyFile(folder_ / "c.npy", view, {})).code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace normlens::run

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/run/inputs/npy.h"
#include "core/run/tensor_parts.h"
#include "core/run/tensors.h"
#include "tests/support/must.h"
#include "tests/support/npz_files.h"
#include "tests/support/temporary_folder.h"

namespace normlens::run {
namespace {

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

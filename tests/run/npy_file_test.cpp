#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/run/inputs/npy.h"
#include "core/run/tensor_parts.h"
#include "core/run/tensors.h"
#include "tests/support/npz_files.h"

namespace normlens::run {
namespace {

class NpyFile : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::filesystem::path file(const char* name) const { return folder_ / name; }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("normlens_npy_" + std::to_string(::getpid()));
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
  const auto bytes = writeNpyFile(file("w.npy"), view, {});
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(static_cast<uintmax_t>(*bytes), std::filesystem::file_size(file("w.npy")));
  const auto arrays = readArrays(file("w.npy"));
  ASSERT_TRUE(arrays);
  EXPECT_EQ(arrays->front().view.shape, view.shape);
  EXPECT_EQ(*graph::toDoubles(arrays->front().view), *graph::toDoubles(view));
}

TEST_F(NpyFile, bfloat16IsWrittenAsFloat32) {
  const graph::TensorView view = fromDoubles(graph::DType::BFloat16, {3}, std::vector<double>{1.5, -2, 0.25});
  ASSERT_TRUE(writeNpyFile(file("b.npy"), view, {}));
  const auto arrays = readArrays(file("b.npy"));
  ASSERT_TRUE(arrays);
  EXPECT_EQ(arrays->front().view.dtype, graph::DType::Float32);
  EXPECT_EQ(*graph::toDoubles(arrays->front().view), (std::vector<double>{1.5, -2, 0.25}));
}

TEST_F(NpyFile, stoppedItLeavesTheOlderFileAlone) {
  std::ofstream(file("w.npy")) << "older";
  std::stop_source source;
  source.request_stop();
  const auto written = writeNpyFile(file("w.npy"), counting({4}), Task{{}, source.get_token()});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::Cancelled);
  EXPECT_EQ(std::filesystem::file_size(file("w.npy")), 5U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(NpyFile, aTypeWithoutPlainElementsIsRefused) {
  graph::TensorView view = counting({2});
  view.dtype = graph::DType::Complex64;
  const auto written = writeNpyFile(file("c.npy"), view, {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace normlens::run

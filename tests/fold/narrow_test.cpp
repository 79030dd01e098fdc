// Tensors that lose their last channel, and weights that read such, against the obvious loops.
#include "tests/fold/weight_tensors.h"

namespace normlens::fold {
namespace {

class NarrowRandom : public testing::TestWithParam<std::tuple<DType, Layout>> {};

TEST_P(NarrowRandom, KeepsAllButTheLastChannel) {
  const auto [dtype, layout] = GetParam();
  std::mt19937_64 random(90 + static_cast<uint64_t>(dtype) * 10 + static_cast<uint64_t>(layout));
  const Shape shape = {4, 3, 5};
  const Tensor tensor = makeTensor(shape, stridesFor(shape, layout, random), dtype, random);
  for (int dim = 0; dim < 3; ++dim) {
    for (const bool reads : {false, true}) {
      for (const int64_t more : {0, 1, 4}) {
        const auto axis = static_cast<size_t>(dim);
        const int64_t full = shape[axis];
        Narrowing how{{full, full - 1 + more}, dim, {}};
        for (int64_t i = 0; reads && i < full; ++i) how.factor.push_back(0.5 + static_cast<double>(i));
        const WeightSource made = narrow({tensor.view, nullptr}, how);
        Shape narrowShape = shape;
        narrowShape[axis] = how.channels.width;
        ASSERT_EQ(made.view.shape, narrowShape);
        TensorView out = made.view;
        auto bytes = bufferFor(out);
        out.data = bytes.data();
        const auto status = fill(made, bytes, 2);
        ASSERT_TRUE(status) << status.error().message;
        std::vector<double> want;
        const int64_t inner = dim == 0 ? 15 : dim == 1 ? 5 : 1;
        for (int64_t i = 0; i < *graph::elementCount(narrowShape); ++i) {
          const int64_t channel = i / inner % how.channels.width;
          const int64_t block = i / (inner * how.channels.width), rest = i % inner;
          const auto at = [&](int64_t c) {
            return tensor.numbers[static_cast<size_t>((block * full + c) * inner + rest)];
          };
          double value = 0;
          if (channel < full - 1) {
            value = reads ? at(channel) * how.factor[static_cast<size_t>(channel)] - at(full - 1) * how.factor.back()
                          : at(channel);
          }
          want.push_back(value);
        }
        expectClose(out, want, "dim " + std::to_string(dim) + ", " + std::to_string(more) + " more");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, NarrowRandom,
                         testing::Combine(testing::Values(DType::Float32, DType::Float64, DType::Float16,
                                                          DType::BFloat16),
                                          testing::Values(Layout::RowMajor, Layout::Permuted, Layout::Padded)));

TEST(Narrow, OneWeightMayLoseAChannelOnBothSides) {
  std::mt19937_64 random(3);
  const Tensor tensor = makeTensor({3, 4}, {4, 1}, DType::Float64, random);
  const WeightSource rows = narrow({tensor.view, nullptr}, {{3, 2}, 0, {}});
  const WeightSource both = narrow(rows, {{4, 3}, 1, {1, 2, 3, 4}});
  ASSERT_EQ(both.view.shape, (Shape{2, 3}));
  const auto made = both.inMemory(1);
  ASSERT_TRUE(made);
  std::vector<double> want;
  for (size_t r = 0; r < 2; ++r) {
    for (size_t c = 0; c < 3; ++c)
      want.push_back(tensor.numbers[4 * r + c] * static_cast<double>(c + 1) - tensor.numbers[4 * r + 3] * 4);
  }
  expectClose(*made, want, "both");
}

TEST(Narrow, WhatIsNotFiniteIsRefused) {
  std::mt19937_64 random(4);
  const Tensor tensor = makeTensor({2, 3}, {3, 1}, DType::Float16, random);
  const auto made = narrow({tensor.view, nullptr}, {{3, 2}, 1, {1e9, 1, 1}}).inMemory(1);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::Refused);
}

TEST(Narrow, OtherChannelsThanTheTensorHasAreADefect) {
  std::mt19937_64 random(5);
  const Tensor tensor = makeTensor({2, 3}, {3, 1}, DType::Float32, random);
  const auto made = narrowed(tensor.view, {{4, 3}, 1, {}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::Internal);
}

}  // namespace
}  // namespace normlens::fold

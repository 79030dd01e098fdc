// Scales and shifts that move into weights and biases, against the obvious loops; weights with an address and no
// memory, which are computed where they are.
#include <cmath>
#include <limits>
#include <numeric>

#include "core/fold/finite.h"
#include "core/fold/pending_weights.h"
#include "tests/fold/weight_tensors.h"
#include "tests/support/must.h"

namespace normlens::fold {
namespace {

TEST(Scale, MultipliesAndAddsPerChannelInAnyLayout) {
  std::mt19937_64 random(7);
  for (const Layout layout : {Layout::RowMajor, Layout::Permuted, Layout::Padded}) {
    const Shape shape = {4, 3, 5};
    const Tensor tensor = makeTensor(shape, stridesFor(shape, layout, random), DType::Float32, random);
    for (int dim = 0; dim < 3; ++dim) {
      const auto axis = static_cast<size_t>(dim);
      std::vector<double> factor(static_cast<size_t>(shape[axis]));
      std::vector<double> addend(factor.size());
      for (size_t i = 0; i < factor.size(); ++i) {
        factor[i] = 0.5 + static_cast<double>(i);
        addend[i] = 1.0 - static_cast<double>(i);
      }
      auto out = bufferFor(tensor.view);
      ASSERT_TRUE(fill(scale({tensor.view, nullptr}, {factor, addend, dim}), out, 2));
      std::vector<double> want;
      for (size_t i = 0; i < tensor.numbers.size(); ++i) {
        const size_t channel = dim == 0 ? i / 15 : dim == 1 ? i / 5 % 3 : i % 5;
        want.push_back(tensor.numbers[i] * factor[channel] + addend[channel]);
      }
      expectClose(outputView(tensor.view, out), want, "dim " + std::to_string(dim));
    }
  }
}

class ShiftRandom : public testing::TestWithParam<std::tuple<DType, Layout>> {};

TEST_P(ShiftRandom, AddsTheProductToTheBias) {
  const auto [dtype, layout] = GetParam();
  std::mt19937_64 random(30 + static_cast<uint64_t>(dtype) * 10 + static_cast<uint64_t>(layout));
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 5}, Shape{40, 70}, Shape{1500, 33}, Shape{33, 1500}}) {
    for (const int inputDim : {0, 1}) {
      const auto in = static_cast<size_t>(inputDim), out = 1 - in;
      const Tensor weight = makeTensor(shape, stridesFor(shape, layout, random), dtype, random);
      const Tensor shift = makeTensor({shape[in]}, {1}, dtype, random);
      const Tensor bias = makeTensor({1, shape[out]}, {shape[out], 1}, dtype, random);
      auto bytes = bufferFor(bias.view);
      const auto made = fold::shift({bias.view, nullptr}, {weight.view, nullptr}, inputDim, shift.numbers);
      ASSERT_TRUE(fill(made, bytes, 2));
      std::vector<double> want = bias.numbers;
      for (size_t i = 0; i < weight.numbers.size(); ++i) {
        const auto columns = static_cast<size_t>(shape[1]);
        const size_t at[] = {i / columns, i % columns};
        want[at[out]] += weight.numbers[i] * shift.numbers[at[in]];
      }
      expectClose(outputView(bias.view, bytes), want, "input axis " + std::to_string(inputDim), 1e-11);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ShiftRandom,
                         testing::Combine(testing::Values(DType::Float32, DType::Float64, DType::Float16,
                                                          DType::BFloat16),
                                          testing::Values(Layout::RowMajor, Layout::Permuted, Layout::Padded)));

TEST(Shift, WhatDoesNotFitIsRefused) {
  std::mt19937_64 random(5);
  const Tensor weight = makeTensor({4, 6}, {6, 1}, DType::Float16, random);
  const Tensor six = makeTensor({6}, {1}, DType::Float16, random), four = makeTensor({4}, {1}, DType::Float16, random);
  auto out = bufferFor(four.view);
  const auto swapped = fold::shift({four.view, nullptr}, {weight.view, nullptr}, 0, six.numbers);
  EXPECT_EQ(fill(swapped, out, 1).error().code, ErrorCode::Internal);
  const auto overflowing =
      fold::shift({four.view, nullptr}, {weight.view, nullptr}, 1, std::vector<double>(6, 60000.0));
  EXPECT_EQ(fill(overflowing, out, 1).error().code, ErrorCode::Refused) << "no float16 is as large as that";
}

// Tensors in the basis of a narrow stream, against the reflection written out.

std::vector<double> reflected(std::vector<double> x) {
  std::vector<double> u(x.size(), 1 / std::sqrt(static_cast<double>(x.size())));
  u.back() -= 1;
  const double along =
      std::inner_product(u.begin(), u.end(), x.begin(), 0.0) / std::inner_product(u.begin(), u.end(), u.begin(), 0.0);
  for (size_t i = 0; i < u.size(); ++i) x[i] -= 2 * along * u[i];
  return x;
}

class NarrowRandom : public testing::TestWithParam<std::tuple<DType, Layout>> {};

TEST_P(NarrowRandom, IsTheReflectionWithoutItsLast) {
  const auto [dtype, layout] = GetParam();
  std::mt19937_64 random(90 + static_cast<uint64_t>(dtype) * 10 + static_cast<uint64_t>(layout));
  const Shape shape = {4, 3, 5};
  const Tensor tensor = makeTensor(shape, stridesFor(shape, layout, random), dtype, random);
  for (int dim = 0; dim < 3; ++dim) {
    for (const int64_t more : {0, 1, 4}) {
      const auto axis = static_cast<size_t>(dim);
      const int64_t full = shape[axis];
      Narrowing how{{full, full - 1 + more}, dim, {}};
      for (int64_t i = 0; i < full; ++i) how.factor.push_back(0.5 + static_cast<double>(i));
      const WeightSource made = narrow({tensor.view, nullptr}, how);
      Shape narrowShape = shape;
      narrowShape[axis] = how.channels.width;
      ASSERT_EQ(made.view.shape, narrowShape);
      TensorView out = made.view;
      auto bytes = bufferFor(out);
      out.data = bytes.data();
      ASSERT_TRUE(fill(made, bytes, 2));
      std::vector<double> want;
      const int64_t inner = dim == 0 ? 15 : dim == 1 ? 5 : 1;
      for (int64_t i = 0; i < *graph::elementCount(narrowShape); ++i) {
        const int64_t channel = i / inner % how.channels.width;
        const int64_t block = i / (inner * how.channels.width), rest = i % inner;
        std::vector<double> row = how.factor;
        for (int64_t c = 0; c < full; ++c)
          row[static_cast<size_t>(c)] *= tensor.numbers[static_cast<size_t>((block * full + c) * inner + rest)];
        want.push_back(channel < full - 1 ? reflected(row)[static_cast<size_t>(channel)] : 0);
      }
      expectClose(out, want, "dim " + std::to_string(dim) + ", " + std::to_string(more) + " more");
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
  const WeightSource rows = narrow({tensor.view, nullptr}, {{3, 2}, 0, {1, 1, 1}});
  const WeightSource both = narrow(rows, {{4, 3}, 1, {1, 2, 3, 4}});
  ASSERT_EQ(both.view.shape, (Shape{2, 3}));
  const auto made = must(both.inMemory(1));
  std::vector<double> want(6);
  for (size_t r = 0; r < 2; ++r) {
    std::vector<double> row(4);
    for (size_t c = 0; c < 4; ++c) {
      const auto& all = tensor.numbers;
      row[c] = reflected({all[c], all[4 + c], all[8 + c]})[r] * static_cast<double>(c + 1);
    }
    std::ranges::copy_n(reflected(row).begin(), 3, want.begin() + static_cast<long>(3 * r));
  }
  expectClose(made, want, "both");
}

TEST(Narrow, ACenteredWeightIsRoundedOnce) {
  std::mt19937_64 random(7);
  const Tensor tensor = makeTensor({16, 5}, {5, 1}, DType::BFloat16, random);
  const Narrowing how{{16, 15}, 0, std::vector<double>(16, 1.0)};
  const int64_t axis = 0, other = 1;
  const WeightSource weight{tensor.view, nullptr};
  const auto once = *graph::toDoubles(must(narrow(weight, how).inMemory(1)));
  const auto along = narrow(center(weight, ops::Pattern::overAxes({16, 5}, {&axis, 1})), how);
  EXPECT_EQ(*graph::toDoubles(must(along.inMemory(1))), once);
  const auto across = narrow(center(weight, ops::Pattern::overAxes({16, 5}, {&other, 1})), how);
  EXPECT_NE(*graph::toDoubles(must(across.inMemory(1))), once) << "another axis is centered as well";
}

double rootOf(const std::vector<double>& x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / static_cast<double>(x.size()) + 1e-5);
}

// docs/method.md 9: the norm of the coordinates that are kept is that of all channels.
TEST(Narrow, RmsNormOfTheCoordinatesIsLayerNorm) {
  std::mt19937_64 random(6);
  for (const int64_t width : {63, 64, 128}) {
    const fold::Channels channels{64, width};
    const Tensor x = makeTensor({1, 64}, {64, 1}, DType::Float64, random);
    const auto z = *graph::toDoubles(
        must(narrow({x.view, nullptr}, {channels, 1, std::vector<double>(64, channels.scale())}).inMemory(1)));
    std::vector<double> all(z.begin(), z.begin() + 63);
    all.push_back(0);
    const auto got = reflected(all);
    std::vector<double> want = x.numbers;
    const double mean = std::accumulate(want.begin(), want.end(), 0.0) / 64;
    for (double& number : want) number -= mean;
    for (size_t i = 0; i < 64; ++i)
      EXPECT_NEAR(got[i] / channels.scale() / rootOf(z), want[i] / rootOf(want), 5e-15) << width;
  }
}

TEST(Narrow, WhatIsNotFiniteIsRefused) {
  std::mt19937_64 random(4);
  const Tensor tensor = makeTensor({2, 3}, {3, 1}, DType::Float16, random);
  EXPECT_EQ(failureOf(narrow({tensor.view, nullptr}, {{3, 2}, 1, {1e9, 1, 1}}).inMemory(1)).code, ErrorCode::Refused);
}

TEST(Narrow, OtherChannelsThanTheTensorHasAreADefect) {
  std::mt19937_64 random(5);
  const Tensor tensor = makeTensor({2, 3}, {3, 1}, DType::Float32, random);
  EXPECT_EQ(failureOf(narrowed(tensor.view, {{4, 3}, 1, {1, 1, 1, 1}}, 1)).code, ErrorCode::Internal);
}

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void put(const Tensor& tensor, int64_t element, double value) {
  auto* data = const_cast<std::byte*>(tensor.view.data);
  writeElement(data + element * static_cast<int64_t>(graph::dtypeBytes(tensor.view.dtype)), tensor.view.dtype, value);
}

TEST(Finite, OneElementIsFoundWhereverItIs) {
  std::mt19937_64 random(1);
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16}) {
    for (const double strange : {kInfinite, -kInfinite, kNone}) {
      const Tensor sound = makeTensor({300, 500}, {500, 1}, dtype, random);
      const Tensor last = makeTensor({300, 500}, {500, 1}, dtype, random);
      put(last, 149'999, strange);
      const Tensor columns = makeTensor({7, 5}, {1, 7}, dtype, random);
      put(columns, 20, strange);
      const std::vector<TensorView> weights{sound.view, last.view, columns.view};
      EXPECT_EQ(holdNonFinite(weights, 2), (std::vector<bool>{false, true, true}));
    }
  }
}

TEST(Finite, WhatLiesBetweenTheElementsIsNoneOfThem) {
  std::mt19937_64 random(2);
  const Tensor spaced = makeTensor({4, 3}, {6, 2}, DType::Float32, random);
  put(spaced, 1, kNone);
  EXPECT_EQ(holdNonFinite({&spaced.view, 1}, 1), std::vector<bool>{false});
  put(spaced, 8, kNone);
  EXPECT_EQ(holdNonFinite({&spaced.view, 1}, 1), std::vector<bool>{true});
}

TEST(Finite, OtherTypesAndAbsentDataHoldNone) {
  const std::vector<TensorView> weights{{nullptr, DType::Float32, {2}, {1}, nullptr},
                                        {nullptr, DType::Int64, {0}, {1}, nullptr}};
  EXPECT_EQ(holdNonFinite(weights, 2), (std::vector<bool>{false, false}));
}

struct Pending {
  std::vector<Tensor> tensors;
  std::vector<std::shared_ptr<const EditedWeight>> weights;
  std::shared_ptr<PendingWeights> set;

  explicit Pending(const std::vector<Shape>& shapes) {
    std::mt19937_64 random(1);
    const int64_t axes[] = {0};
    for (const Shape& shape : shapes) {
      tensors.push_back(makeTensor(shape, stridesFor(shape, Layout::RowMajor, random), DType::Float32, random));
      weights.push_back(center({tensors.back().view, nullptr}, ops::Pattern::overAxes(shape, axes)).edited);
    }
    set = PendingWeights::reserve(weights);
  }
  [[nodiscard]] std::span<const std::byte> bytesOf(size_t i) const {
    const auto view = set->view(i);
    return {view.data, static_cast<size_t>(graph::byteCount(view))};
  }
  [[nodiscard]] std::vector<std::byte> expected(size_t i) const {
    auto out = bufferFor(tensors[i].view);
    EXPECT_TRUE(weights[i]->compute(out, 1));
    return out;
  }
};

TEST(PendingWeights, AreComputedAtTheirAddresses) {
  const Pending pending({{3, 5}, {1200, 600}, {7, 1}});
  for (size_t i = 0; i < pending.weights.size(); ++i) {
    const auto part = must(pending.set->partAt(pending.bytesOf(i)));
    EXPECT_EQ(part.weight, pending.weights[i].get());
    EXPECT_EQ(part.offset, 0U);
    EXPECT_EQ(pending.set->partAt(pending.bytesOf(i).subspan(8, 4))->offset, 8U);
  }
  ASSERT_TRUE(pending.set->compute(pending.bytesOf(1).data() + 17));
  EXPECT_FALSE(pending.set->partAt(pending.bytesOf(1)));
  EXPECT_TRUE(pending.set->partAt(pending.bytesOf(0)));
  ASSERT_TRUE(pending.set->computeAll({}));
  for (size_t i = 0; i < pending.weights.size(); ++i) {
    EXPECT_FALSE(pending.set->partAt(pending.bytesOf(i)));
    EXPECT_TRUE(std::ranges::equal(pending.bytesOf(i), pending.expected(i)));
  }
}

TEST(PendingWeights, ViewsKeepThemAlive) {
  auto pending = std::make_optional<Pending>(std::vector<Shape>{{64, 64}});
  const auto view = pending->set->view(0);
  const auto expected = pending->expected(0);
  ASSERT_TRUE(pending->set->computeAll({}));
  pending.reset();
  EXPECT_EQ(std::memcmp(view.data, expected.data(), expected.size()), 0);
}

TEST(PendingWeights, OtherAddressesAreNotTheirs) {
  const Pending pending({{64, 64}});
  const std::vector<std::byte> elsewhere(16);
  EXPECT_FALSE(pending.set->partAt(elsewhere));
  EXPECT_TRUE(pending.set->compute(elsewhere.data()));
  EXPECT_TRUE(pending.set->partAt(pending.bytesOf(0)));
}

TEST(PendingWeights, WhatIsRefusedStaysPending) {
  std::vector<float> numbers(12, 1.0F);
  numbers[3] = std::numeric_limits<float>::quiet_NaN();
  const TensorView view{reinterpret_cast<const std::byte*>(numbers.data()), DType::Float32, {3, 4}, {4, 1}, nullptr};
  const int64_t axes[] = {0};
  const auto set = PendingWeights::reserve({center({view, nullptr}, ops::Pattern::overAxes({3, 4}, axes)).edited});
  EXPECT_EQ(set->computeAll({}).error().code, ErrorCode::Refused);
  EXPECT_TRUE(set->partAt({set->view(0).data, 4}));
}

TEST(PendingWeightsDeathTest, WhoDoesNotAskFirstReadsNothing) {
  const Pending pending({{64, 64}});
  const volatile std::byte* data = pending.bytesOf(0).data();
  EXPECT_DEATH(static_cast<void>(*data), "");
}

}  // namespace
}  // namespace normlens::fold

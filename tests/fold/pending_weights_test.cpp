// Weights with an address and no memory: found, computed where they are, and never read before.
#include "core/fold/pending_weights.h"

#include "tests/fold/weight_tensors.h"
#include "tests/support/must.h"

namespace normlens::fold {
namespace {

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

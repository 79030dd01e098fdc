// Property tests of the weight arithmetic against an obvious reference in double precision.
#include <map>

#include "tests/fold/weight_tensors.h"
#include "tests/support/must.h"

namespace normlens::fold {
namespace {

using ops::Factor;
using ops::Pattern;

// The reference: the group number of each element from its mixed-radix index; nullopt outside the region.
std::vector<std::optional<int64_t>> groupsOf(const Pattern& pattern, size_t elements) {
  std::vector<std::optional<int64_t>> groups;
  for (size_t i = 0; i < elements; ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t group = 0;
    int64_t radix = 1;
    bool inside = true;
    for (size_t f = pattern.factors.size(); f-- > 0;) {
      const Factor& factor = pattern.factors[f];
      const int64_t digit = rest % factor.size;
      rest /= factor.size;
      inside = inside && digit >= factor.begin && digit < factor.end;
      if (factor.summed) continue;
      group += (digit - factor.begin) * radix;
      radix *= factor.extent();
    }
    groups.push_back(inside ? std::optional(group) : std::nullopt);
  }
  return groups;
}

Status centerTensor(const graph::TensorView& in, const Pattern& pattern, std::span<std::byte> out, int threads) {
  return fill(center({in, nullptr}, pattern), out, threads);
}

struct Group {
  double sum = 0;
  int64_t count = 0;
};

std::vector<std::vector<double>> centeredReference(const std::vector<const Tensor*>& parts,
                                                   const std::vector<Pattern>& patterns) {
  std::map<int64_t, Group> groups;
  for (size_t p = 0; p < parts.size(); ++p) {
    const auto numbers = groupsOf(patterns[p], parts[p]->numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (!numbers[i]) continue;
      groups[*numbers[i]].sum += parts[p]->numbers[i];
      ++groups[*numbers[i]].count;
    }
  }
  std::vector<std::vector<double>> out;
  for (size_t p = 0; p < parts.size(); ++p) {
    out.push_back(parts[p]->numbers);
    const auto numbers = groupsOf(patterns[p], out.back().size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i]) out.back()[i] -= groups[*numbers[i]].sum / static_cast<double>(groups[*numbers[i]].count);
    }
  }
  return out;
}

Shape randomShape(std::mt19937_64& random) {
  constexpr int64_t kSizes[] = {1, 2, 3, 4, 6, 12, 35, 64};
  Shape shape(1 + random() % 4);
  for (auto& size : shape) size = kSizes[random() % std::size(kSizes)];
  return shape;
}

// Each axis whole or cut into two factors, some factors with a region.
Pattern randomPattern(const Shape& shape, std::mt19937_64& random) {
  ops::Factors factors;
  const auto add = [&](int64_t size) {
    Factor factor{size, 0, size, random() % 2 == 0};
    if (size > 1 && random() % 4 == 0) {
      factor.begin = static_cast<int64_t>(random() % static_cast<uint64_t>(size));
      factor.end = factor.begin + 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(size - factor.begin));
    }
    factors.push_back(factor);
  };
  for (const int64_t size : shape) {
    const int64_t inner = size % 3 == 0 ? 3 : size % 2 == 0 ? 2 : 1;
    if (random() % 2 == 0) {
      add(size);
    } else {
      add(size / inner);
      add(inner);
    }
  }
  return Pattern::fromFactors(factors);
}

class CenterRandom : public testing::TestWithParam<std::tuple<DType, Layout>> {};

TEST_P(CenterRandom, AgreesWithTheReference) {
  const auto [dtype, layout] = GetParam();
  std::mt19937_64 random(20 + static_cast<uint64_t>(dtype) * 10 + static_cast<uint64_t>(layout));
  for (int draw = 0; draw < 150; ++draw) {
    const Shape shape = randomShape(random);
    const Tensor tensor = makeTensor(shape, stridesFor(shape, layout, random), dtype, random);
    const Pattern pattern = randomPattern(shape, random);
    // Where a strided tensor's axes are merged by the pattern, alignTo may not be able to say so.
    if (layout != Layout::RowMajor && !ops::alignTo(pattern, shape)) continue;
    auto out = bufferFor(tensor.view);
    ASSERT_TRUE(centerTensor(tensor.view, pattern, out, 1 + draw % 3));
    expectClose(outputView(tensor.view, out), centeredReference({&tensor}, {pattern})[0], pattern.text());
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CenterRandom,
                         testing::Combine(testing::Values(DType::Float32, DType::Float64, DType::Float16,
                                                          DType::BFloat16),
                                          testing::Values(Layout::RowMajor, Layout::Permuted, Layout::Padded)));

TEST(Center, LargeEnoughForSeveralUnitsAndColumnBlocks) {
  std::mt19937_64 random(3);
  for (const bool outermost : {true, false}) {
    const Shape shape = {769, 515};
    const Tensor tensor = makeTensor(shape, {515, 1}, DType::Float32, random);
    const int64_t axes[] = {outermost ? 0 : 1};
    const Pattern pattern = Pattern::overAxes(shape, axes);
    auto out = bufferFor(tensor.view);
    ASSERT_TRUE(centerTensor(tensor.view, pattern, out, 2));
    expectClose(outputView(tensor.view, out), centeredReference({&tensor}, {pattern})[0], pattern.text());
  }
}

TEST(Center, APatternThatSumsNothingGivesZeroInItsRegionOnly) {
  std::mt19937_64 random(4);
  const Tensor tensor = makeTensor({6, 4}, {4, 1}, DType::Float32, random);
  const auto pattern = Pattern::fromFactors({{6, 1, 3, false}, {4, 0, 4, false}});
  auto out = bufferFor(tensor.view);
  ASSERT_TRUE(centerTensor(tensor.view, pattern, out, 1));
  const auto numbers = *graph::toDoubles(outputView(tensor.view, out));
  for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], i >= 4 && i < 12 ? 0.0 : tensor.numbers[i]);
}

TEST(Center, SeveralPartsAreOneGroup) {
  std::mt19937_64 random(5);
  // Two linears of one input, outputs concatenated: [3, 7] and [5, 7], summed over the outputs of both.
  const Tensor a = makeTensor({3, 7}, {7, 1}, DType::Float32, random);
  const Tensor b = makeTensor({5, 7}, {1, 5}, DType::Float32, random);
  const int64_t axes[] = {0};
  const std::vector<Pattern> patterns = {Pattern::overAxes({3, 7}, axes), Pattern::overAxes({5, 7}, axes)};
  auto outA = bufferFor(a.view);
  auto outB = bufferFor(b.view);
  const auto made = centerJointly({{{a.view, nullptr}, patterns[0]}, {{b.view, nullptr}, patterns[1]}});
  ASSERT_TRUE(fill(made[0], outA, 2));
  ASSERT_TRUE(fill(made[1], outB, 2));
  const auto want = centeredReference({&a, &b}, patterns);
  expectClose(outputView(a.view, outA), want[0], "first");
  expectClose(outputView(b.view, outB), want[1], "second");
}

TEST(Center, PartsWithDifferentNumbersOfGroupsAreRefused) {
  std::mt19937_64 random(6);
  const Tensor a = makeTensor({3, 7}, {7, 1}, DType::Float32, random);
  const Tensor b = makeTensor({3, 8}, {8, 1}, DType::Float32, random);
  const int64_t axes[] = {0};
  auto outA = bufferFor(a.view);
  const auto made = centerJointly(
      {{{a.view, nullptr}, Pattern::overAxes({3, 7}, axes)}, {{b.view, nullptr}, Pattern::overAxes({3, 8}, axes)}});
  EXPECT_EQ(fill(made[0], outA, 1).error().code, ErrorCode::Internal);
}

TEST(Center, OtherTypesAndWrongSizesAreErrors) {
  std::vector<std::byte> bytes(32);
  const TensorView ints{bytes.data(), DType::Int64, {4}, {1}, nullptr};
  std::vector<std::byte> out(32);
  const int64_t axes[] = {0};
  const auto pattern = Pattern::overAxes({4}, axes);
  EXPECT_EQ(centerTensor(ints, pattern, out, 1).error().code, ErrorCode::Unsupported);
  const TensorView floats{bytes.data(), DType::Float32, {4}, {1}, nullptr};
  EXPECT_EQ(centerTensor(floats, Pattern::overAxes({5}, axes), std::span(out).first(16), 1).error().code,
            ErrorCode::Internal);
}

TEST(Center, HalfTypesRoundToNearestOverTheirWholeRange) {
  // Two elements x and -x have mean 0: the result must be the input, bit for bit, for every finite pattern.
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    std::vector<uint16_t> bits;
    for (uint32_t pattern = 0; pattern < 0x8000; ++pattern) {
      const auto half = static_cast<uint16_t>(pattern);
      const float value = dtype == DType::Float16 ? graph::halfToFloat(half) : graph::bfloat16ToFloat(half);
      if (!std::isfinite(value) || value == 0) continue;
      bits.push_back(half);
      bits.push_back(static_cast<uint16_t>(half | 0x8000U));
    }
    const Shape shape = {static_cast<int64_t>(bits.size() / 2), 2};
    const TensorView view{reinterpret_cast<const std::byte*>(bits.data()), dtype, shape, {2, 1}, nullptr};
    const int64_t axes[] = {1};
    auto out = bufferFor(view);
    ASSERT_TRUE(centerTensor(view, Pattern::overAxes(shape, axes), out, 1));
    EXPECT_EQ(std::memcmp(out.data(), bits.data(), out.size()), 0);
  }
}

// What lies across blocks (the mean of a column, of a long row, of two axes) is the same wherever they are cut.
TEST(Center, BlocksOfAnySizeGiveTheSameBytes) {
  std::mt19937_64 random(8);
  for (int draw = 0; draw < 200; ++draw) {
    const Shape shape = randomShape(random);
    const Tensor tensor = makeTensor(shape, stridesFor(shape, Layout::RowMajor, random), DType::Float32, random);
    const WeightSource made = center({tensor.view, nullptr}, randomPattern(shape, random));
    auto whole = bufferFor(tensor.view), cut = whole;
    ASSERT_TRUE(made.edited->compute(whole, 2));
    ASSERT_TRUE(fill(made, cut, 1));
    ASSERT_EQ(whole, cut);
  }
}

TEST(Center, EditsFollowOneAnother) {
  std::mt19937_64 random(9);
  const Tensor tensor = makeTensor({6, 4}, {4, 1}, DType::Float32, random);
  const int64_t rows[] = {0}, columns[] = {1};
  const auto first = Pattern::overAxes({6, 4}, rows), second = Pattern::overAxes({6, 4}, columns);
  const WeightSource scaled = scale({tensor.view, nullptr}, {{1, 2, 3, 4, 5, 6}, {}, 0});
  const WeightSource made = center(center(scaled, first), second);
  Tensor expected = tensor;
  for (size_t i = 0; i < expected.numbers.size(); ++i)
    expected.numbers[i] *= static_cast<double>(1 + i / 4);  // NOLINT(bugprone-integer-division): by rows
  expected.numbers = centeredReference({&expected}, {first})[0];
  auto out = bufferFor(tensor.view);
  ASSERT_TRUE(fill(made, out, 2));
  expectClose(outputView(tensor.view, out), centeredReference({&expected}, {second})[0], "chain", 1e-5);
}

TEST(Center, ANumberThatWouldLeaveItsTypeIsRefusedInEveryKindOfGroup) {
  for (const int axis : {0, 1}) {
    std::vector<uint16_t> bits(16, 0x7B53);        // 60000 in float16
    for (const int i : {3, 12}) bits[i] = 0xFB53;  // -60000, and -90000 without the mean of its row or column
    const TensorView view{reinterpret_cast<const std::byte*>(bits.data()), DType::Float16, {4, 4}, {4, 1}, nullptr};
    const Pattern pattern = Pattern::fromFactors({{4, 0, 4, axis == 0}, {4, 0, 4, axis == 1}});
    auto out = bufferFor(view);
    EXPECT_EQ(centerTensor(view, pattern, out, 1).error().code, ErrorCode::Refused) << axis;
  }
}

TEST(Center, NumbersThatAreNotFiniteAreRefusedInEveryKindOfGroup) {
  for (const int axis : {0, 1}) {
    for (const bool sums : {true, false}) {
      std::vector<float> numbers(24, 1.0F);
      numbers[17] = std::numeric_limits<float>::infinity();
      const TensorView view{
          reinterpret_cast<const std::byte*>(numbers.data()), DType::Float32, {6, 4}, {4, 1}, nullptr};
      const Pattern pattern = Pattern::fromFactors({{6, 0, 6, sums && axis == 0}, {4, 0, 4, sums && axis == 1}});
      auto out = bufferFor(view);
      EXPECT_EQ(centerTensor(view, pattern, out, 1).error().code, ErrorCode::Refused) << axis << sums;
    }
  }
}

}  // namespace
}  // namespace normlens::fold

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stop_token>

#include "core/service/describe/weight_changes.h"
#include "tests/support/graph_text.h"
#include "tests/support/must.h"

namespace normlens::service {
namespace {

using graph::DType;
using graph::tensorFromDoubles;

// Weights that nothing reads, and a value that is computed.
graph::Graph graphOf(const std::vector<graph::TensorView>& views) {
  graph::Graph graph;
  for (const auto& view : views) {
    graph.constants.emplace_back().view = view;
    graph.values.emplace_back().constant = static_cast<graph::ConstantId>(graph.constants.size()) - 1;
  }
  graph.values.emplace_back();
  return graph;
}

protocol::WeightChange changeOf(const graph::TensorView& a, const graph::TensorView& b) {
  return must(weightChanges(graphOf({a}), graphOf({b}), {{0, 0}}, {}, {})).changes.at(0);
}

// Rows x columns of numbers without a pattern, from a generator of its own.
std::vector<double> someNumbers(int64_t count) {
  std::vector<double> numbers;
  uint32_t state = 7;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    numbers.push_back(static_cast<float>(state >> 8) / static_cast<double>(1 << 24) - 0.4);
  }
  return numbers;
}

// Less the means along an axis of a matrix.
std::vector<double> centered(std::vector<double> numbers, int64_t rows, int64_t columns, int axis) {
  const int64_t groups = axis == 0 ? columns : rows, size = axis == 0 ? rows : columns;
  const auto at = [&](int64_t group, int64_t i) -> double& {
    return numbers[static_cast<size_t>(axis == 0 ? i * columns + group : group * columns + i)];
  };
  for (int64_t group = 0; group < groups; ++group) {
    double mean = 0;
    for (int64_t i = 0; i < size; ++i) mean += at(group, i) / static_cast<double>(size);
    for (int64_t i = 0; i < size; ++i) at(group, i) -= mean;
  }
  return numbers;
}

TEST(WeightChanges, areTheLargestDifferenceAndTheLargestElementBefore) {
  const auto change = changeOf(tensorFromDoubles({2, 2}, {1, -8, 3, 4}), tensorFromDoubles({2, 2}, {1, -7.5, 3, 6}));
  EXPECT_EQ(change.reason, "");
  EXPECT_EQ(change.max_abs, 2);
  EXPECT_EQ(change.max_original, 8);
  EXPECT_EQ(change.centered_axis, -1);
}

TEST(WeightChanges, tellTheAxisAlongWhichAWeightWasCentered) {
  constexpr int64_t kRows = 300, kColumns = 301;  // more than a block
  const auto numbers = someNumbers(kRows * kColumns);
  for (const DType type : {DType::Float32, DType::Float16, DType::BFloat16}) {
    for (const int axis : {0, 1}) {
      const auto change =
          changeOf(tensorFromDoubles({kRows, kColumns}, numbers, type),
                   tensorFromDoubles({kRows, kColumns}, centered(numbers, kRows, kColumns, axis), type));
      EXPECT_EQ(change.centered_axis, axis) << graph::dtypeName(type);
      EXPECT_GT(change.max_abs, 0.05);
    }
  }
}

TEST(WeightChanges, aBiasCanBeCenteredAndAMeanThatIsLeftIsNoCentering) {
  const auto bias = tensorFromDoubles({4}, {1, 2, 3, 6});
  EXPECT_EQ(changeOf(bias, tensorFromDoubles({4}, {-2, -1, 0, 3})).centered_axis, 0);
  EXPECT_EQ(changeOf(bias, tensorFromDoubles({4}, {-1, 0, 1, 4})).centered_axis, -1) << "shifted by another number";
  EXPECT_EQ(changeOf(bias, tensorFromDoubles({4}, {-2, -1, 1, 2})).centered_axis, -1)
      << "no mean, but otherwise changed";
  const auto one = changeOf(tensorFromDoubles({1}, {5}), tensorFromDoubles({1}, {0}));
  EXPECT_EQ(one.centered_axis, -1) << "an axis of one element";
}

TEST(WeightChanges, tellACenteringOverHeadsOrGroups) {
  constexpr int64_t kHeads = 12, kSize = 16, kColumns = 20;
  const auto numbers = someNumbers(kHeads * kSize * kColumns);
  auto perHead = numbers;
  for (int64_t head = 0; head < kHeads; ++head) {
    const auto begin = perHead.begin() + head * kSize * kColumns, end = begin + kSize * kColumns;
    std::ranges::copy(centered({begin, end}, kSize, kColumns, 0), begin);
  }
  const graph::Shape shape{kHeads * kSize, kColumns};
  const auto told = [&](const std::vector<double>& after) {
    return changeOf(tensorFromDoubles(shape, numbers, DType::Float32), tensorFromDoubles(shape, after, DType::Float32));
  };
  EXPECT_EQ(told(perHead).centered_axis, 0);
  EXPECT_EQ(told(perHead).centered_part, kSize);
  EXPECT_EQ(told(centered(numbers, kHeads * kSize, kColumns, 0)).centered_part, 0) << "the whole axis";
  auto some = numbers;  // a third of the rows, as where queries, keys and values are one weight
  std::ranges::copy_n(perHead.begin(), kHeads / 3 * kSize * kColumns, some.begin());
  EXPECT_EQ(told(some).centered_part, kSize);
  auto off = perHead;  // one mean is left
  for (int64_t row = 0; row < kSize; ++row) off[static_cast<size_t>(row * kColumns)] += 0.01;
  EXPECT_EQ(told(off).centered_axis, -1);
  perHead[5] += 0.01;
  EXPECT_EQ(told(perHead).centered_axis, -1);
}

// The linear of %n takes the shift of the norm; what %off reads has nothing to do with it.
TEST(WeightChanges, tellAShiftThatMovedIntoABias) {
  const graph::Graph before = graph::parsed(R"(graph {
  input %x: float64[2, 5, 8]
  const %g: float64[8] random 3
  const %beta: float64[8] random 4
  const %w: float64[6, 8] random 5
  const %b: float64[6] random 6
  const %off: float64[6] random 7
  %n: float64[2, 5, 8] = LayerNorm(%x, %g, %beta) {axes = [2], eps = 1e-05}
  %y: float64[2, 5, 6] = Linear(%n, %w, %b)
  %z: float64[2, 5, 6] = Add(%y, %off)
  return %z
})");
  const auto idOf = [&](const std::string& name) {
    return static_cast<int>(std::ranges::find(before.values, name, &graph::Value::name) - before.values.begin());
  };
  const auto numbersOf = [&](const char* name) {
    return *graph::toDoubles(before.constants[static_cast<size_t>(before.value(idOf(name)).constant)].view);
  };
  const auto norms = analysis::findNorms(before).layerNorms;
  const auto beta = numbersOf("beta");
  auto weight = numbersOf("w"), bias = numbersOf("b");
  // What became of the bias `name`, with these numbers and with `weight` beside it.
  const auto told = [&](const char* name, const std::vector<double>& after) {
    graph::Graph other = before;
    const auto put = [&](const char* constant, const graph::Shape& shape, const std::vector<double>& numbers) {
      other.constants[static_cast<size_t>(before.value(idOf(constant)).constant)].view =
          tensorFromDoubles(shape, numbers, DType::Float64);
    };
    put(name, {6}, after);
    put("w", {6, 8}, weight);
    return must(weightChanges(before, other, {{idOf(name), idOf(name)}, {idOf("w"), idOf("w")}}, norms, {}))
        .changes.at(0);
  };
  const auto plusShift = [&](std::vector<double> numbers) {
    for (size_t i = 0; i < weight.size(); ++i) numbers[i / 8] += weight[i] * beta[i % 8];
    return numbers;
  };
  EXPECT_EQ(told("b", plusShift(bias)).shift_of, norms.at(0).title);
  EXPECT_EQ(told("off", plusShift(numbersOf("off"))).shift_of, "");
  auto half = plusShift(bias);
  half[2] += 0.01;
  EXPECT_EQ(told("b", half).shift_of, "");
  weight = centered(weight, 6, 8, 0);  // by the weights that the linear has by then
  const auto both = told("b", plusShift(centered(bias, 6, 1, 0)));
  EXPECT_EQ(both.shift_of, norms.at(0).title);
  EXPECT_EQ(both.centered_axis, 0);
}

TEST(WeightChanges, doNotDependOnHowATensorLiesInMemory) {
  auto transposed = tensorFromDoubles({2, 3}, {1, 4, 2, 5, 3, 6});
  transposed.strides = {1, 2};  // 1 2 3 / 4 5 6
  const auto change = changeOf(transposed, tensorFromDoubles({2, 3}, {-1, 0, 1, -1, 0, 1}));
  EXPECT_EQ(change.max_abs, 5);
  EXPECT_EQ(change.centered_axis, 1);
}

TEST(WeightChanges, whatIsNotFiniteOnOneSideIsInfinitelyFar) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(changeOf(tensorFromDoubles({2}, {nan, 1}), tensorFromDoubles({2}, {nan, 3})).max_abs, 2);
  const auto change = changeOf(tensorFromDoubles({2}, {nan, 1}), tensorFromDoubles({2}, {0, 1}));
  EXPECT_EQ(change.max_abs, infinity);
  EXPECT_EQ(change.max_original, 1);
  EXPECT_EQ(change.centered_axis, -1);
}

TEST(WeightChanges, sayWhyThereAreNone) {
  EXPECT_NE(changeOf(tensorFromDoubles({4}, {1, 2, 3, 4}), tensorFromDoubles({2, 2}, {1, 2, 3, 4})).reason, "");
  const auto graph = graphOf({tensorFromDoubles({1}, {1})});
  EXPECT_FALSE(weightChanges(graph, graph, {{0, 1}}, {}, {})) << "a value that is computed";
  EXPECT_FALSE(weightChanges(graph, graph, {{-1, 0}}, {}, {}));
  EXPECT_FALSE(weightChanges(graph, graph, {{0, 7}}, {}, {}));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(failureOf(weightChanges(graph, graph, {{0, 0}}, {}, Task{nullptr, stop.get_token()})).code,
            ErrorCode::Cancelled);
}

std::vector<std::string> digestsOf(const std::vector<graph::TensorView>& views) {
  return must(weightDigests(graphOf(views), {})).digests;
}

TEST(WeightDigests, tellTypesShapesAndBitsApart) {
  const auto digests = digestsOf({tensorFromDoubles({2, 2}, {1, 2, 3, 4}), tensorFromDoubles({2, 2}, {1, 2, 3, 4}),
                                  tensorFromDoubles({2, 2}, {1, 2, 3, 5}), tensorFromDoubles({4}, {1, 2, 3, 4}),
                                  tensorFromDoubles({2, 2}, {1, 2, 3, 4}, DType::Float64)});
  ASSERT_EQ(digests.size(), 5U);
  EXPECT_EQ(digests[0], digests[1]);
  for (size_t i = 2; i < digests.size(); ++i) EXPECT_NE(digests[0], digests[i]) << i;
}

TEST(WeightDigests, doNotDependOnHowATensorLiesInMemory) {
  auto transposed = tensorFromDoubles({2, 2}, {1, 3, 2, 4});
  transposed.strides = {1, 2};
  const auto digests = digestsOf({tensorFromDoubles({2, 2}, {1, 2, 3, 4}), transposed});
  ASSERT_EQ(digests.size(), 2U);
  EXPECT_EQ(digests[0], digests[1]);
}

TEST(WeightDigests, canBeStopped) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(failureOf(weightDigests(graphOf({tensorFromDoubles({1}, {1})}), Task{nullptr, stop.get_token()})).code,
            ErrorCode::Cancelled);
}

}  // namespace
}  // namespace normlens::service

#include <gtest/gtest.h>

#include <stop_token>

#include "core/service/describe/weight_digests.h"
#include "tests/support/graph_text.h"

namespace normlens::service {
namespace {

// A graph of weights that nothing reads.
graph::Graph graphOf(const std::vector<graph::TensorView>& views) {
  graph::Graph graph;
  for (const auto& view : views) {
    graph::Constant constant;
    constant.view = view;
    graph.constants.push_back(std::move(constant));
    graph::Value value;
    value.constant = static_cast<graph::ConstantId>(graph.constants.size()) - 1;
    graph.values.push_back(std::move(value));
  }
  return graph;
}

std::vector<std::string> digestsOf(const std::vector<graph::TensorView>& views) {
  const auto told = weightDigests(graphOf(views), {});
  EXPECT_TRUE(told) << (told ? "" : told.error().message);
  return told ? told->digests : std::vector<std::string>{};
}

TEST(WeightDigests, tellTypesShapesAndBitsApart) {
  const auto digests =
      digestsOf({graph::tensorFromDoubles({2, 2}, {1, 2, 3, 4}), graph::tensorFromDoubles({2, 2}, {1, 2, 3, 4}),
                 graph::tensorFromDoubles({2, 2}, {1, 2, 3, 5}), graph::tensorFromDoubles({4}, {1, 2, 3, 4}),
                 graph::tensorFromDoubles({2, 2}, {1, 2, 3, 4}, graph::DType::Float64)});
  ASSERT_EQ(digests.size(), 5U);
  EXPECT_EQ(digests[0], digests[1]);
  for (size_t i = 2; i < digests.size(); ++i) EXPECT_NE(digests[0], digests[i]) << i;
}

TEST(WeightDigests, doNotDependOnHowATensorLiesInMemory) {
  auto transposed = graph::tensorFromDoubles({2, 2}, {1, 3, 2, 4});
  transposed.strides = {1, 2};
  const auto digests = digestsOf({graph::tensorFromDoubles({2, 2}, {1, 2, 3, 4}), transposed});
  ASSERT_EQ(digests.size(), 2U);
  EXPECT_EQ(digests[0], digests[1]);
}

TEST(WeightDigests, canBeStopped) {
  std::stop_source stop;
  stop.request_stop();
  const auto told = weightDigests(graphOf({graph::tensorFromDoubles({1}, {1})}), Task{nullptr, stop.get_token()});
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::Cancelled);
}

}  // namespace
}  // namespace normlens::service

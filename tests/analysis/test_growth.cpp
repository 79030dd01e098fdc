// An analysis takes time in proportion to the reads of a graph, however its values are read. Times are the processor's,
// and only the growth from one size to the next is judged.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "core/analysis/analysis.h"
#include "tests/support/graph_builder.h"

namespace normlens::analysis {
namespace {

using graph::OpKind;
using graph::ValueId;
using testing::GraphBuilder;

constexpr int64_t kWidth = 4;

ValueId norm(GraphBuilder& made, ValueId x) {
  const auto last = static_cast<int64_t>(made.shape(x).size()) - 1;
  return made.add(OpKind::LayerNorm, {x, graph::kNoValue, graph::kNoValue}, made.shape(x),
                  {{"axes", std::vector<int64_t>{last}}, {"eps", 1e-5}});
}

ValueId linear(GraphBuilder& made, ValueId x) {
  return made.add(OpKind::Linear, {x, made.weight({kWidth, made.shape(x).back()}), graph::kNoValue}, {2, kWidth});
}

ValueId concat(GraphBuilder& made, const std::vector<ValueId>& parts) {
  return made.add(OpKind::Concat, parts, {2, kWidth * static_cast<int64_t>(parts.size())}, {{"axis", int64_t{1}}});
}

ValueId sum(GraphBuilder& made, ValueId a, ValueId b) { return made.add(OpKind::Add, {a, b}, {2, kWidth}); }

std::vector<ValueId> linears(GraphBuilder& made, int count) {
  const ValueId x = made.input({2, kWidth});
  std::vector<ValueId> all;
  for (int i = 0; i < count; ++i) all.push_back(linear(made, x));
  return all;
}

// A block reads what all blocks before it made, side by side.
void denseConcats(GraphBuilder& made, int blocks) {
  std::vector<ValueId> all = linears(made, 2);
  for (int i = 0; i < blocks; ++i) all.push_back(linear(made, norm(made, concat(made, all))));
}

// A block reads the sum of what all blocks before it made.
void denseSums(GraphBuilder& made, int blocks) {
  std::vector<ValueId> all = linears(made, 2);
  for (int i = 0; i < blocks; ++i) {
    ValueId total = all[0];
    for (size_t part = 1; part < all.size(); ++part) total = sum(made, total, all[part]);
    all.push_back(linear(made, norm(made, total)));
  }
}

void wideConcat(GraphBuilder& made, int parts) { linear(made, norm(made, concat(made, linears(made, parts)))); }

// Each of as many concatenations reads each of these values.
void readsOfAllByAll(GraphBuilder& made, int count) {
  const std::vector<ValueId> all = linears(made, count);
  for (int i = 0; i < count; ++i) linear(made, norm(made, concat(made, all)));
}

void stream(GraphBuilder& made, int blocks) {
  ValueId x = linears(made, 1)[0];
  for (int i = 0; i < blocks; ++i) x = norm(made, sum(made, x, linear(made, x)));
}

struct Family {
  const char* name;
  void (*build)(GraphBuilder&, int);
  int blocks;  // of the small one; the large one has four times as many
};

void PrintTo(const Family& family, std::ostream* out) { *out << family.name; }

class Growth : public ::testing::TestWithParam<Family> {};

struct Took {
  double seconds = 0;
  size_t reads = 0, norms = 0;
};

Took analysisOf(const Family& family, int blocks) {
  GraphBuilder made(7);
  family.build(made, blocks);
  Took took;
  for (const auto& value : made.graph().values) took.reads += value.uses.size();
  for (int round = 0; round < 3; ++round) {
    const std::clock_t begun = std::clock();
    const auto analysis = analyze(made.graph(), Task{});
    const double seconds = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
    took.seconds = round == 0 ? seconds : std::min(took.seconds, seconds);
    took.norms = analysis.value()->norms.layerNorms.size();
  }
  return took;
}

TEST_P(Growth, IsThatOfTheReads) {
  constexpr int kTimes = 4;
  constexpr double kSlack = 3;  // Caches hold the small graph, and tables double.
  const Took small = analysisOf(GetParam(), GetParam().blocks);
  const Took large = analysisOf(GetParam(), kTimes * GetParam().blocks);
  EXPECT_GT(large.norms, 0U);
  const double reads = static_cast<double>(large.reads) / static_cast<double>(small.reads);
  EXPECT_LT(large.seconds, kSlack * reads * small.seconds)
      << small.reads << " reads took " << small.seconds << " s, " << large.reads << " took " << large.seconds << " s";
  RecordProperty("seconds", std::to_string(large.seconds));
}

INSTANTIATE_TEST_SUITE_P(, Growth,
                         ::testing::Values(Family{"denseConcats", denseConcats, 100},
                                           Family{"denseSums", denseSums, 40}, Family{"wideConcat", wideConcat, 1000},
                                           Family{"readsOfAllByAll", readsOfAllByAll, 60},
                                           Family{"stream", stream, 2000}),
                         [](const auto& family) { return family.param.name; });

}  // namespace
}  // namespace normlens::analysis

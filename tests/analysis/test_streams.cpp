// Residual streams that lose a channel: what is found, what is refused, and that no output changes.
#include "core/analysis/streams/streams.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/analysis/analyzed.h"
#include "tests/support/must.h"
#include "tests/support/random_graph.h"

namespace normlens::analysis {
namespace {

using graph::kNoValue;
using graph::OpKind;
using graph::Shape;
using graph::ValueId;
using testing::GraphBuilder;
using Ints = std::vector<int64_t>;

constexpr int64_t kBatch = 2, kTokens = 3, kWidth = 8, kHidden = 12, kRows = 5;

// Pre-LN blocks over a stream of an embedding and positions.
class Blocks {
 public:
  explicit Blocks(unsigned seed) : g(seed) {
    ids = g.input({kBatch, kTokens}, graph::DType::Int64);
    const ValueId rows = g.add(OpKind::Gather, {g.weight({kRows, kWidth}), ids}, kStream, {{"axis", int64_t{0}}});
    stream = g.add(OpKind::Add, {rows, g.weight({kTokens, kWidth})}, kStream);
  }

  ValueId norm(ValueId x) {
    const Shape shape = g.shape(x);  // a copy: values move as the graph grows
    const Shape tail{shape.back()};
    return g.add(OpKind::LayerNorm, {x, g.weight(tail), g.weight(tail)}, shape,
                 {{"axes", Ints{static_cast<int64_t>(shape.size()) - 1}}, {"eps", 1e-5}});
  }
  ValueId linear(ValueId x, int64_t in, int64_t out, bool bias = true) {
    Shape shape = g.shape(x);
    shape.back() = out;
    return g.add(OpKind::Linear, {x, g.weight({out, in}), bias ? g.weight({out}) : kNoValue}, shape);
  }
  ValueId gelu(ValueId x) {
    const Shape shape = g.shape(x);
    return g.add(OpKind::Elementwise, {x}, shape, {}, "aten::gelu");
  }
  void addBlock(bool bias = true) {
    const ValueId hidden = gelu(linear(norm(stream), kWidth, kHidden, bias));
    stream = g.add(OpKind::Add, {stream, linear(hidden, kHidden, kWidth)}, kStream);
  }
  void finish(ValueId out) { g.addReturn(0, out); }

  const Shape kStream{kBatch, kTokens, kWidth};
  GraphBuilder g;
  ValueId ids, stream;
};

struct Outcome {
  std::unique_ptr<Analysis> analysis;
  StreamPlan streams;
  double error = 0;
};

// At several widths; an error where any is off.
Outcome narrow(const graph::Graph& graph, StreamPadding padding = StreamPadding::None, Policy policy = Policy::Free) {
  Outcome out;
  out.analysis = analyze(graph, Task{}).value();
  const Plan plan = makePlan(*out.analysis, optionsOf(policy));
  out.streams = planStreams(*out.analysis, plan, padding);
  out.error = differenceOf(graph, out.analysis->norms.layerNorms, narrowed(plan, out.streams.edits));
  return out;
}

constexpr double kTolerance = 1e-10;

TEST(Streams, aPreNormStreamLosesAChannel) {
  for (const StreamPadding padding : {StreamPadding::None, StreamPadding::Even, StreamPadding::Blocks}) {
    Blocks model(1);
    model.addBlock();
    model.addBlock();
    model.finish(model.linear(model.norm(model.stream), kWidth, 4));
    const auto out = narrow(model.g.graph(), padding);
    ASSERT_EQ(out.streams.refused, "");
    ASSERT_EQ(out.streams.streams.size(), 1U);
    const Stream& stream = out.streams.streams[0];
    const int64_t width = padding == StreamPadding::None ? 7 : padding == StreamPadding::Even ? 8 : 64;
    EXPECT_EQ(stream.channels, (fold::Channels{8, width}));
    EXPECT_EQ(stream.norms, (std::vector{0, 1, 2}));
    EXPECT_EQ(stream.adds, 2);
    EXPECT_EQ(stream.restored, 0);
    EXPECT_EQ(stream.cuts, 0);
    EXPECT_EQ(out.streams.edits.norms.size(), 3U);
    // Table, positions, and weight and bias of both linears into the stream; three weights that read a norm.
    EXPECT_EQ(out.streams.edits.constants.size(), 9U);
    EXPECT_EQ(std::ranges::count(out.streams.edits.constants, true, &fold::NarrowConstant::readsNorm), 3);
    EXPECT_LT(out.error, kTolerance);
  }
}

TEST(Streams, aNormThatSomethingElseReadsGetsAllChannelsBack) {
  Blocks model(2);
  model.addBlock();
  model.addBlock(/*bias=*/false);  // where beta has no bias to go into
  model.finish(model.gelu(model.norm(model.stream)));
  const auto out = narrow(model.g.graph());
  ASSERT_EQ(out.streams.streams.size(), 1U);
  EXPECT_EQ(out.streams.streams[0].restored, 2);
  EXPECT_EQ(out.streams.edits.norms.size(), 1U);
  EXPECT_LT(out.error, kTolerance);
}

TEST(Streams, aStreamThatBeginsAtAnInputIsCentredAndCutAtRunTime) {
  Blocks model(3);
  model.stream = model.g.input(model.kStream);
  model.addBlock();
  model.addBlock();
  model.finish(model.linear(model.norm(model.stream), kWidth, 4));
  const auto out = narrow(model.g.graph(), StreamPadding::Even, Policy::All);
  ASSERT_EQ(out.streams.streams.size(), 1U) << out.streams.refused;
  EXPECT_EQ(out.streams.streams[0].refused, "");
  EXPECT_EQ(out.streams.streams[0].cuts, 1);
  EXPECT_LT(out.error, kTolerance);
}

TEST(Streams, theSequenceMayBeCutJoinedAndAveraged) {
  Blocks model(4);
  auto& g = model.g;
  const ValueId cls = g.add(OpKind::Expand, {g.weight({1, 1, kWidth})}, {kBatch, 1, kWidth});
  const Shape longer{kBatch, kTokens + 1, kWidth};
  ValueId x = g.add(OpKind::Concat, {cls, model.stream}, longer, {{"axis", int64_t{1}}});
  const ValueId y = model.linear(model.gelu(model.linear(model.norm(x), kWidth, kHidden)), kHidden, kWidth);
  x = g.add(OpKind::Add, {x, y}, longer);
  const ValueId mean = g.add(OpKind::Reduce, {x}, {kBatch, kWidth},
                             {{"op", std::string("mean")}, {"axes", Ints{1}}, {"keepdim", false}});
  model.finish(model.linear(model.norm(mean), kWidth, 4));
  const auto out = narrow(g.graph());
  ASSERT_EQ(out.streams.refused, "");
  EXPECT_EQ(out.streams.edits.sizes.size(), 1U);
  EXPECT_EQ(out.streams.edits.norms.size(), 2U);
  EXPECT_LT(out.error, kTolerance);
}

TEST(Streams, oneWeightMayWriteAndReadAStream) {
  Blocks model(5);
  auto& g = model.g;
  const ValueId y = model.linear(model.norm(model.stream), kWidth, kWidth);
  model.stream = g.add(OpKind::Add, {model.stream, y}, model.kStream);
  model.finish(model.linear(model.norm(model.stream), kWidth, 4));
  const auto out = narrow(g.graph());
  ASSERT_EQ(out.streams.refused, "");
  EXPECT_EQ(out.streams.edits.norms.size(), 2U);
  EXPECT_LT(out.error, kTolerance);
}

// What reads the stream otherwise: `read` returns a value made of it.
std::string refusalWhere(const std::function<ValueId(Blocks&)>& read) {
  Blocks model(6);
  model.addBlock();
  model.addBlock();
  const ValueId seen = read(model);
  model.finish(model.linear(model.norm(model.stream), kWidth, 4));
  model.finish(seen);
  const auto out = narrow(model.g.graph(), StreamPadding::None, Policy::All);
  EXPECT_LT(out.error, kTolerance);
  EXPECT_TRUE(out.streams.edits.empty());
  return out.streams.refused;
}

TEST(Streams, aStreamThatIsReadOtherwiseIsRefused) {
  EXPECT_NE(refusalWhere([](Blocks& m) { return m.stream; }).find("LayerNorm"), std::string::npos);
  EXPECT_NE(refusalWhere([](Blocks& m) { return m.gelu(m.stream); }), "");
  EXPECT_NE(refusalWhere([](Blocks& m) { return m.linear(m.stream, kWidth, 3); }), "");
  EXPECT_NE(refusalWhere([](Blocks& m) {
              return m.g.add(OpKind::Reshape, {m.stream}, {kBatch, kTokens, 2, kWidth / 2});
            }),
            "");
  EXPECT_NE(refusalWhere([](Blocks& m) {
              return m.g.add(OpKind::Slice, {m.stream}, {kBatch, kTokens, 2},
                             {{"axis", int64_t{2}}, {"start", int64_t{0}}, {"end", int64_t{2}}, {"step", int64_t{1}}});
            }),
            "");
}

// Two parts of one table, of which one goes into a stream that is an output: none of the two streams can change.
TEST(Streams, whatIsSplitBetweenTwoStreamsIsRefusedWithEither) {
  Blocks model(9);
  auto& g = model.g;
  const auto parts =
      g.addMany(OpKind::Split, {g.weight({2, kWidth})}, {{1, kWidth}, {1, kWidth}}, {{"axis", int64_t{0}}});
  std::vector<ValueId> streams;
  for (const ValueId part : parts) {
    model.stream = g.add(OpKind::Gather, {g.weight({kRows, kWidth}), model.ids}, model.kStream, {{"axis", int64_t{0}}});
    model.stream = g.add(OpKind::Add, {model.stream, part}, model.kStream);
    model.addBlock();
    model.finish(model.linear(model.norm(model.stream), kWidth, 4));
    streams.push_back(model.stream);
  }
  EXPECT_EQ(narrow(g.graph()).streams.refused, "");
  model.finish(model.gelu(streams[1]));
  const auto out = narrow(g.graph());
  EXPECT_NE(out.streams.refused, "");
  EXPECT_TRUE(out.streams.edits.empty());
}

// A flip along the sequence leaves channels in their places, one along the channels does not: behind it a stream
// begins.
TEST(Streams, channelsThatAreReorderedBeginAStream) {
  for (const int64_t axis : {1, 2}) {
    Blocks model(10);
    model.addBlock();
    const ValueId before = model.stream;
    model.stream = model.g.add(OpKind::Roll, {before}, model.kStream, {{"axes", Ints{axis}}});
    model.addBlock();
    model.finish(model.linear(model.norm(model.stream), kWidth, 4));
    const auto out = narrow(model.g.graph());
    EXPECT_EQ(out.streams.refused, "");
    ASSERT_EQ(out.streams.streams.size(), 1U);
    EXPECT_EQ(out.streams.streams.back().refused, "");
    EXPECT_EQ(out.streams.streams.back().cuts, axis == 1 ? 0 : 1);
    EXPECT_LT(out.error, kTolerance);
  }
}

// An LN per head notices no shift of all heads: the norms fold, but the heads are cut from all channels.
TEST(Streams, headsOfTheStreamNeedAllChannels) {
  const auto why = refusalWhere([](Blocks& m) {
    const ValueId heads = m.g.add(OpKind::Reshape, {m.stream}, {kBatch, kTokens, 2, kWidth / 2});
    return m.norm(heads);
  });
  EXPECT_NE(why, "");
}

TEST(Streams, aPostNormModelHasNone) {
  for (const bool equal : {false, true}) {
    Blocks model(8);
    auto& g = model.g;
    const auto norm = [&](ValueId x) {
      const ValueId gamma = equal ? g.constant(testing::Tensor({kWidth}, 1)) : g.weight({kWidth});
      return g.add(OpKind::LayerNorm, {x, gamma, g.weight({kWidth})}, model.kStream,
                   {{"axes", Ints{2}}, {"eps", 1e-5}});
    };
    ValueId x = norm(model.stream);
    for (int i = 0; i < 2; ++i) {
      const ValueId y = model.linear(model.gelu(model.linear(x, kWidth, kHidden)), kHidden, kWidth);
      x = norm(g.add(OpKind::Add, {x, y}, model.kStream));
    }
    model.finish(model.linear(x, kWidth, 4));
    const auto out = narrow(g.graph(), StreamPadding::None, Policy::All);
    EXPECT_NE(out.streams.refused, "") << equal;
    EXPECT_TRUE(out.streams.edits.empty()) << equal;
  }
}

TEST(Streams, everyPlanKeepsTheOutputsOfRandomModels) {
  constexpr testing::ModelSize kProbe{2, 3};
  int narrow = 0, restored = 0, cuts = 0, norms = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const graph::Graph graph = testing::randomModel(seed, kProbe, 2 + static_cast<int>(seed % 5));
    const auto analysis = must(analyze(graph, Task{}));
    std::mt19937 random(seed);
    for (const Policy policy : {Policy::Free, Policy::All}) {
      const Plan plan = makePlan(*analysis, optionsOf(policy));
      const auto padding = seed % 2 == 0 ? StreamPadding::None : StreamPadding::Even;
      const auto streams = planStreams(*analysis, plan, padding);
      if (!streams.refused.empty()) continue;
      const auto& layerNorms = analysis->norms.layerNorms;
      const auto folded = testing::applyPlan(graph, layerNorms, plan);
      const auto changed = testing::applyPlan(graph, layerNorms, narrowed(plan, streams.edits));
      const auto inputs = testing::drawInputs(graph, random);
      // Beside the fold, whose own noise the tests of random graphs judge.
      EXPECT_LT(testing::maxRelative(testing::interpret(folded, inputs), testing::interpret(changed, inputs)), 1e-8)
          << "seed " << seed << ", policy " << nameOf(policy);
      ++narrow;
      for (const auto& stream : streams.streams) {
        restored += stream.restored;
        cuts += stream.cuts;
      }
      norms += static_cast<int>(streams.edits.norms.size());
    }
  }
  EXPECT_GT(narrow, 20);
  EXPECT_GT(restored, 10);
  EXPECT_GT(cuts, 3);
  EXPECT_GT(norms, 5);
}

}  // namespace
}  // namespace normlens::analysis

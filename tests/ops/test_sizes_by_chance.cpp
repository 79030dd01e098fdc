// What a rule must refuse because the sizes that make it look right are those of the probe run alone.
#include <gtest/gtest.h>

#include <array>

#include "core/ops/axis_size.h"
#include "core/ops/rules.h"
#include "core/ops/size_question.h"
#include "tests/ops/patterns.h"
#include "tests/support/graph_builder.h"
#include "tests/support/graph_interpreter.h"
#include "tests/support/graph_text.h"
#include "tests/support/rule_property.h"

namespace normlens::ops {
namespace {

using graph::Attributes;
using graph::OpKind;
using graph::Shape;
using testing::OneNode;
using testing::oneNode;
using testing::toleratesShift;
using Ints = std::vector<int64_t>;

const Shape kX{2, 3, 8};

// Half of the channels: of a linear's, whose number is fixed, or of the input's.
TEST(Refused, partsOfTheChannelsThatMoveWithTheInput) {
  const auto refuses = [](bool ofLinear, OpKind kind, Attributes attributes) {
    testing::GraphBuilder g(1);
    const auto x = g.input({2, 3, 12});
    const auto h = ofLinear ? g.add(OpKind::Linear, {x, g.weight({12, 12})}, {2, 3, 12}) : x;
    attributes.emplace_back("axis", int64_t{2});
    std::vector<Shape> parts{{2, 3, 6}};
    if (kind == OpKind::Split) parts.push_back(parts[0]);
    const auto half = g.addMany(kind, {h}, parts, attributes)[0];
    const auto& node = g.graph().node(g.graph().value(half).producer);
    return opRow(kind).zeroMean(g.graph(), node, 0, over(parts[0], {2})).verdict == ZeroMean::Verdict::Refused;
  };
  const Attributes from{{"start", int64_t{6}}};
  const Attributes toTheEnd{{"start", int64_t{6}}, {"end", int64_t{12}}, {"from_end", true}};
  const Attributes written{{"start", int64_t{6}}, {"end", int64_t{12}}};
  Attributes exact = written;
  exact.emplace_back("exact", true);
  for (const bool ofLinear : {false, true}) {
    EXPECT_TRUE(refuses(ofLinear, OpKind::Slice, from));
    EXPECT_EQ(refuses(ofLinear, OpKind::Slice, toTheEnd), !ofLinear);
    EXPECT_EQ(refuses(ofLinear, OpKind::Slice, written), !ofLinear) << "of a shorter axis it takes less";
    EXPECT_FALSE(refuses(ofLinear, OpKind::Slice, exact)) << "of a shorter axis it takes nothing: the run fails";
    EXPECT_TRUE(refuses(ofLinear, OpKind::Split, {}));
    EXPECT_EQ(refuses(ofLinear, OpKind::Split, {{"divides", true}}), !ofLinear);
    EXPECT_FALSE(refuses(ofLinear, OpKind::Split, {{"sizes", Ints{6, 6}}}));
  }
}

// What covers a whole axis of the probe's, at sizes that the file writes, covers a part of a longer one.
TEST(Refused, allOfAnAxisWhoseLengthTheInputDecides) {
  const auto refuses = [](bool ofLinear, OpKind kind, Attributes attributes, const Shape& to) {
    testing::GraphBuilder g(1);
    const auto x = g.input({2, 3, 12});
    const auto h = ofLinear ? g.add(OpKind::Linear, {x, g.weight({12, 12})}, {2, 3, 12}) : x;
    const auto y = g.add(kind, {h}, to, std::move(attributes));
    const auto& node = g.graph().node(g.graph().value(y).producer);
    const Pattern last = over(to, {static_cast<int64_t>(to.size()) - 1});
    return opRow(kind).zeroMean(g.graph(), node, 0, last).verdict == ZeroMean::Verdict::Refused;
  };
  const Attributes all{{"axis", int64_t{2}}, {"start", int64_t{0}}, {"end", int64_t{12}}};
  Attributes toTheEnd = all;
  toTheEnd.emplace_back("from_end", true);
  for (const bool ofLinear : {false, true}) {
    EXPECT_EQ(refuses(ofLinear, OpKind::Slice, all, {2, 3, 12}), !ofLinear);
    EXPECT_EQ(refuses(ofLinear, OpKind::Slice, toTheEnd, {2, 3, 12}), !ofLinear);
    EXPECT_EQ(refuses(ofLinear, OpKind::Split, {{"axis", int64_t{2}}, {"sizes", Ints{12}}}, {2, 3, 12}), !ofLinear);
    EXPECT_EQ(refuses(ofLinear, OpKind::Reshape, {}, {6, 12}), !ofLinear);
    EXPECT_EQ(refuses(ofLinear, OpKind::Reshape, {}, {2, 3, 2, 6}), !ofLinear);
  }
}

TEST(Refused, aJoinedPartThatIsEmptyByChance) {
  testing::GraphBuilder g(1);
  const auto x = g.input({2, 8}), none = g.input({2, 0});
  const auto y = g.add(OpKind::Concat, {none, x}, {2, 8}, {{"axis", int64_t{1}}});
  const auto& node = g.graph().node(g.graph().value(y).producer);
  EXPECT_EQ(opRow(OpKind::Concat).zeroMean(g.graph(), node, 0, over({2, 8}, {1})).verdict, ZeroMean::Verdict::Refused);
}

// A decoder's first step has one position, and what it is added to has several.
TEST(Refused, aShiftIsNotConstantAlongAnAxisThatIsOneByChance) {
  const auto widened = [](bool ofWeight) {
    testing::GraphBuilder g(1);
    const auto x = ofWeight ? g.weight({2, 1, 8}) : g.input({2, 1, 8});
    const auto y = g.add(OpKind::Add, {x, g.input({2, 4, 8})}, {2, 4, 8});
    const auto& node = g.graph().node(g.graph().value(y).producer);
    return opRow(OpKind::Add).shift(g.graph(), node, 0, over({2, 1, 8}, {2})).outputs.at(0).pattern.text();
  };
  EXPECT_EQ(widened(true), over({2, 4, 8}, {1, 2}).text());
  EXPECT_EQ(widened(false), over({2, 4, 8}, {2}).text());
}

// The rule of a product of channels and a gate that the input gives, with what the file says of the gate's sizes.
ZeroMean::Verdict gated(const Shape& gate, std::optional<Shape> declared, const std::vector<int>& assumed) {
  testing::GraphBuilder g(1);
  const auto x = g.add(OpKind::Linear, {g.input(kX), g.weight({8, 8})}, kX);
  const auto by = g.input(gate);
  const auto y = g.add(OpKind::Mul, {x, g.add(OpKind::Elementwise, {by}, gate)}, kX);
  g.graph().values[static_cast<size_t>(by)].declared = std::move(declared);
  for (const int fromLast : assumed) g.graph().assumed.push_back({by, fromLast});
  const auto& node = g.graph().node(g.graph().value(y).producer);
  return opRow(OpKind::Mul).zeroMean(g.graph(), node, 0, over(kX, {2})).verdict;
}

TEST(Refused, aGateThatHasOneElementByChance) {
  constexpr auto kRefused = ZeroMean::Verdict::Refused, kNeeds = ZeroMean::Verdict::Needs;
  EXPECT_EQ(gated({2, 3, 1}, std::nullopt, {}), kRefused);
  EXPECT_EQ(gated({2, 3, 1}, Shape{-1, -1, -1}, {}), kRefused);
  EXPECT_EQ(gated({2, 3, 1}, Shape{-1, -1, 1}, {}), kNeeds);
  EXPECT_EQ(gated({2, 3, 1}, std::nullopt, {1}), kNeeds);
  EXPECT_EQ(gated({2, 3, 1}, std::nullopt, {2}), kRefused);
}

TEST(Refused, aGateThatHasNoSuchAxisByChance) {
  constexpr auto kRefused = ZeroMean::Verdict::Refused, kNeeds = ZeroMean::Verdict::Needs;
  EXPECT_EQ(gated({}, std::nullopt, {}), kRefused);
  EXPECT_EQ(gated({}, Shape{}, {}), kNeeds);
  EXPECT_EQ(gated({}, std::nullopt, {1}), kNeeds);
}

// A batch of one matrix, and a weight with a batch of its own: mean over the batch.
TEST(Refused, aMatrixProductWithABatchOfOneByChance) {
  const auto verdict = [](std::optional<Shape> declared) {
    testing::GraphBuilder g(1);
    const auto x = g.input({1, 3, 8});
    g.graph().values[static_cast<size_t>(x)].declared = std::move(declared);
    const auto y = g.add(OpKind::MatMul, {x, g.weight({4, 8, 5})}, {4, 3, 5});
    const auto& node = g.graph().node(g.graph().value(y).producer);
    return opRow(OpKind::MatMul).zeroMean(g.graph(), node, 0, over({4, 3, 5}, {0})).verdict;
  };
  EXPECT_EQ(verdict(Shape{-1, -1, 8}), ZeroMean::Verdict::Refused);
  EXPECT_EQ(verdict(Shape{1, -1, 8}), ZeroMean::Verdict::Needs);
}

// reshape(2, 3, -1) of [2, 3, 8] has other rows where the input has another number of tokens.
TEST(Refused, whatIsLeftBesideASizeThatTheInputDecides) {
  testing::GraphBuilder g(1);
  const auto x = g.input(kX);
  const std::vector<ListedSize> sizes{{2, {}}, {3, {}}, {-1, {}}};
  SizeQuestion open(g.graph());
  EXPECT_EQ(computedAxes(open, x, kX, sizes), std::vector<int64_t>{2});
  g.graph().values[static_cast<size_t>(x)].declared = kX;
  SizeQuestion declared(g.graph());
  EXPECT_EQ(computedAxes(declared, x, kX, sizes), std::vector<int64_t>{});
}

// What has size 1 in the probe alone goes into the axis of -1, and the rows between are then made of other parts.
TEST(Refused, whatMinusOneTakesUpInAnotherRun) {
  using Axes = std::vector<int64_t>;
  const auto computed = [](Shape x, Shape declared, const Shape& y, int64_t rest, const Axes& written) {
    testing::GraphBuilder g(1);
    const auto input = g.input(std::move(x));
    g.graph().values[static_cast<size_t>(input)].declared = std::move(declared);
    std::vector<ListedSize> sizes;
    for (size_t i = 0; i < y.size(); ++i) sizes.push_back({std::nullopt, SizeRead{input, i}});
    sizes[static_cast<size_t>(rest)] = {-1, {}};
    for (const int64_t axis : written) sizes[static_cast<size_t>(axis)] = {y[static_cast<size_t>(axis)], {}};
    SizeQuestion question(g.graph());
    return computedAxes(question, input, y, sizes);
  };
  const Shape channels{2, 4, 2};
  EXPECT_EQ(computed({2, 8, 1, 1}, {-1, 8, -1, -1}, channels, 2, {1}), Axes{2});  // the group of both axes is cut anew
  EXPECT_EQ(computed({2, 8, 1, 1}, {-1, 8, 1, 1}, channels, 2, {1}), Axes{});
  EXPECT_EQ(computed({1, 5, 8}, {-1, -1, 8}, {5, 8}, 0, {1}), Axes{0});  // a batch joins the tokens, not the channels
  EXPECT_EQ(computed({1, 5, 8}, {-1, -1, 8}, {1, 5, 2, 4}, 3, {2}), Axes{});  // y shows the batch
  EXPECT_EQ(computed({1, 8, 1}, {1, 8, -1}, {1, 8}, 0, {1}), Axes{1});        // rows are no longer the channels
}

// A question that is kept while a graph is made, as a lowering does, knows what each node fixes.
TEST(KeptSizeQuestion, WhatAWeightFixesIsFixedFromThereOn) {
  testing::GraphBuilder g(1);
  const auto x = g.input(kX);
  const auto y = g.function(graph::Function::SquareRoot, {x}, kX);
  SizeQuestion kept(g.graph());
  EXPECT_EQ(kept.of(y, 2), (AxisSize{AxisSize::Kind::Free, x, 2}));
  const auto h = g.add(OpKind::Linear, {y, g.weight({4, 8})}, {2, 3, 4});
  kept.added(g.graph().node(g.graph().value(h).producer));
  EXPECT_TRUE(kept.isFixed(y, 2));
  EXPECT_FALSE(kept.isFixed(y, 1));
  EXPECT_FALSE(kept.isFixed(x, 2)) << "y may be wider than x in another run, had it another operand";
}

// ... and knows what one knows that is asked now.
TEST(KeptSizeQuestion, SaysWhatAFreshOneSaysAlongALongStream) {
  testing::GraphBuilder g(2);
  auto stream = g.input(kX);
  SizeQuestion kept(g.graph());
  for (int block = 0; block < 200; ++block) {
    const auto side = g.function(graph::Function::SquareRoot, {stream}, kX);
    EXPECT_EQ(kept.of(side, 1).kind, AxisSize::Kind::Free);
    const bool projects = block % 7 == 3;
    const auto out = projects ? g.add(OpKind::Linear, {side, g.weight({8, 8})}, kX) : side;
    stream = g.add(OpKind::Add, {stream, out}, kX);
    for (const auto value : {out, stream}) kept.added(g.graph().node(g.graph().value(value).producer));
  }
  for (size_t value = 0; value < g.graph().values.size(); ++value) {
    const auto id = static_cast<graph::ValueId>(value);
    for (size_t axis = 0; axis < 3; ++axis) {
      EXPECT_EQ(kept.isFixed(id, axis), isSizeFixed(g.graph(), id, axis)) << value << " " << axis;
    }
  }
}

// What was too far away for one question is near enough for another.
TEST(KeptSizeQuestion, OfRanksTooSaysWhatAFreshOneSays) {
  testing::GraphBuilder g(3);
  std::vector<graph::ValueId> stream{g.add(OpKind::ShapeQuery, {g.input(kX)}, {3}, {}, "", graph::DType::Int64)};
  for (int i = 0; i < 600; ++i) stream.push_back(g.function(graph::Function::SquareRoot, {stream.back()}, {3}));
  SizeQuestion kept(g.graph());
  EXPECT_FALSE(kept.hasRankOfProbe(stream.back())) << "the question goes no deeper";
  for (const auto value : {stream[300], stream[10], stream[500]}) {
    EXPECT_TRUE(SizeQuestion(g.graph()).hasRankOfProbe(value));
    EXPECT_TRUE(kept.hasRankOfProbe(value));
  }
}

// As above, where not even the size of x is known.
TEST(Refused, toTakeWhatIsLeftForAnAxisOfTheInput) {
  testing::GraphBuilder g(1);
  const auto x = g.input(kX);
  const auto rows = g.add(OpKind::Reshape, {x}, kX, {{"computed", Ints{2}}});
  EXPECT_EQ(axisSize(g.graph(), rows, 2).kind, AxisSize::Kind::Torn);
  EXPECT_EQ(axisSize(g.graph(), rows, 1), axisSize(g.graph(), x, 1));
}

// Either of two batches may be the one that is repeated.
TEST(Refused, toTakeTheSizeOfASumForThatOfOneOperand) {
  testing::GraphBuilder g(1);
  const auto x = g.input(kX), other = g.input({2, 1, 1});
  const auto sum = g.add(OpKind::Add, {x, other}, kX), twice = g.add(OpKind::Add, {sum, sum}, kX);
  EXPECT_NE(axisSize(g.graph(), sum, 0), axisSize(g.graph(), x, 0));
  EXPECT_EQ(axisSize(g.graph(), sum, 1), axisSize(g.graph(), x, 1));
  EXPECT_EQ(axisSize(g.graph(), twice, 0), axisSize(g.graph(), sum, 0));
}

// A shift of the first rows alone does not reach a part behind them, as long as that starts behind them.
TEST(Refused, toSeeNothingOfAShiftWhereTheCutMoves) {
  const auto seesNothing = [](Attributes attributes) {
    attributes.emplace_back("axis", int64_t{1});
    const OneNode parts = oneNode(OpKind::Split, {kX}, attributes, {{2, 2, 8}, {2, 1, 8}});
    const Shift shift = opRow(OpKind::Split).shift(parts.graph, parts.graph.node(0), 0, text("(2)(3 of 0:2)(8 sum)"));
    return shift.verdict == Shift::Verdict::Carried && shift.outputs.size() == 1;
  };
  EXPECT_TRUE(seesNothing({{"sizes", Ints{2, 1}}}));
  EXPECT_FALSE(seesNothing({}));
}

// Over an axis of size 1 a mean is the value itself, but another run may have more there.
TEST(Refused, aMeanOverAnAxisThatHasOnePositionByChance) {
  const auto centers = [](Attributes attributes) {
    testing::GraphBuilder g(1);
    const auto x = g.input({2, 1, 8});
    attributes.insert(attributes.end(), {{"op", std::string("mean")}, {"axes", Ints{1}}, {"keepdim", true}});
    const auto mean = g.add(OpKind::Reduce, {x}, {2, 1, 8}, attributes);
    const auto y = g.add(OpKind::Sub, {x, mean}, {2, 1, 8});
    return explicitCentering(g.graph(), g.graph().node(g.graph().value(y).producer)).has_value();
  };
  EXPECT_FALSE(centers({}));
  EXPECT_TRUE(centers({{"ones", Ints{1}}}));
}

// The same numbers of channels, groups and positions; there is one position, or one in the probe alone.
TEST(Refused, aGroupNormOfOnePositionByChance) {
  const auto absorbs = [](const Shape& shape, const Attributes& more) {
    Attributes attributes{{"groups", int64_t{1}}, {"eps", 1e-5}};
    attributes.insert(attributes.end(), more.begin(), more.end());
    const OneNode norm = oneNode(OpKind::GroupNorm, {shape}, attributes, {shape});
    return toleratesShift(norm, 0, over(shape, {1}));
  };
  EXPECT_TRUE(absorbs({2, 8, 1, 1}, {{"ones", Ints{2, 3}}}));
  EXPECT_FALSE(absorbs({2, 8, 1, 1}, {}));
  EXPECT_FALSE(absorbs({2, 8, 7, 7}, {}));
  EXPECT_TRUE(absorbs({2, 8}, {}));
}

// An initializer that is also an input: a caller may give another one, of other sizes.
TEST(Refused, aTensorOfTheFileThatACallerMayReplace) {
  const auto broadcast = [](const char* given) {
    const auto graph = graph::parseGraph(std::string("graph {\n const %g: float64[1] values <2>") + given + R"(
    %y: float64[1] = Neg(%g)
    return %y
  })");
    return isBroadcastInEveryRun(*graph, graph->outputs()[0], 1);
  };
  EXPECT_TRUE(broadcast(""));
  EXPECT_FALSE(broadcast(" volatile \"a caller may give another\""));
  EXPECT_FALSE(broadcast(" volatile \"a caller may give another\" declared [-1]"));
}

}  // namespace
}  // namespace normlens::ops

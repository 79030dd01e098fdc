// What each row must refuse although it looks alike, and what If and Loop ask of their bodies.
#include <gtest/gtest.h>

#include <limits>

#include "core/ops/rules.h"
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
using testing::claimsZeroMean;
using testing::OneNode;
using testing::oneNode;
using testing::Operand;
using testing::Tensor;
using testing::toleratesShift;
using Ints = std::vector<int64_t>;

const Shape kX{2, 3, 8};
const Pattern kChannels = over(kX, {2});

TEST(Refused, indexBehindTheEndOfItsAxis) {
  for (const int64_t index : {int64_t{3}, std::numeric_limits<int64_t>::max()}) {
    const OneNode made = oneNode(OpKind::Select, {kX}, {{"axis", int64_t{1}}, {"index", index}}, {{2, 8}});
    const auto& node = made.graph.nodes.front();
    const ZeroMean needed = opRow(node.kind).zeroMean(made.graph, node, 0, over({2, 8}, {1}));
    ASSERT_EQ(needed.needs.size(), 1U);
    EXPECT_EQ(needed.needs[0].pattern, kChannels);
  }
}

TEST(Refused, sliceOfChannelsSaysWhetherItsStepOrItsStartIsInTheWay) {
  const auto reason = [](int64_t step) {
    const OneNode made = oneNode(OpKind::Slice, {kX}, {{"axis", int64_t{2}}, {"step", step}}, {{2, 3, 4}});
    const auto& node = made.graph.nodes.front();
    return opRow(node.kind).zeroMean(made.graph, node, 0, over({2, 3, 4}, {2})).reason;
  };
  EXPECT_EQ(reason(2), "it takes some of the norm's channels, at a step of 2");
  EXPECT_EQ(reason(1), "it cuts a run-time part out of the norm's channels");
}

TEST(Refused, aProductSaysWhetherItsScaleIsComputed) {
  Tensor scale({8}, 1.0);
  scale.at[3] = 2.0;
  const auto reason = [](OpKind kind, const Operand& first, const Operand& second, bool shift) -> std::string {
    const OneNode made = oneNode(kind, {first, second}, {}, {kX});
    const auto& node = made.graph.nodes.front();
    const OpRow& row = opRow(kind);
    return shift ? row.shift(made.graph, node, 0, kChannels).reason
                 : row.zeroMean(made.graph, node, 0, kChannels).reason;
  };
  for (const bool shift : {false, true}) {
    EXPECT_EQ(reason(OpKind::Mul, kX, kX, shift), "it is a product of two computed values");
    EXPECT_EQ(reason(OpKind::Div, kX, kX, shift), "it is a quotient of two computed values");
    EXPECT_EQ(reason(OpKind::Mul, kX, Operand::of(scale), shift), "it scales each channel differently");
    EXPECT_EQ(reason(OpKind::Div, kX, Operand::of(scale), shift), "it scales each channel differently");
  }
}

TEST(Refused, tensorsOfAnotherNumberThanZero) {
  const auto filled = [](double number) { return oneNode(OpKind::ShapeQuery, {kX}, {{"fill", number}}, {kX}); };
  EXPECT_TRUE(claimsZeroMean(filled(0.0), kChannels));
  EXPECT_FALSE(claimsZeroMean(filled(0.5), kChannels));
  EXPECT_FALSE(claimsZeroMean(oneNode(OpKind::ShapeQuery, {kX}, {}, {kX}), kChannels));
}

TEST(Refused, probabilitiesAndInputsOfProjectedAttention) {
  const Shape heads{2, 3, 8}, probabilities{2, 3, 3};
  const auto one = oneNode(OpKind::Attention, {heads, heads, heads, Shape{8, 8}, Shape{8}},
                           {{"projection", int64_t{3}}}, {heads, probabilities});
  EXPECT_FALSE(claimsZeroMean(one, over(probabilities, {2}), 1));
  for (const int operand : {0, 1, 2}) EXPECT_FALSE(toleratesShift(one, operand, kChannels));
  const auto single =
      oneNode(OpKind::Attention, {heads, heads, heads, Shape{8, 8}, Shape{8}}, {{"projection", int64_t{3}}}, {heads});
  EXPECT_TRUE(claimsZeroMean(single, kChannels));
  EXPECT_FALSE(claimsZeroMean(single, over(heads, {1})));
  EXPECT_TRUE(toleratesShift(single, 3, over({8, 8}, {0})));
  EXPECT_FALSE(toleratesShift(single, 3, over({8, 8}, {1})));
}

TEST(Refused, channelsThatAreIndexedTogetherWithPositions) {
  const auto together = [&](int64_t axis) {
    return oneNode(OpKind::Gather, {kX, Shape{5}, Shape{5}}, {{"axis", axis}, {"count", int64_t{2}}},
                   {axis == 0 ? Shape{5, 8} : Shape{2, 5}});
  };
  EXPECT_TRUE(claimsZeroMean(together(0), over({5, 8}, {1})));
  EXPECT_TRUE(toleratesShift(together(0), 0, kChannels));
  EXPECT_FALSE(claimsZeroMean(together(1), over({2, 5}, {1})));
  EXPECT_FALSE(toleratesShift(together(1), 0, kChannels));
}

TEST(Refused, rowsOfAFlattenedValueThatAnotherRunMayTakeMoreOf) {
  const auto needed = [](std::optional<int64_t> end, bool declared = true) {
    Attributes attributes{{"axis", int64_t{0}}, {"start", int64_t{0}}, {"step", int64_t{1}}};
    if (end) attributes.emplace_back("end", *end);
    const OneNode slice =
        oneNode(OpKind::Slice, {declared ? Operand::declaring({48}) : Operand({48})}, attributes, {{24}});
    return opRow(OpKind::Slice).zeroMean(slice.graph, slice.graph.node(0), 0, text("(3)(8 sum)")).needs.at(0).pattern;
  };
  EXPECT_EQ(needed(24), text("(6 of 0:3)(8 sum)"));
  EXPECT_EQ(needed(24, false), text("(6)(8 sum)")) << "of a shorter one it takes less";
  EXPECT_EQ(needed(-24, false), text("(6)(8 sum)")) << "counted from an end that may move";
  EXPECT_EQ(needed({}), text("(6)(8 sum)"));
}

// A mask may take no rows in the probe run and some in another.
TEST(Refused, toForgetWhatHasNoRowsInTheProbeRun) {
  const auto needsOf = [](const OneNode& one, const Pattern& pattern) {
    const auto answer = opRow(one.graph.node(0).kind).zeroMean(one.graph, one.graph.node(0), 0, pattern);
    std::vector<Pattern> patterns;
    for (const auto& need : answer.needs) patterns.push_back(need.pattern);
    return patterns;
  };
  const Pattern none = Pattern::fromFactors({{0, 0, 0, false}, {8, 0, 8, true}}), rows = text("(3)(8 sum)");
  EXPECT_EQ(needsOf(oneNode(OpKind::Concat, {Shape{0, 8}, Shape{3, 8}}, {{"axis", int64_t{0}}}, {{3, 8}}), rows),
            (std::vector{none, rows}));
  const Attributes below{{"axes", Ints{0}}, {"start", Ints{0}}, {"value", 0.0}};
  EXPECT_EQ(needsOf(oneNode(OpKind::Pad, {Shape{0, 8}}, below, {{3, 8}}), rows), (std::vector{none}));
  const OneNode written =
      oneNode(OpKind::Scatter, {Shape{3, 8}, Shape{0, 8}, Shape{0}},
              {{"axis", int64_t{0}}, {"made", int64_t{1}}, {"reduction", std::string("add")}}, {{3, 8}});
  EXPECT_EQ(needsOf(written, rows), (std::vector{rows, none}));
  const OneNode sliced = oneNode(OpKind::Slice, {Shape{3, 8}}, {{"axis", int64_t{0}}, {"start", int64_t{0}}}, {{0, 8}});
  EXPECT_EQ(needsOf(sliced, none), (std::vector{rows}));
}

Attributes written(int64_t axis, const char* reduction, bool elements = false) {
  Attributes out{{"axis", axis}, {"reduction", std::string(reduction)}};
  if (elements)
    out.emplace_back("elements", true);
  else
    out.emplace_back("made", int64_t{1});
  return out;
}

TEST(Refused, writingAlongTheChannelsThemselves) {
  const auto rows = [](int64_t axis, const Shape& updates) {
    return oneNode(OpKind::Scatter, {kX, updates, Shape{5}}, written(axis, "none"), {kX});
  };
  EXPECT_TRUE(claimsZeroMean(rows(1, {2, 5, 8}), kChannels));
  EXPECT_TRUE(toleratesShift(rows(1, {2, 5, 8}), 0, kChannels));
  EXPECT_TRUE(toleratesShift(rows(1, {2, 5, 8}), 1, over({2, 5, 8}, {2})));
  EXPECT_FALSE(claimsZeroMean(rows(2, {2, 3, 5}), kChannels));
  EXPECT_FALSE(toleratesShift(rows(2, {2, 3, 5}), 0, kChannels));
  EXPECT_FALSE(toleratesShift(rows(2, {2, 3, 5}), 1, over({2, 3, 5}, {2})));
  EXPECT_FALSE(toleratesShift(rows(1, {2, 5, 8}), 2, over({5}, {0}))) << "the index";
  const OneNode added = oneNode(OpKind::Scatter, {kX, Shape{2, 3, 5}, Shape{5}}, written(2, "add"), {kX});
  EXPECT_TRUE(toleratesShift(added, 0, kChannels)) << "x itself is only added to";
  EXPECT_FALSE(claimsZeroMean(added, kChannels));
}

TEST(Refused, updatesThatAreEqualForAllChannelsAndOtherThanZero) {
  const auto with = [](double fill) {
    return oneNode(OpKind::Scatter, {kX, Operand::number(fill), Shape{5}}, written(1, "none"), {kX});
  };
  const OneNode one = with(1);
  const auto answer = opRow(OpKind::Scatter).zeroMean(one.graph, one.graph.node(0), 0, kChannels);
  ASSERT_EQ(answer.needs.size(), 2U);
  EXPECT_FALSE(answer.needs[1].pattern.sumsAnything()) << "it has to be 0 itself";
}

TEST(Refused, anIndexByElementThatDiffersBetweenChannels) {
  const auto with = [](const Operand& index, const Shape& updates, const char* reduction) {
    return oneNode(OpKind::Scatter, {Operand::declaring(kX), Operand::declaring(updates), index},
                   written(1, reduction, true), {kX});
  };
  Tensor equal({2, 2, 8}, 1), different({2, 2, 8}, 1), some({2, 2, 7}, 1);
  different.at.back() = 0;
  for (const char* reduction : {"none", "add", "mean", "sum"}) {
    const OneNode plain = with(Operand::of(equal), {2, 2, 8}, reduction);
    EXPECT_TRUE(claimsZeroMean(plain, kChannels)) << reduction;
    EXPECT_TRUE(toleratesShift(plain, 1, over({2, 2, 8}, {2}))) << reduction;
    for (const OneNode& refused :
         {with(Operand::of(different), {2, 2, 8}, reduction), with(Operand(Shape{2, 2, 8}), {2, 2, 8}, reduction),
          with(Operand::of(some), {2, 2, 7}, reduction), with(Operand::of(some), {2, 2, 8}, reduction)}) {
      EXPECT_FALSE(claimsZeroMean(refused, kChannels)) << reduction;
      const auto& updates = *refused.graph.value(refused.graph.node(0).operands[1]).shape;
      EXPECT_FALSE(toleratesShift(refused, 1, over(updates, {2}))) << reduction;
      EXPECT_EQ(toleratesShift(refused, 0, kChannels), std::string(reduction) == "add") << reduction;
    }
  }
}

TEST(Refused, rowsThatAMaskTakesInPart) {
  const auto with = [](const Operand& mask, const Shape& source) {
    return oneNode(OpKind::MaskedCopy, {kX, mask, source}, {}, {kX});
  };
  Tensor rows(kX, 0), part(kX, 0);
  for (size_t i = 8; i < 24; ++i) rows.at[i] = part.at[i] = 1;
  part.at[47] = 1;
  EXPECT_TRUE(claimsZeroMean(with(Operand::of(rows), {4, 8}), kChannels));
  EXPECT_TRUE(claimsZeroMean(with(Operand::declaring({2, 3, 1}), {4, 2, 4}), kChannels));
  EXPECT_TRUE(toleratesShift(with(Operand::of(rows), {4, 8}), 2, over({4, 8}, {1})));
  EXPECT_FALSE(claimsZeroMean(with(Operand::of(part), {4, 8}), kChannels));
  EXPECT_FALSE(toleratesShift(with(Operand::of(part), {4, 8}), 2, over({4, 8}, {1})));
  EXPECT_FALSE(toleratesShift(with(Operand::of(part), {4, 8}), 0, kChannels));
  // Its last row is taken in part: those that are asked about would be filled from elsewhere, were they behind it.
  EXPECT_FALSE(claimsZeroMean(with(Operand::of(part), {4, 8}), text("(2 of 0:1)(3)(8 sum)")));
  EXPECT_FALSE(claimsZeroMean(with(Operand::of(rows), {4, 7}), kChannels)) << "rows of another length";
  EXPECT_FALSE(toleratesShift(with(Operand::of(rows), {8, 4}), 2, over({8, 4}, {1})));
}

TEST(Refused, gateThatDiffersBetweenChannels) {
  for (const OpKind kind : {OpKind::Mul, OpKind::Div}) {
    const auto with = [&](const Shape& gate) { return oneNode(kind, {kX, Operand::declaring(gate)}, {}, {kX}); };
    EXPECT_TRUE(claimsZeroMean(with({2, 3, 1}), kChannels));
    EXPECT_TRUE(toleratesShift(with({2, 3, 1}), 0, kChannels));
    EXPECT_FALSE(claimsZeroMean(with({8}), kChannels));
    EXPECT_FALSE(toleratesShift(with({8}), 0, kChannels));
  }
  EXPECT_FALSE(toleratesShift(oneNode(OpKind::Div, {kX, Shape{2, 3, 1}}, {}, {kX}), 1, over({2, 3, 1}, {1})));
}

TEST(Refused, normOverMoreThanTheShiftIsConstantOn) {
  const Shape heads{2, 3, 2, 4};
  const auto norm = [&](Ints axes) {
    return oneNode(OpKind::LayerNorm, {heads}, {{"axes", std::move(axes)}}, {heads});
  };
  EXPECT_TRUE(toleratesShift(norm({3}), 0, over(heads, {2, 3})));  // per head, shift over all heads
  EXPECT_TRUE(toleratesShift(norm({3}), 0, over(heads, {3})));
  EXPECT_FALSE(toleratesShift(norm({2, 3}), 0, over(heads, {3})));  // over all heads, shift per head
  EXPECT_FALSE(claimsZeroMean(norm({2, 3}), over(heads, {3})));
  EXPECT_TRUE(claimsZeroMean(norm({3}), over(heads, {2, 3})));
}

TEST(Refused, normWithVaryingGammaOrUsedStatistics) {
  const auto gamma = [](Operand g) {
    return oneNode(OpKind::LayerNorm, {kX, std::move(g)}, {{"axes", Ints{2}}}, {kX});
  };
  EXPECT_TRUE(claimsZeroMean(gamma(Operand::of(Tensor({8}, 2.0))), kChannels));
  EXPECT_FALSE(claimsZeroMean(gamma(Shape{8}), kChannels));
  OneNode statistics = oneNode(OpKind::LayerNorm, {kX}, {{"axes", Ints{2}}}, {kX, {2, 3, 1}});
  EXPECT_FALSE(toleratesShift(statistics, 0, kChannels));  // the mean is returned
}

TEST(Refused, groupNormWithPositions) {
  const Shape x{2, 4, 5};
  const OneNode norm = oneNode(OpKind::GroupNorm, {x}, {{"groups", int64_t{2}}}, {x});
  EXPECT_FALSE(toleratesShift(norm, 0, over(x, {1})));  // per position, but the norm pools positions
  EXPECT_TRUE(toleratesShift(norm, 0, over(x, {1, 2})));
  const OneNode flat = oneNode(OpKind::GroupNorm, {Shape{2, 4}}, {{"groups", int64_t{2}}}, {{2, 4}});
  EXPECT_TRUE(toleratesShift(flat, 0, over({2, 4}, {1})));
}

TEST(Refused, depthwiseAndGroupedConvolution) {
  const Shape x{2, 8, 3, 3};
  const auto convolution = [&](int64_t groups) {
    return oneNode(OpKind::Conv, {x, Shape{8, 8 / groups, 3, 3}}, {{"groups", groups}}, {x});
  };
  EXPECT_TRUE(claimsZeroMean(convolution(1), over(x, {1})));
  EXPECT_FALSE(claimsZeroMean(convolution(8), over(x, {1})));
  EXPECT_FALSE(toleratesShift(convolution(1), 0, over(x, {1})));
  // A weight that is centered group by group shifts each group by another amount.
  const auto shift =
      opRow(OpKind::Conv).shift(convolution(2).graph, convolution(2).graph.node(0), 1, text("(2)(4 sum)(36)"));
  ASSERT_EQ(shift.verdict, Shift::Verdict::Carried);
  EXPECT_FALSE(shift.outputs[0].pattern.coversGroupsOf(over(x, {1})));
}

TEST(Refused, softmaxOverAnotherAxis) {
  const auto softmax = [](int64_t axis) { return oneNode(OpKind::Softmax, {kX}, {{"axis", axis}}, {kX}); };
  EXPECT_TRUE(toleratesShift(softmax(2), 0, kChannels));
  EXPECT_FALSE(toleratesShift(softmax(1), 0, kChannels));
  EXPECT_FALSE(claimsZeroMean(softmax(2), kChannels));
}

TEST(Refused, paddingWithSomethingElseThanZero) {
  const auto pad = [](int64_t axis, graph::Attributes value) {
    Shape out = kX;
    out[static_cast<size_t>(axis)] += 2;
    value.insert(value.begin(), {{"axes", Ints{axis}}, {"start", Ints{1}}});
    return std::pair{oneNode(OpKind::Pad, {kX}, value, {out}), over(out, {2})};
  };
  const auto claims = [](const auto& made) { return claimsZeroMean(made.first, made.second); };
  EXPECT_TRUE(claims(pad(1, {{"value", 0.0}})));
  EXPECT_TRUE(claims(pad(2, {{"value", 0.0}})));
  EXPECT_FALSE(claims(pad(1, {{"value", 1.0}})));
  EXPECT_TRUE(claims(pad(1, {}))) << "rows of x again";
  EXPECT_FALSE(claims(pad(2, {}))) << "channels of x again";
  // Repeating the border repeats the shift: outside of the region it is not 0.
  EXPECT_TRUE(toleratesShift(pad(2, {{"value", 1.0}}).first, 0, kChannels));
  EXPECT_FALSE(toleratesShift(pad(2, {}).first, 0, kChannels));
}

TEST(Refused, paddingOfTheChannelsByAmountsOfARun) {
  const auto pad = [](int64_t axis, Shape out, graph::Attributes value) {
    value.insert(value.begin(), {"axes", Ints{axis}});
    return oneNode(OpKind::Pad, {kX}, value, {std::move(out)});
  };
  const graph::Attributes zeros{{"value", 0.0}};
  for (const int64_t more : {-1, 0, 2}) {
    const Shape longer{kX[0], kX[1] + more, kX[2]}, wider{kX[0], kX[1], kX[2] + more};
    for (const auto& value : {zeros, graph::Attributes{}}) {
      EXPECT_TRUE(claimsZeroMean(pad(1, longer, value), over(longer, {2})));
      EXPECT_TRUE(toleratesShift(pad(1, longer, value), 0, kChannels));
      EXPECT_FALSE(claimsZeroMean(pad(2, wider, value), over(wider, {2})));
      EXPECT_FALSE(toleratesShift(pad(2, wider, value), 0, kChannels));
      EXPECT_TRUE(toleratesShift(pad(1, longer, value), 0, over(kX, {0, 1, 2}))) << "what a bias adds";
    }
  }
  const OneNode unknown = oneNode(OpKind::Pad, {kX}, zeros, {kX});
  EXPECT_FALSE(claimsZeroMean(unknown, kChannels));
  EXPECT_FALSE(toleratesShift(unknown, 0, kChannels));
}

TEST(Refused, castThatRounds) {
  const auto cast = [](graph::DType to) {
    OneNode one = oneNode(OpKind::Cast, {kX}, {}, {kX});
    one.graph.values[static_cast<size_t>(one.graph.node(0).outputs[0])].dtype = to;
    return one;
  };
  EXPECT_TRUE(claimsZeroMean(cast(graph::DType::Float64), kChannels));
  EXPECT_FALSE(claimsZeroMean(cast(graph::DType::Float32), kChannels));
  EXPECT_FALSE(toleratesShift(cast(graph::DType::Float16), 0, kChannels));
}

TEST(Refused, maskThatDiffersBetweenChannelsAndFillOtherThanZero) {
  const auto fill = [](const Shape& mask, double value) {
    return oneNode(OpKind::MaskedFill, {kX, Operand::declaring(mask), Operand::number(value)}, {}, {kX});
  };
  EXPECT_TRUE(claimsZeroMean(fill({2, 3, 1}, 0), kChannels));
  EXPECT_FALSE(claimsZeroMean(fill({2, 3, 8}, 0), kChannels));
  EXPECT_FALSE(toleratesShift(fill({2, 3, 8}, 0), 0, kChannels));
  EXPECT_FALSE(toleratesShift(oneNode(OpKind::Where, {Shape{8}, kX, kX}, {}, {kX}), 1, kChannels));
}

TEST(Refused, linearOverTheShiftedChannels) {
  const OneNode linear = oneNode(OpKind::Linear, {kX, Shape{8, 8}}, {}, {kX});
  EXPECT_FALSE(toleratesShift(linear, 0, kChannels));
  EXPECT_TRUE(toleratesShift(linear, 0, over(kX, {1})));
  EXPECT_TRUE(toleratesShift(linear, 1, over({8, 8}, {0})));
  EXPECT_FALSE(toleratesShift(linear, 1, over({8, 8}, {1})));
}

TEST(Refused, probabilitiesOfSeveralHeads) {
  // y[t, h, d] = sum_s p[h, t, s] v[s, h, d]: zero-mean over all heads together is lost, per head it is kept.
  const Shape v{2, 5, 2, 4};
  const OneNode heads =
      oneNode(OpKind::Einsum, {Shape{2, 2, 3, 5}, v}, {{"equation", std::string("bhts,bshd->bthd")}}, {{2, 3, 2, 4}});
  const auto shift = [&](const Pattern& pattern) {
    return opRow(OpKind::Einsum).shift(heads.graph, heads.graph.node(0), 1, pattern);
  };
  EXPECT_EQ(shift(over(v, {2, 3})).outputs.at(0).pattern, over({2, 3, 2, 4}, {3}));
  EXPECT_EQ(shift(over(v, {2})).verdict, Shift::Verdict::Refused);
}

TEST(Refused, lookingUpAndMixingTheChannelsThemselves) {
  const OneNode gather = oneNode(OpKind::Gather, {Shape{5, 8}, Shape{4}}, {{"axis", int64_t{1}}}, {{5, 4}});
  EXPECT_FALSE(claimsZeroMean(gather, over({5, 4}, {1})));
  const OneNode mix = oneNode(OpKind::Mix, {kX}, {{"axes", Ints{2}}}, {kX});
  EXPECT_FALSE(claimsZeroMean(mix, kChannels));
  EXPECT_FALSE(toleratesShift(mix, 0, kChannels));
  const OneNode mean =
      oneNode(OpKind::Reduce, {kX}, {{"op", std::string("mean")}, {"axes", Ints{2}}, {"keepdim", true}}, {{2, 3, 1}});
  EXPECT_FALSE(toleratesShift(mean, 0, kChannels));
  const OneNode top =
      oneNode(OpKind::Reduce, {kX}, {{"op", std::string("max")}, {"axes", Ints{1}}, {"keepdim", true}}, {{2, 1, 8}});
  EXPECT_FALSE(toleratesShift(top, 0, kChannels));
}

TEST(Refused, stackingAcrossTheSum) {
  const OneNode stack = oneNode(OpKind::Stack, {Shape{2, 3}, Shape{2, 3}}, {{"axis", int64_t{2}}}, {{2, 3, 2}});
  EXPECT_FALSE(claimsZeroMean(stack, over({2, 3, 2}, {2})));
  EXPECT_TRUE(claimsZeroMean(stack, over({2, 3, 2}, {1})));
}

TEST(Refused, runtimeSliceOfTheChannels) {
  const OneNode slice =
      oneNode(OpKind::Slice, {kX, Shape{}}, {{"axis", int64_t{2}}, {"step", int64_t{1}}}, {{2, 3, 4}});
  EXPECT_FALSE(claimsZeroMean(slice, over({2, 3, 4}, {2})));
  EXPECT_FALSE(toleratesShift(slice, 0, text("(6)(8 sum of 0:4)")));
  EXPECT_TRUE(toleratesShift(slice, 0, kChannels));
}

}  // namespace
}  // namespace normlens::ops

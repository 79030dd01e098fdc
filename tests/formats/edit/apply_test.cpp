// Each edit of a plan in each format.
#include "tests/formats/edit/edits.h"

namespace normlens::formats::test {
namespace {

class Apply : public EditTest {};
INSTANTIATE_TEST_SUITE_P(Formats, Apply, ::testing::ValuesIn(testedFormats()), formatName);

const std::string kLinear = "hw = matmul(x, w)\n h = add(hw, b)\n";
const std::string kNormOfLinear = kLinear + "n = norm(h, gamma, beta)\n";

TEST_P(Apply, ALinearIsCenteredAndItsNormReplacedInEveryFlavour) {
  for (const auto flavour : GetParam().flavours) {
    const auto folded = foldWhole({kNormOfLinear + "y = softmax(n)"}, flavour);
    EXPECT_EQ(count<fold::CenterConstant>(folded.plan), 2);
    EXPECT_EQ(count(*folded.after, OpKind::RmsNorm), flavour == NormFlavour::Primitives ? 0 : 1);
    EXPECT_EQ(count(*folded.after, OpKind::Sub), 0);
    const auto w = numbersOf(*folded.after, "w");
    for (size_t row = 0; row < 6; ++row) {
      double sum = 0;
      for (size_t i = 0; i < 8; ++i) sum += w[8 * row + i];
      EXPECT_NEAR(sum, 0, 1e-5);
    }
    for (const char* kept : {"gamma", "beta"})
      EXPECT_EQ(numbersOf(*folded.after, kept), numbersOf(*folded.before, kept));
  }
}

// In ONNX a GroupNorm is written as exporters write it, with Reshape and InstanceNormalization.
TEST_P(Apply, GroupsOfChannelsAreCenteredEachByItself) {
  if (GetParam().suffix == ".pt") GTEST_SKIP() << "a .pt does not say how many axes x has";
  for (const auto flavour : GetParam().flavours) {
    const auto folded = foldWhole({kLinear + "s = first(h)\n n = groups(s, gamma, beta)\n y = relu(n)"}, flavour);
    EXPECT_EQ(count<fold::CenterConstant>(folded.plan), 2);
    const auto w = numbersOf(*folded.after, "w");
    for (size_t group = 0; group < 12; ++group) {
      double sum = 0;
      for (size_t i = 0; i < 4; ++i) sum += w[4 * group + i];
      EXPECT_NEAR(sum, 0, 1e-5);
    }
  }
}

TEST_P(Apply, AnEmbeddingIsCentered) { foldWhole({"e = embedding(table, ids)\n y = norm(e, gamma, beta)"}); }

TEST_P(Apply, AWeightThatIsReadElsewhereKeepsItsNumbersThere) {
  const auto folded =
      fold({"h = matmul(x, w)\n y = norm(h, gamma, beta)\n r = relu(x)\n k = matmul(r, w)\n s = relu(k)", {"y", "s"}},
           Policy::All);
  EXPECT_EQ(count<fold::CenterConstant>(folded.plan), 1);
  EXPECT_EQ(count(*folded.after, OpKind::LayerNorm), 0);
  const auto& constants = folded.after->graph().constants;
  EXPECT_EQ(constants.size(), folded.before->graph().constants.size() + 1);
  EXPECT_TRUE(std::ranges::any_of(constants, [&](const auto& constant) {
    return graph::toDoubles(constant.view).value() == numbersOf(*folded.before, "w");
  }));
}

TEST_P(Apply, OneCenteringAtRunTimeServesSeveralNorms) {
  const Net net{"a = norm(z, gamma, beta)\n c = norm(z, beta, gamma)\n s = mul(a, c)\n y = mul(s, z)"};
  EXPECT_TRUE(planned(net, Policy::Free).plan.folded.empty());
  const auto folded = fold(net, Policy::All);
  EXPECT_EQ(folded.plan.centerings, 1);
  EXPECT_EQ(folded.plan.folded.size(), 2U);
  EXPECT_EQ(count(*folded.after, OpKind::LayerNorm), 0);
  EXPECT_EQ(count(*folded.after, OpKind::Sub), 1);
  fold(net, Policy::All, NormFlavour::Primitives);
}

// The stream is read by another norm further on, and by what is no norm.
TEST_P(Apply, AStreamThatBeginsAtTheInput) {
  const auto folded = fold(
      {"a = norm(z, gamma, beta)\n m = matmul(a, square)\n s = add(z, m)\n y = norm(s, gamma2, beta2)"}, Policy::All);
  EXPECT_EQ(folded.plan.folded.size(), 2U);
  EXPECT_EQ(count(*folded.after, OpKind::LayerNorm), 0);
}

TEST_P(Apply, AScaleIsAbsorbed) {
  const auto folded = foldWhole({kLinear + "s = mul(h, scale)\n y = norm(s, gamma, beta)"});
  EXPECT_EQ(count<fold::AbsorbScale>(folded.plan), 1);
  EXPECT_EQ(count(*folded.after, OpKind::Mul), 0);
}

const std::string kShift = kNormOfLinear + "q = matmul(n, o)\n y = add(q, p)";

TEST_P(Apply, ABetaMovesIntoTheBiasBehind) {
  for (const auto flavour : GetParam().flavours) {
    const auto folded = foldWhole({kShift}, flavour);
    EXPECT_EQ(count<fold::AbsorbShift>(folded.plan), 1);
    EXPECT_EQ(count(*folded.after, OpKind::Add), flavour == NormFlavour::Primitives ? 3 : 2);
    EXPECT_NE(numbersOf(*folded.after, "p"), numbersOf(*folded.before, "p"));
  }
}

TEST_P(Apply, ABetaOfZerosIsLeftOutAndTheBiasLeftAlone) {
  const auto folded = foldWhole({.code = kShift, .equal = {{"beta", 0.0F}}});
  EXPECT_EQ(numbersOf(*folded.after, "p"), numbersOf(*folded.before, "p"));
  EXPECT_EQ(count(*folded.after, OpKind::Add), 2);
}

TEST_P(Apply, ABetaMovesOnlyTogetherWithItsNorm) {
  const auto made = planned({kShift}, Policy::Free);
  auto edits = analysis::narrowed(made.plan, {});
  std::erase_if(edits.edits, [](const auto& edit) { return std::holds_alternative<fold::ReplaceNorm>(edit); });
  EXPECT_EQ(failureOf(made.before->apply(edits, made.analysis->norms.layerNorms, NormFlavour::Portable, {})).code,
            ErrorCode::Refused);
}

// Their squares overflow float16: only a float32 mean of squares survives.
TEST_P(Apply, HalvesAreSquaredInFloat32) {
  if (GetParam().suffix == ".pt2") GTEST_SKIP() << "a converted program is folded by the types of its file";
  const auto made =
      planned({"hw = matmul(x, w)\n h = mul(hw, 100.0)\n n = norm(h, gamma, beta)\n y = tanh(n)"}, Policy::Free);
  const auto half = must(made.before->converted(graph::DType::Float16));
  const auto folded = must(
      half->apply(analysis::narrowed(made.plan, {}), made.analysis->norms.layerNorms, NormFlavour::Primitives, {}));
  EXPECT_LT(difference(*half, *folded), 0.1);
}

// A stream out of a table, and a number s for each token.
const std::string kAddend = "t = embedding(table, ids)\n e = embedding(other, ids)\n s = matmul(e, column)\n";
std::string addend(const std::string& code) { return kAddend + code + "\n y = norm(h, gamma, beta)"; }

TEST_P(Apply, ADroppedAdditionGoesWithAllThatOnlyItRead) {
  for (const char* code :
       {"h = add(t, s)", "h = add(s, t)", "h = sub(t, s)", "d = mul(s, 2.0)\n a = add(t, s)\n h = add(a, d)"}) {
    for (const auto flavour : GetParam().flavours) {
      const auto folded = foldWhole({addend(code)}, flavour);
      EXPECT_EQ(count(*folded.after, OpKind::MatMul) + count(*folded.after, OpKind::Sub), 0) << code;
    }
  }
  for (const char* code : {"h = add(t, 3.0)", "h = sub(t, 3.5)"}) foldWhole({addend(code)});
}

TEST_P(Apply, WhatStaysOfADroppedAddendReadsZeros) {
  for (const char* code : {"h = sub(s, t)", "m = positive(s)\n h = where(m, t, s)", "h = add(row, s)",
                           "a = add(t, s)\n d = sub(a, s)\n h = add(d, s)"})
    EXPECT_GE(count<fold::DropAddend>(foldWhole({addend(code)}).plan), 1) << code;
  foldWhole({addend("m = positive(s)\n h = filled(t, m, 3.0)")});  // the 3 is a constant in ONNX
}

class Streams : public EditTest {
 protected:
  struct Narrow {
    analysis::StreamPlan streams;
    std::unique_ptr<Model> model;
  };

  Narrow narrow(const std::string& end, NormFlavour flavour = NormFlavour::Portable,
                analysis::StreamPadding padding = analysis::StreamPadding::None,
                const std::vector<std::string>& outputs = {"y"}) {
    const auto made = planned({"a0 = embedding(table, ids)\n n1 = norm(a0, gamma, beta)\n h1 = matmul(n1, up)\n"
                               "k1 = add(h1, upBias)\n r1 = relu(k1)\n d1 = matmul(r1, down)\n e1 = add(d1, downBias)\n"
                               "a1 = add(a0, e1)\n n2 = norm(a1, gamma2, beta2)\n h2 = matmul(n2, up)\n"
                               "k2 = add(h2, upBias2)\n r2 = tanh(k2)\n d2 = matmul(r2, down)\n a2 = add(d2, a1)\n" +
                                   end,
                               outputs},
                              Policy::Free);
    Narrow out{analysis::planStreams(*made.analysis, made.plan, padding), {}};
    if (!out.streams.refused.empty()) return out;
    const auto plan = analysis::narrowed(made.plan, out.streams.edits);
    out.model = changed(*made.before, [&](const Model& model) {
      return model.apply(plan, made.analysis->norms.layerNorms, flavour, {});
    });
    EXPECT_EQ(count(*out.model, OpKind::LayerNorm), 0);
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, Streams, ::testing::ValuesIn(testedFormats()), formatName);

const std::string kHead = "n3 = norm(a2, gamma, beta)\n q = matmul(n3, o)\n y = add(q, p)";

TEST_P(Streams, EveryFlavourAndPaddingKeepsTheOutputs) {
  using enum analysis::StreamPadding;
  for (const auto flavour : GetParam().flavours) {
    for (const auto padding : {None, Even, Blocks}) {
      const auto out = narrow(kHead, flavour, padding);
      ASSERT_EQ(out.streams.refused, "");
      ASSERT_EQ(out.streams.streams.size(), 1U);
      EXPECT_EQ(out.streams.edits.norms.size(), 3U);
    }
  }
}

TEST_P(Streams, WhatElseReadsANormGetsAllChannels) {
  for (const char* end :
       {"n3 = norm(a2, gamma, beta)\n y = softmax(n3)", "n3 = norm(a2, gamma, beta)\n y = matmul(n3, o)"}) {
    const auto out = narrow(end);
    ASSERT_EQ(out.streams.refused, "");
    EXPECT_EQ(out.streams.streams[0].restored, 1);
    EXPECT_EQ(out.streams.edits.norms.size(), 2U);
  }
}

TEST_P(Streams, AStreamThatIsReadOtherwiseIsRefused) {
  for (const char* more :
       {"\n y = add(a2, row)", "\n l = slice(a2, 2, 0, 5)\n y = add(k, l)", "\n j = matmul(a2, o)\n y = add(k, j)"}) {
    const auto out = narrow("n3 = norm(a2, gamma, beta)\n q = matmul(n3, o)\n k = add(q, p)" + std::string(more),
                            NormFlavour::Portable, analysis::StreamPadding::None, {"k", "y"});
    EXPECT_NE(out.streams.refused, "") << more;
    EXPECT_TRUE(out.streams.edits.empty());
  }
}

}  // namespace
}  // namespace normlens::formats::test

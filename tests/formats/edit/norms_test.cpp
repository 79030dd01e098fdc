// Norms that are written out in several ops, and residual adds before norms: folded, joined and fused in each format.
#include "tests/formats/edit/edits.h"

namespace normlens::formats::test {
namespace {

const std::string kLinears = "hw = matmul(x, w)\n h = add(hw, b)\n kw = matmul(x, v)\n k = add(kw, c0)\n";

struct WrittenNorm {
  std::string name;
  bool isNorm;
  std::string code;  // makes n of h
};

// The square's mean of c, and the root of it.
const std::string kRoot = "cc = mul(c, c)\n v2 = mean(cc)\n e = add(v2, 1e-05)\n r = sqrt(e)\n";
const std::string kCentered = "m = mean(h)\n c = sub(h, m)\n" + kRoot;
const std::string kSquares = "m = mean(h)\n hh = mul(h, h)\n t = mean(hh)\n mm = mul(m, m)\n v2 = sub(t, mm)\n";
const std::string kOut = kCentered + "i = reciprocal(r)\n k1 = mul(i, gamma)\n p1 = mul(h, k1)\n";
const std::string kAffine = "u = div(c, r)\n g = mul(u, gamma)\n n = add(g, beta)";

std::string withSums(const std::string& mean, const std::string& variance) {
  return "s = sum(h)\n m = " + mean + "\n c = sub(h, m)\n cc = mul(c, c)\n s2 = sum(cc)\n v2 = " + variance +
         "\n e = add(v2, 1e-05)\n r = sqrt(e)\n" + kAffine;
}

const std::vector<WrittenNorm> kNorms = {
    {"Centered", true, kCentered + kAffine},
    {"WithoutGamma", true, kCentered + "n = div(c, r)"},
    {"ByAPower", true,
     "m = mean(h)\n c = sub(h, m)\n cc = pow(c, 2.0)\n v2 = mean(cc)\n e = add(v2, 1e-05)\n r = sqrt(e)\n" + kAffine},
    {"BeforeAnRmsNorm", true, "m = mean(h)\n c = sub(h, m)\n n = rms(c, gamma)"},
    {"OfTheMeanOfSquares", true,
     kSquares + "l = relu(v2)\n e = add(l, 1e-05)\n r = sqrt(e)\n i = reciprocal(r)\n k1 = mul(i, gamma)\n c = sub(h, "
                "m)\n g = mul(c, k1)\n n = add(g, beta)"},
    {"MultipliedOut", true, kOut + "q = mul(m, k1)\n d = sub(beta, q)\n n = add(p1, d)"},
    {"MultipliedOutWithoutBeta", true, kOut + "q = mul(m, k1)\n n = sub(p1, q)"},
    {"GammaOnTheNumerator", true, kCentered + "g = mul(gamma, c)\n u = div(g, r)\n n = add(u, beta)"},
    {"SumsDivided", true, withSums("div(s, 8.0)", "div(s2, 8.0)")},
    {"SumsMultiplied", true, withSums("mul(s, 0.125)", "mul(s2, 0.125)")},
    {"OfAMeanAndASum", true,
     "m = mean(h)\n c = sub(h, m)\n cc = mul(c, c)\n s2 = sum(cc)\n v2 = div(s2, 8.0)\n e = add(v2, 1e-05)\n r = "
     "sqrt(e)\n" +
         kAffine},
    {"VarianceByOneLess", false, withSums("div(s, 8.0)", "div(s2, 7.0)")},
    {"MeanByOneLess", false, withSums("div(s, 7.0)", "div(s2, 8.0)")},
    {"TheRoundedReciprocalOfAnother", false, withSums("mul(s, 0.25)", "mul(s2, 0.125)")},
    {"GateOnTheNumerator", false, kCentered + "g = mul(k, c)\n n = div(g, r)"},
    {"GammaInTheVariance", false, "m = mean(h)\n d0 = sub(h, m)\n c = mul(gamma, d0)\n" + kRoot + "n = div(c, r)"},
    {"MultipliedOutWithTheMeanAdded", false, kOut + "q = mul(m, k1)\n d = add(beta, q)\n n = add(p1, d)"},
    {"OfAnotherValue", false, "m = mean(k)\n c = sub(h, m)\n" + kRoot + "n = div(c, r)"},
};

class WrittenNorms : public EditTest {};
INSTANTIATE_TEST_SUITE_P(Formats, WrittenNorms, ::testing::ValuesIn(testedFormats()), formatName);

Net netOf(const WrittenNorm& norm) { return {kLinears + norm.code + "\n q9 = matmul(n, o)\n y = add(q9, p)"}; }

TEST_P(WrittenNorms, LoseWhatTakesTheMeanOut) {
  for (const auto& norm : kNorms) {
    SCOPED_TRACE(norm.name);
    if (!norm.isNorm) {
      EXPECT_TRUE(analysis::findNorms(open(netOf(norm))->graph()).layerNorms.empty());
      continue;
    }
    for (const auto flavour : GetParam().flavours) {
      const auto folded = foldWhole(netOf(norm), flavour);
      EXPECT_EQ(count(*folded.after, OpKind::Sub), 0);
      EXPECT_LE(count(*folded.after, OpKind::Reduce), 1) << "the mean of squares";
    }
  }
}

class OneOp : public EditTest {
 protected:
  Changed join(const std::string& norm) {
    return EditTest::fuse({kLinears + norm + "\n y = matmul(n, o)"}, &NormFuser::joinNorms);
  }
  Changed fuse(const std::string& code, const std::vector<std::string>& outputs = {"y"}) {
    return EditTest::fuse({"p1 = matmul(x, w)\n q1 = matmul(x, v)\n" + code, outputs}, &NormFuser::fuseNorms);
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, OneOp, ::testing::ValuesIn(testedFormats()), formatName);

TEST_P(OneOp, AWrittenLayerNormBecomesOne) {
  for (const auto& code : {kCentered + kAffine, withSums("div(s, 8.0)", "div(s2, 8.0)")}) {
    const auto joined = join(code);
    ASSERT_EQ(joined.fused.size(), 1U) << code;
    EXPECT_EQ(count(*joined.after, OpKind::LayerNorm), 1);
    EXPECT_EQ(count(*joined.after, OpKind::Reduce) + count(*joined.after, OpKind::Sub), 0);
    EXPECT_FLOAT_EQ(static_cast<float>(analysis::findNorms(joined.after->graph()).layerNorms.at(0).eps), 1e-5F);
  }
}

TEST_P(OneOp, SoDoesAWrittenRmsNorm) {
  const std::string root = "hh = mul(h, h)\n v2 = mean(hh)\n e = add(v2, 1e-05)\n r = sqrt(e)\n";
  for (const auto* end : {"u = div(h, r)\n n = mul(gamma, u)", "i = reciprocal(r)\n u = mul(h, i)\n n = mul(u, gamma)",
                          "u = div(h, r)\n g = mul(u, gamma)\n n = add(g, beta)"}) {
    const auto joined = join(root + end);
    ASSERT_EQ(joined.fused.size(), 1U) << end;
    EXPECT_EQ(count(*joined.after, OpKind::RmsNorm), 1);
    EXPECT_EQ(count(*joined.after, OpKind::Reduce), 0);
  }
}

TEST_P(OneOp, ANormOfWhichSomethingElseIsReadStaysWrittenOut) {
  for (const auto* leak : {"c", "v2"}) {
    EXPECT_TRUE(
        EditTest::fuse({kLinears + kCentered + kAffine + "\n y = matmul(n, o)", {"y", leak}}, &NormFuser::joinNorms)
            .fused.empty())
        << leak;
  }
}

TEST_P(OneOp, AnAddAndItsNormBecomeOne) {
  for (const auto* code : {"s = add(p1, q1)\n y = norm(s, gamma, beta)",
                           "s = add(p1, q1)\n n = norm(s, gamma, beta)\n m = matmul(n, square)\n y = add(s, m)",
                           "s = add(p1, q1)\n r = relu(s)\n n = norm(s, gamma, beta)\n y = add(r, n)",
                           "s = add(p1, p1)\n y = norm(s, gamma, beta)"}) {
    const auto fused = fuse(code);
    ASSERT_EQ(fused.fused.size(), 1U) << code;
    const auto before = analysis::findNorms(fused.before->graph()), after = analysis::findNorms(fused.after->graph());
    ASSERT_EQ(after.layerNorms.size(), 1U);
    EXPECT_EQ(after.layerNorms[0].form, analysis::NormForm::Fused);
    EXPECT_EQ(after.layerNorms[0].name, before.layerNorms.at(0).name);
    EXPECT_EQ(count(*fused.after, OpKind::Add), count(*fused.before, OpKind::Add));
  }
  EXPECT_EQ(fuse("s = add(p1, q1)\n y = norm(s, gamma, beta)", {"y", "s"}).fused.size(), 1U);
  EXPECT_EQ(fuse("s = add(p1, q1)\n y = rms(s, gamma)").fused.size(), 1U);
  EXPECT_EQ(fuse("s = add(p1, q1)\n n = norm(s, gamma, beta)\n m = matmul(n, square)\n t = add(s, m)\n"
                 "y = norm(t, gamma2, beta2)")
                .fused.size(),
            2U);
}

TEST_P(OneOp, OfTwoNormsOfOneSumTheFirstTakesTheAddIn) {
  EXPECT_EQ(fuse("s = add(p1, q1)\n n = norm(s, gamma, beta)\n d = norm(s, beta, gamma)\n y = mul(n, d)").fused.size(),
            1U);
}

TEST_P(OneOp, WhatIsNoPlainAddStaysApart) {
  for (const auto* code : {"s = sub(p1, q1)", "a = add(p1, q1)\n s = relu(a)", "s = add(p1, b)", "s = add(p1, row)",
                           "r = mean(q1)\n s = add(p1, r)", "s = mul(p1, q1)"})
    EXPECT_TRUE(fuse(std::string(code) + "\n y = norm(s, gamma, beta)").fused.empty()) << code;
}

}  // namespace
}  // namespace normlens::formats::test

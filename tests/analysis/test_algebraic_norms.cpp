// LayerNorms found by what their arithmetic computes, of views of their input too: folded with equal outputs, and left
// where something is nearly a LayerNorm.
#include <gtest/gtest.h>

#include "core/analysis/claims/shifts.h"
#include "core/analysis/norms/norms.h"
#include "core/analysis/norms/whole_norm.h"
#include "tests/analysis/analyzed.h"

namespace normlens::analysis {
namespace {

// As Keras 2 and tf2onnx write it: a batch normalization of the rows. One line per part, so that a test can change one.
struct Fused {
  std::string input = "%h: float64[2, 5, 8] = Linear(%x, %w, %wb)";
  std::string view = "%v: float64[1, 10, 8, 1] = Reshape(%h) {ones = [0, 3]}";
  std::string mean = R"(%m: float64[1, 10, 1, 1] = Reduce(%v) {op = "mean", axes = [0, 2, 3], keepdim = true})";
  std::string centered = "%d: float64[1, 10, 8, 1] = Sub(%v, %m)";
  std::string sum = R"(%ss: float64[10] = Reduce(%dd) {op = "sum", axes = [0, 2, 3], keepdim = false})";
  std::string count = "%var: float64[10] = Div(%ss, 8)";
  std::string shifted = "%e: float64[10, 1, 1] = Add(%varv, 1e-03)";
  std::string root = R"(%r: float64[10, 1, 1] = Elementwise(%e) function SquareRoot)";
  std::string difference = "%c: float64[1, 10, 8, 1] = Sub(%v, %mv)";
  std::string scaled = "%s: float64[1, 10, 8, 1] = Mul(%n, %ones)";
  std::string back = "%y: float64[2, 5, 8] = Reshape(%t)";
  std::string outputs = "%z";

  [[nodiscard]] std::string text() const {
    return R"(graph {
  input %x: float64[2, 5, 8]
  const %w: float64[8, 8] random 1
  const %wb: float64[8] random 2
  const %g: float64[8] random 3
  const %b: float64[8] random 4
  const %o: float64[3, 8] random 5
  const %ob: float64[3] random 6
  const %ones: float64[10, 1, 1] values <1 1 1 1 1 1 1 1 1 1>
  const %zeros: float64[10, 1, 1] values <0 0 0 0 0 0 0 0 0 0>
  const %gates: float64[10, 1, 1] random 7
  const %counted: float64[3] values <0 2 3>
  const %others: float64[3] values <0 1 3>
  const %two: float64[2] values <2 3>
  )" + input +
           "\n  " + view + "\n  " + mean + "\n  " + centered + R"(
  %dd: float64[1, 10, 8, 1] = Mul(%d, %d)
  )" + sum +
           "\n  " + count + R"(
  %mf: float64[10] = Reshape(%m)
  %mv: float64[10, 1, 1] = Reshape(%mf) {ones = [1, 2]}
  %varv: float64[10, 1, 1] = Reshape(%var) {ones = [1, 2]}
  )" + shifted +
           "\n  " + root + "\n  " + difference + R"(
  %n: float64[1, 10, 8, 1] = Div(%c, %r)
  )" + scaled +
           R"(
  %t: float64[1, 10, 8, 1] = Add(%s, %zeros)
  )" + back +
           R"(
  %yg: float64[2, 5, 8] = Mul(%y, %g)
  %yb: float64[2, 5, 8] = Add(%yg, %b)
  %z: float64[2, 5, 3] = Linear(%yb, %o, %ob)
  return )" +
           outputs + "\n}";
  }
};

TEST(AlgebraicNorms, OfAViewAreNormsOfWhatItIsAViewOf) {
  const graph::Graph graph = parsed(Fused().text());
  const Norms norms = findNorms(graph);
  ASSERT_EQ(norms.layerNorms.size(), 1U);
  const LayerNorm& norm = norms.layerNorms[0];
  EXPECT_EQ(norm.blockedReason, "");
  EXPECT_EQ(graph.value(norm.input).name, "h");
  EXPECT_EQ(graph.value(norm.output).name, "y");
  EXPECT_EQ(norm.axes, (std::vector<int64_t>{2}));
  EXPECT_EQ(norm.normalizedShape, (std::vector<int64_t>{8}));
  EXPECT_DOUBLE_EQ(norm.eps, 1e-3);
  EXPECT_EQ(joinableNorms(graph, norms, true).size(), 1U);
  expectFolded(Fused().text());
}

TEST(AlgebraicNorms, AViewWrittenInSizesSaysThatOneIsOne) {
  Fused norm;
  norm.view = "%v: float64[1, 10, 8, 1] = Reshape(%h) {shape = [1, -1, 8, 1]}";
  EXPECT_EQ(findNorms(parsed(norm.text())).layerNorms.size(), 1U);
  norm.view = "%v: float64[1, 10, 8, 1] = Reshape(%h) {shape = [-1, 10, 8, 1]}";
  expectNone(norm.text());
  norm.view = "%v: float64[1, 10, 8, 1] = Reshape(%h) {ones = [-3, 0, 1, 3, 7]}";
  EXPECT_EQ(findNorms(parsed(norm.text())).layerNorms.size(), 1U) << "what does not fit is not looked at";
}

// The view stays what it is where the result goes on in another shape.
TEST(AlgebraicNorms, OfAViewThatIsNotTakenBackAreNormsOfTheView) {
  Fused flat;
  flat.back = "%f: float64[10, 8] = Reshape(%t)\n  %y: float64[2, 5, 8] = Reshape(%f)";
  flat.input = "%l: float64[2, 5, 8] = Linear(%x, %w, %wb)\n  %h: float64[5, 2, 8] = Reshape(%l)";
  const graph::Graph graph = parsed(flat.text());
  const Norms norms = findNorms(graph);
  ASSERT_EQ(norms.layerNorms.size(), 1U);
  EXPECT_EQ(graph.value(norms.layerNorms[0].input).name, "l") << "both are views of it";
  Fused open = flat;
  open.back = "%y: float64[10, 8] = Reshape(%t)";
  std::string text = open.text();
  for (const char* name : {"%yg: float64[", "%yb: float64["}) text.replace(text.find(name) + 13, 4, "10");
  text.replace(text.find("%z: float64[") + 12, 4, "10");
  const Norms inView = findNorms(parsed(text));
  ASSERT_EQ(inView.layerNorms.size(), 1U);
  EXPECT_EQ(parsed(text).value(inView.layerNorms[0].input).name, "v");
  EXPECT_EQ(inView.layerNorms[0].axes, (std::vector<int64_t>{2, 3}));
  expectFolded(text);
}

TEST(AlgebraicNorms, AreFoldedBehindARunTimeCentering) {
  Fused norm;
  norm.input = R"(%h: float64[2, 5, 8] = Elementwise(%x) op "tanh")";
  expectFolded(norm.text(), 1);
}

TEST(AlgebraicNorms, CountWhatTheySumAtRunTime) {
  Fused norm;
  norm.count = R"(%sizes: int64[4] = ShapeQuery(%v) function Sizes
  %picked: int64[3] = Gather(%sizes, %counted) {axis = 0}
  %all: int64[] = Reduce(%picked) {op = "other", axes = [0], keepdim = false} function Product
  %count: float64[] = Cast(%all)
  %var: float64[10] = Div(%ss, %count))";
  EXPECT_EQ(findNorms(parsed(norm.text())).layerNorms.size(), 1U);
  norm.count.replace(norm.count.find("%counted"), 8, "%others");
  EXPECT_TRUE(findNorms(parsed(norm.text())).layerNorms.empty()) << "the number of rows";
  norm.count = R"(%sizes: int64[4] = ShapeQuery(%v) function Sizes
  %picked: int64[2] = Gather(%sizes, %two) {axis = 0}
  %count: float64[2] = Cast(%picked)
  %one: float64[] = Select(%count) {axis = 0, index = 1}
  %var: float64[10] = Div(%ss, %one))";
  EXPECT_TRUE(findNorms(parsed(norm.text())).layerNorms.empty()) << "no product of sizes";
}

// ONNX Shape-15 may ask for some of the axes.
TEST(AlgebraicNorms, CountInAListOfSomeSizes) {
  const auto counted = [](const std::string& query, const std::string& element) {
    Fused norm;
    norm.count = "%sizes: " + query + R"( function Sizes
  %picked: int64[1] = Gather(%sizes, %two) {axis = 0}
  %count: float64[1] = Cast(%picked)
  %var: float64[10] = Div(%ss, %count))";
    std::string text = norm.text();
    const std::string two = "%two: float64[2] values <2 3>";
    text.replace(text.find(two), two.size(), "%two: float64[1] values <" + element + ">");
    return findNorms(parsed(text)).layerNorms.size();
  };
  EXPECT_EQ(counted("int64[4] = ShapeQuery(%v)", "2"), 1U);
  EXPECT_EQ(counted("int64[3] = ShapeQuery(%v) {start = 1}", "1"), 1U);
  EXPECT_EQ(counted("int64[2] = ShapeQuery(%v) {start = 1, end = 3}", "-1"), 1U);
  EXPECT_EQ(counted("int64[2] = ShapeQuery(%v) {start = -3, end = -1}", "1"), 1U);
  EXPECT_EQ(counted("int64[3] = ShapeQuery(%v) {start = 1}", "2"), 0U) << "the axis behind the row";
  EXPECT_EQ(counted("int64[2] = ShapeQuery(%v) {end = 2}", "2"), 0U) << "no such element";
}

// As TensorFlow Lite has it: multiplied out, behind a transposition.
struct Transposed {
  std::string inverse = R"(%k: float64[10] = Elementwise(%r) function Reciprocal)";
  std::string perm = "[0, 2, 3, 1]", inversePerm = "[0, 3, 1, 2]";
  std::string share = "%q: float64[10] = Mul(%mf, %k)";

  [[nodiscard]] std::string text() const {
    return R"(graph {
  input %x: float64[2, 5, 8]
  const %w: float64[8, 8] random 1
  const %wb: float64[8] random 2
  const %o: float64[3, 8] random 5
  const %zeros: float64[10] values <0 0 0 0 0 0 0 0 0 0>
  %h: float64[2, 5, 8] = Linear(%x, %w, %wb)
  %v: float64[1, 10, 8, 1] = Reshape(%h) {ones = [0, 3]}
  %p: float64[1, 8, 1, 10] = Permute(%v) {perm = )" +
           perm + R"(}
  %mf: float64[10] = Reduce(%v) {op = "mean", axes = [0, 2, 3], keepdim = false}
  %m: float64[1, 10, 1, 1] = Reshape(%mf) {ones = [0, 2, 3]}
  %d: float64[1, 10, 8, 1] = Sub(%v, %m)
  %dd: float64[1, 10, 8, 1] = Mul(%d, %d)
  %var: float64[10] = Reduce(%dd) {op = "mean", axes = [0, 2, 3], keepdim = false}
  %e: float64[10] = Add(%var, 1e-03)
  %r: float64[10] = Elementwise(%e) function SquareRoot
  )" + inverse +
           R"(
  %a: float64[1, 8, 1, 10] = Mul(%p, %k)
  )" + share +
           R"(
  %n: float64[10] = Sub(%zeros, %q)
  %t: float64[1, 8, 1, 10] = Add(%a, %n)
  %u: float64[1, 10, 8, 1] = Permute(%t) {perm = )" +
           inversePerm + R"(}
  %y: float64[2, 5, 8] = Reshape(%u)
  %z: float64[2, 5, 3] = Linear(%y, %o)
  return %z
})";
  }
};

TEST(AlgebraicNorms, BehindATranspositionAndMultipliedOut) {
  expectFolded(Transposed().text());
  Transposed other;
  other.share = "%q: float64[10] = Mul(%r, %mf)";
  EXPECT_EQ(found(other.text()).norms, 0U) << "the mean times the deviation";
  other = {};
  other.inverse = "%k: float64[10] = Add(%r, 0)";
  EXPECT_EQ(found(other.text()).norms, 0U) << "times the deviation";
}

TEST(AlgebraicNorms, NearMissesAreNone) {
  std::vector<std::pair<const char*, Fused>> others(8);
  others[0].first = "a batch of one in the probe, which may have more";
  others[0].second.view = "%v: float64[1, 10, 8, 1] = Reshape(%h) {ones = [3]}";
  others[1].first = "another divisor";
  others[1].second.count = "%var: float64[10] = Div(%ss, 7)";
  others[2].first = "eps outside the root";
  others[2].second.shifted = R"(%q: float64[10, 1, 1] = Elementwise(%varv) function SquareRoot)";
  others[2].second.root = "%r: float64[10, 1, 1] = Add(%q, 1e-03)";
  others[3].first = "no eps";
  others[3].second.shifted = "%e: float64[10, 1, 1] = Add(%varv, 0)";
  others[4].first = "statistics of another value";
  others[4].second.view += "\n  %xv: float64[1, 10, 8, 1] = Reshape(%x) {ones = [0, 3]}";
  others[4].second.centered = "%d: float64[1, 10, 8, 1] = Sub(%xv, %m)";
  others[5].first = "a mean of other rows";
  others[5].second.view = R"(%v: float64[1, 10, 8, 1] = Reshape(%h) {ones = [0, 3]}
  %hp: float64[5, 2, 8] = Permute(%h) {perm = [1, 0, 2]}
  %vp: float64[1, 10, 8, 1] = Reshape(%hp) {ones = [0, 3]})";
  others[5].second.difference = "%c: float64[1, 10, 8, 1] = Sub(%vp, %mv)";
  others[6].first = "a number per row behind it";
  others[6].second.scaled = "%s: float64[1, 10, 8, 1] = Mul(%n, %gates)";
  others[7].first = "another order of elements behind it";
  others[7].second.back = R"(%tp: float64[1, 8, 10, 1] = Permute(%t) {perm = [0, 2, 1, 3]}
  %y: float64[2, 5, 8] = Reshape(%tp))";
  for (const auto& [what, other] : others) {
    const auto text = other.text();
    for (const LayerNorm& norm : findNorms(parsed(text)).layerNorms)
      EXPECT_NE(parsed(text).value(norm.input).name, "h") << what;
  }
}

// What it computes is what is told, wherever it is told.
TEST(AlgebraicNorms, WhoseMeanIsReadElsewhereAreBlocked) {
  Fused read;
  read.outputs = "%z, %mf";
  expectKept(read.text(), "ts mean or deviation is used elsewhere");
}

TEST(AlgebraicNorms, WithARoundedCountAreBlocked) {
  Fused rounded;
  rounded.count = "%var: float64[10] = Mul(%ss, 0.12500001)";
  expectKept(rounded.text(), "t takes its means with a rounded 1/8");
}

// LayerNorms over the channels of an image, [batch, channels, height, width], written out.

struct Image {
  std::string axis = "1";
  std::string kept = "2, 1, 3, 5";
  std::string varianceAxis = "1";
  std::string outputs = "%z";

  // The last linear reads the norm's channels.
  [[nodiscard]] std::string text() const {
    return R"(graph {
  input %x: float64[2, 3, 5, 8]
  const %w: float64[8, 8] random 1
  const %wb: float64[8] random 2
  const %g: float64[8, 1, 1] random 3
  const %b: float64[8, 1, 1] random 4
  const %o: float64[4, 8] random 5
  const %ob: float64[4] random 6
  %l: float64[2, 3, 5, 8] = Linear(%x, %w, %wb)
  %h: float64[2, 8, 3, 5] = Permute(%l) {perm = [0, 3, 1, 2]}
  %m: float64[)" +
           kept + R"(] = Reduce(%h) {op = "mean", axes = [)" + axis + R"(], keepdim = true}
  %c: float64[2, 8, 3, 5] = Sub(%h, %m)
  %cc: float64[2, 8, 3, 5] = Mul(%c, %c)
  %v: float64[)" +
           kept + R"(] = Reduce(%cc) {op = "mean", axes = [)" + varianceAxis + R"(], keepdim = true}
  %e: float64[)" +
           kept + R"(] = Add(%v, 1e-05)
  %r: float64[)" +
           kept + R"(] = Elementwise(%e) function SquareRoot
  %n: float64[2, 8, 3, 5] = Div(%c, %r)
  %s: float64[2, 8, 3, 5] = Mul(%g, %n)
  %y: float64[2, 8, 3, 5] = Add(%s, %b)
  %p: float64[2, 3, 5, 8] = Permute(%y) {perm = [0, 2, 3, 1]}
  %z: float64[2, 3, 5, 4] = Linear(%p, %o, %ob)
  return )" +
           outputs + "\n}";
  }
};

TEST(ChannelNorms, AreFoldedByTheirWeights) { expectFolded(Image().text()); }

TEST(ChannelNorms, AreFoldedBehindARunTimeCentering) {
  Image read;
  read.outputs = "%z, %l";
  EXPECT_EQ(found(read.text(), Policy::Free).folded, 0U);
  const Found norm = found(read.text());
  EXPECT_EQ(norm.folded, 1U) << norm.reason;
  EXPECT_EQ(norm.centerings, 1);
  EXPECT_LT(norm.difference, 1e-12);
}

TEST(ChannelNorms, NormsOverOtherSingleAxesAreNone) {
  Image batch, height;
  batch.axis = batch.varianceAxis = "0";
  batch.kept = "1, 8, 3, 5";
  height.axis = height.varianceAxis = "2";
  height.kept = "2, 8, 1, 5";
  for (const Image& other : {batch, height}) expectNone(other.text());
}

// A series [batch, time, features] that is normalized over time.
TEST(ChannelNorms, OfThreeAxesTheLastAloneIsOfFeatures) {
  expectNone(R"(graph {
  input %x: float64[2, 5, 8]
  %m: float64[2, 1, 8] = Reduce(%x) {op = "mean", axes = [1], keepdim = true}
  %c: float64[2, 5, 8] = Sub(%x, %m)
  %cc: float64[2, 5, 8] = Mul(%c, %c)
  %v: float64[2, 1, 8] = Reduce(%cc) {op = "mean", axes = [1], keepdim = true}
  %e: float64[2, 1, 8] = Add(%v, 1e-05)
  %r: float64[2, 1, 8] = Elementwise(%e) function SquareRoot
  %y: float64[2, 5, 8] = Div(%c, %r)
  return %y
})");
}

// The ops for norms, and the ways that a beta moves, are for the last axes.
TEST(ChannelNorms, AreNotMadeOneOp) {
  const graph::Graph graph = parsed(Image().text());
  const Norms norms = findNorms(graph);
  ASSERT_EQ(norms.layerNorms.size(), 1U);
  EXPECT_EQ(norms.layerNorms[0].axes, (std::vector<int64_t>{1}));
  EXPECT_TRUE(joinableNorms(graph, norms, true).empty());
  EXPECT_FALSE(movableShift(graph, norms.layerNorms[0]));
  EXPECT_EQ(wholeNorm(graph, norms.layerNorms[0]).gamma, graph::kNoValue);
}

TEST(ChannelNorms, LastAxesAreTheLastOnes) {
  EXPECT_TRUE(areLastAxes({3}, 4));
  EXPECT_TRUE(areLastAxes({2, 3}, 4));
  EXPECT_FALSE(areLastAxes({1}, 4));
  EXPECT_FALSE(areLastAxes({1, 3}, 4));
  EXPECT_FALSE(areLastAxes({2, 3}, 5));
}

}  // namespace
}  // namespace normlens::analysis

// What the facade reports of a model: its description, the numbers of its tensors, and its difference from its fold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include "core/service/describe/describe.h"
#include "core/service/describe/graph_document.h"
#include "core/service/describe/targets_info.h"
#include "core/service/describe/tensor_stats.h"
#include "tests/service/demo_service.h"
#include "tests/support/graph_text.h"
#include "tests/support/must.h"

namespace normlens::service {
namespace {

protocol::Analysis described(const std::string& text, const std::string& probeError) {
  const auto graph = graph::parsed(text);
  return describeAnalysis(graph, **analysis::analyze(graph, {}), {}, probeError);
}

TEST(Describe, ThatThereIsNoLayerNormIsOnlySaidWhereShapesAreKnown) {
  const std::string relu = "graph {\n  input %x: float32[2, 8]\n  %y: float32[2, 8] = Elementwise(%x)\n  return %y\n}";
  EXPECT_EQ(described(relu, "").note, "No LayerNorms here.");
  const auto unknown = described(relu, "no kernel for Odd");
  EXPECT_EQ(unknown.probe_error, "no kernel for Odd");
  EXPECT_NE(unknown.note.find("may be missed"), std::string::npos) << unknown.note;
}

TEST(Describe, AnIfReadsItsConditionAndWhatItsBranchesReturn) {
  const auto graph = graph::parsed(R"(graph {
    input %x: float32[2, 8]
    %g: float32[2] = Elementwise(%x) op "gt"
    %c: float32 = Elementwise(%g) helper
    %y: float32[2, 8] = If(%c)
      block() {
        %t: float32[2, 8] = Neg(%x)
        return %t
      }
      block() {
        return %x
      }
    return %y
  })");
  const auto document = graphDocument(graph, {});
  const auto place = [&](graph::OpKind kind) {
    return std::ranges::find_if(document.nodes, [&](const auto& node) { return graph.node(node.id).kind == kind; });
  };
  const auto valueNamed = [&](const std::string& name) {
    return static_cast<int>(std::ranges::find(graph.values, name, &graph::Value::name) - graph.values.begin());
  };
  EXPECT_EQ(place(graph::OpKind::If)->inputs, (std::vector<int>{valueNamed("g"), valueNamed("t"), valueNamed("x")}));
  EXPECT_LT(place(graph::OpKind::Neg), place(graph::OpKind::If)) << "drawn before what reads it";
}

TEST(Describe, TargetsAreThoseThatLoadTheFormat) {
  const auto onnx = describeTargets("onnx").targets, traced = describeTargets("torchscript").targets;
  EXPECT_EQ(onnx.at(0).name, "") << "first the norm that is written without a target";
  EXPECT_EQ(onnx.at(0).norm, "portable");
  EXPECT_EQ(std::ranges::count(onnx, "coreml", &protocol::TargetInfo::name), 0);
  EXPECT_EQ(std::ranges::count(traced, "", &protocol::TargetInfo::name), 0) << "torch loads it";
  const auto tensorrt = std::ranges::find(onnx, "tensorrt", &protocol::TargetInfo::name);
  ASSERT_NE(tensorrt, onnx.end());
  EXPECT_FALSE(tensorrt->ran);
  EXPECT_TRUE(tensorrt->squares_in_float16);
}

TEST(Describe, NormsThatAreFoundNeedNoNote) {
  const auto analysis = described(R"(graph {
    input %x: float32[2, 8]
    %n: float32[2, 8] = LayerNorm(%x, _, _) {axes = [1], eps = 1e-05} op "aten::layer_norm"
    return %n
  })",
                                  "it did not run");
  EXPECT_EQ(analysis.note, "");
  EXPECT_EQ(analysis.totals.layer_norms, 1);
}

TEST(Describe, UnknownNormsAreCountedForThemselves) {
  const auto analysis = described(R"(graph {
    input %x: float32[2, 8]
    %h: float32 = Elementwise(%x)
    %n: float32 = LayerNorm(%h, _, _) {eps = 1e-05}
    return %n
  })",
                                  "it did not run");
  EXPECT_EQ(analysis.norms.at(0).verdict, Verdict::Unknown);
  EXPECT_EQ(analysis.totals.blocked, 0);
  EXPECT_EQ(inWords(analysis.totals), "1 LayerNorm, 0 free, 0 with centering, 0 blocked, 1 unknown");
}

// As the Annotated Transformer and others write them.
TEST(Describe, AnErrorBeyondRoundingIsToldByBothErrors) {
  run::Verification proof;
  proof.fileType = graph::DType::BFloat16;
  proof.file.worst = {0.1, 0.08};
  const auto isBeyond = [&](double original, double folded) {
    proof.file.errors = {original, folded};
    return describeVerification(proof).beyond_rounding;
  };
  EXPECT_TRUE(isBeyond(0.002, 0.06)) << "8 epsilons, 30 times the original's own";
  EXPECT_FALSE(isBeyond(0.02, 0.06));
  EXPECT_FALSE(isBeyond(0.002, 0.03)) << "4 epsilons";
  EXPECT_TRUE(isBeyond(0.2, 0.3)) << "more than 32 epsilons";
  proof.file.worst = {1.7, 9.4};
  EXPECT_TRUE(isBeyond(7.7, 0.06)) << "the original is lost in rounding";
  proof.file.worst = {0.1, 0.08};
  proof.file.floor = ErrorFloor::OtherRows;
  EXPECT_FALSE(isBeyond(0.002, 0.06)) << "the original is right by luck in this row";
  EXPECT_EQ(describeVerification(proof).floor, ErrorFloor::OtherRows);
}

TEST(Describe, NormsByAnotherFormulaAreNamedWithWhatHinders) {
  const auto kindOf = [](const std::string& spread, const std::string& shape = "[2, 8]") {
    const auto analysis = described(R"(graph {
      input %x: float32[2, 8]
      const %g: float32[8] random 1
      %m: float32[2, 1] = Reduce(%x) {op = "mean", axes = [1], keepdim = true}
      %c: float32[2, 8] = Sub(%x, %m)
      %s: float32[2, 8] = Mul(%g, %c)
      )" + spread + R"(
      %n: float32)" + shape + R"( = Div(%s, %d)
      return %n
    })",
                                    "");
    EXPECT_EQ(analysis.totals.layer_norms, 0);
    return analysis.other_norms.empty() ? std::string() : analysis.other_norms[0].kind;
  };
  const std::string unbiased =
      R"(%v: float32[2, 1] = Reduce(%x) {op = "std", axes = [1], keepdim = true, unbiased = true}
      %d: float32[2, 1] = Add(%v, 1e-06))";
  EXPECT_EQ(kindOf(unbiased),
            "a LayerNorm by another formula, kept: what it divides by is not the root of a LayerNorm's variance plus "
            "eps, though its mean could be dropped exactly");
  EXPECT_EQ(kindOf(R"(%q: float32[2, 8] = Mul(%c, %c)
      %d: float32[1, 1] = Reduce(%q) {op = "mean", axes = [0, 1], keepdim = true})"),
            kindOf(unbiased));
  EXPECT_EQ(kindOf("%d: float32[2, 1] = Elementwise(%m)"), "");
  EXPECT_EQ(kindOf(unbiased, ""), "");  // without shapes it may be a LayerNorm that is not seen
}

TEST(GraphDocument, rolesStreamsAndEnds) {
  const auto graph = graph::parsed(R"(graph {
    input %x: float32[2, 8]
    const %w: float32[8, 8] random 1
    const %b: float32[8] random 2
    %n: float32[2, 8] = LayerNorm(%x, _, _) {axes = [1], eps = 1e-05} op "aten::layer_norm" scope "block.ln"
    %f: float32[2, 8] = Linear(%n, %w, _) op "aten::linear"
    %fb: float32[2, 8] = Add(%f, %b) op "aten::add"
    %r: float32[2, 8] = Add(%x, %fb) op "aten::add"
    return %r
  })");
  const auto document = graphDocument(graph, analysis::findNorms(graph));
  std::string roles;
  for (const auto& node : document.nodes) roles += letterOf(node.role);
  EXPECT_EQ(roles, "NLBRIG");
  EXPECT_EQ(document.nodes[0].label, "layer_norm");
  EXPECT_EQ(document.nodes[0].norm, 0);
  std::vector<std::string> streams;
  for (const auto& value : document.values) {
    if (value.stream) streams.push_back(value.name);
  }
  EXPECT_EQ(streams, (std::vector<std::string>{"x", "r"}));
  EXPECT_EQ(document.scopes.size(), 3U);
  EXPECT_EQ(document.scopes[2].path, "block.ln");
}

// A constant counts alike whether it is added or subtracted, in the whole graph as in a norm's zero-mean graph.
TEST(GraphDocument, aConstantThatIsAddedHasOneClassInBothGraphs) {
  const auto graph = graph::parsed(R"(graph {
    input %x: float32[2, 8]
    input %i: int64[8]
    const %w: float32[8, 8] random 1
    const %b: float32[8] random 2
    const %one: float32[1] values <1>
    const %k: int64[8] values <1, 2, 3, 4, 5, 6, 7, 8>
    %f: float32[2, 8] = Linear(%x, %w, _) op "aten::linear"
    %fb: float32[2, 8] = Sub(%f, %b) op "aten::sub"
    %n: float32[2, 8] = LayerNorm(%fb, _, _) {axes = [1], eps = 1e-05} op "aten::layer_norm"
    %s: float32[2, 8] = Sub(%n, %one) op "aten::sub"
    %m: float32[2, 8] = Add(%s, 1) op "aten::add"
    %j: int64[8] = Add(%i, %k) op "aten::add"
    return %m, %j
  })");
  const auto analysis = analysis::analyze(graph, {}).value();
  const auto document = graphDocument(graph, analysis->norms);
  std::string roles;
  for (const auto& node : document.nodes) roles += letterOf(node.role);
  EXPECT_EQ(roles, "LBNSSSIIGG");
  const auto vertices = describeZeroMeanGraph(*analysis, 0).vertices;
  EXPECT_EQ(vertices.size(), 3U);
  for (const auto& vertex : vertices)
    EXPECT_EQ(vertex.vertex_class, document.nodes[static_cast<size_t>(vertex.node)].role) << vertex.note;
}

TEST(GraphDocument, outputsHaveTheNamesOfTheFile) {
  auto graph = graph::parsed("graph {\n  input %x: float32[2]\n  return %x, %x\n}");
  EXPECT_EQ(graphDocument(graph, {}).nodes.back().label, "output 1");
  graph.outputNames = {"logits", "hidden"};
  EXPECT_EQ(graphDocument(graph, {}).nodes.back().label, "hidden");
  graph.outputNames = {"logits", ""};
  EXPECT_EQ(graphDocument(graph, {}).nodes.back().label, "output 1") << "not all have one";
}

graph::Constant constantOf(graph::TensorView view) {
  graph::Constant constant;
  constant.name = "w";
  constant.view = std::move(view);
  return constant;
}

protocol::TensorStats statsOf(const graph::Constant& constant, const ops::Pattern* centered = nullptr) {
  return must(tensorStats(constant, centered, {}));
}

TEST(TensorStats, figuresAndGroupMeans) {
  const auto constant = constantOf(graph::tensorFromDoubles({2, 3}, {1, 2, 3, 5, 6, 7}));
  const int64_t rows = 0;
  const auto pattern = ops::Pattern::overAxes({2, 3}, {&rows, 1});
  const auto stats = statsOf(constant, &pattern);
  EXPECT_EQ(stats.before.min, 1);
  EXPECT_EQ(stats.before.max, 7);
  EXPECT_EQ(stats.before.mean, 4);
  EXPECT_NEAR(stats.before.deviation, std::sqrt(14.0 / 3.0), 1e-12);
  EXPECT_EQ(stats.column_means, (std::vector<double>{3, 4, 5}));
  EXPECT_EQ(stats.before.largest_column_mean, 5);
  ASSERT_TRUE(stats.after);
  EXPECT_EQ(stats.after->min, -2);
  EXPECT_EQ(stats.after->max, 2);
  EXPECT_EQ(stats.after->mean, 0);
  EXPECT_EQ(stats.after->largest_column_mean, 0);
  EXPECT_EQ(stats.low, -4);  // room for 1 less the largest mean, so that both histograms share an axis
  EXPECT_EQ(stats.high, 7);
  const auto plain = statsOf(constant);
  EXPECT_TRUE(plain.column_means.empty());
  EXPECT_FALSE(plain.after);
}

TEST(TensorStats, whatIsLeftAfterCenteringIsRoundedToTheType) {
  std::vector<float> numbers(15);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i)) + 100.3F;
  graph::TensorView view;
  view.data = reinterpret_cast<const std::byte*>(numbers.data());
  view.dtype = graph::DType::Float32;
  view.shape = {3, 5};
  view.strides = {5, 1};
  const int64_t rows = 0;
  const auto pattern = ops::Pattern::overAxes({3, 5}, {&rows, 1});
  const auto stats = statsOf(constantOf(view), &pattern);
  EXPECT_GT(stats.before.largest_column_mean, 99);
  ASSERT_TRUE(stats.after);
  EXPECT_GT(stats.after->largest_column_mean, 0);
  EXPECT_LT(stats.after->largest_column_mean, 1e-6);
}

TEST(TensorStats, atMost256MeansEvenlyPicked) {
  std::vector<double> numbers;
  for (int i = 0; i < 1024; ++i) numbers.push_back(i / 2);  // NOLINT(bugprone-integer-division): each twice
  const auto constant = constantOf(graph::tensorFromDoubles({512, 2}, numbers));
  const int64_t last = 1;
  const auto pattern = ops::Pattern::overAxes({512, 2}, {&last, 1});
  const auto means = statsOf(constant, &pattern).column_means;
  ASSERT_EQ(means.size(), 256U);
  EXPECT_EQ(means.front(), 0);
  EXPECT_EQ(means.back(), 510);
}

TEST(TensorStats, theRegionOutsideAPatternStaysAsItIs) {
  const auto constant = constantOf(graph::tensorFromDoubles({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  const auto pattern = must(ops::Pattern::parse("(4 of 1:3)(2 sum)"));
  const auto stats = statsOf(constant, &pattern);
  EXPECT_EQ(stats.column_means, (std::vector<double>{3.5, 5.5}));
  ASSERT_TRUE(stats.after);
  EXPECT_EQ(stats.after->max, 8);
  EXPECT_EQ(stats.after->min, -0.5);
}

TEST(TensorStats, histogramAndHeatMapCountEveryElementOnce) {
  // Larger than a part, so that parts meet; its rows rise, its columns do not.
  const int64_t rows = 300, columns = 400;
  std::vector<double> numbers;
  for (int64_t i = 0; i < rows * columns; ++i)
    numbers.push_back(static_cast<double>(i / columns));  // NOLINT(bugprone-integer-division): its row
  const auto stats = statsOf(constantOf(graph::tensorFromDoubles({rows, columns}, numbers)));
  const auto& bins = stats.before.histogram;
  ASSERT_EQ(bins.size(), 64U);
  EXPECT_EQ(std::accumulate(bins.begin(), bins.end(), int64_t{0}), rows * columns);
  EXPECT_EQ(stats.heat_rows, 32);
  EXPECT_EQ(stats.heat_columns, 96);
  const auto& heat = stats.before.heat;
  ASSERT_EQ(heat.size(), 32U * 96U);
  EXPECT_NEAR(heat.front(), 4.5, 0.51);  // the mean of rows 0 to 9
  EXPECT_EQ(heat[0], heat[95]);
  EXPECT_GT(heat[96], heat[0]);
}

TEST(TensorStats, numbersThatAreNotFiniteAreCountedApart) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const auto stats = statsOf(constantOf(graph::tensorFromDoubles({4}, {1, nan, 3, inf})));
  EXPECT_EQ(stats.not_finite, 2);
  EXPECT_EQ(stats.before.mean, 2);
  EXPECT_EQ(stats.before.max, 3);
  const auto none = statsOf(constantOf(graph::tensorFromDoubles({1}, {nan})));
  EXPECT_EQ(none.not_finite, 1);
  EXPECT_TRUE(none.before.histogram.empty());
}

TEST(TensorStats, stopsWhenAsked) {
  std::stop_source source;
  source.request_stop();
  const Task task{{}, source.get_token()};
  EXPECT_EQ(failureOf(tensorStats(constantOf(graph::tensorFromDoubles({2}, {1, 2})), nullptr, task)).code,
            ErrorCode::Cancelled);
}

class DifferencesOfDemos : public testing::Test {
 protected:
  void foldWith(const char* model, Policy policy) {
    service_.analyzed(model);
    service_.folded(policy);
  }
  protocol::DiffResult diff(const std::string& dtype, int batches = 1) {
    protocol::DiffParams params;
    params.dtype = dtype;
    params.batches = batches;
    return must(service_.diff(params, Task{}));
  }
  static const protocol::DiffRow& output(const protocol::DiffResult& result) {
    return *std::ranges::find(result.rows, SiteKind::Output, &protocol::DiffRow::kind);
  }

  DemoService service_;
};

TEST_F(DifferencesOfDemos, AnExactFoldDiffersByTheRoundingOfEachType) {
  foldWith("gpt2.pt", Policy::Balanced);
  const std::pair<const char*, double> types[] = {
      {"float64", 1e-13}, {"float32", 1e-5}, {"float16", 0.1}, {"bfloat16", 0.5}};
  double before = 0;
  for (const auto& [dtype, most] : types) {
    const auto result = diff(dtype);
    EXPECT_EQ(result.dtype, dtype);
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.norms_reason, "");
    ASSERT_FALSE(result.rows.empty());
    const double error = output(result).max_rel;
    EXPECT_LT(error, most) << dtype;
    EXPECT_GT(error, before) << dtype;
    before = error;
    EXPECT_TRUE(output(result).top1);
    ASSERT_TRUE(output(result).rounding) << dtype;
    EXPECT_LE(error, 6 * *output(result).rounding) << dtype;
    EXPECT_EQ(std::ranges::count(result.rows, SiteKind::NormOutput, &protocol::DiffRow::kind), 9);
    EXPECT_EQ(std::ranges::count(result.rows, SiteKind::NormInput, &protocol::DiffRow::kind), 9);
  }
}

// Its weights were rounded to float32.
TEST_F(DifferencesOfDemos, AFileOfTheFoldIsAtItsFloorInFloat64) {
  foldWith("gpt2.pt", Policy::Balanced);
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "differences_folded.pt";
  protocol::ExportParams written;
  written.path = file;
  written.force = true;
  ASSERT_TRUE(service_.exportTo(written, Task{}));
  protocol::DiffParams params;
  params.against = file;
  params.dtype = "float64";
  const auto result = service_.diff(params, Task{});
  std::filesystem::remove(file);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_TRUE(output(*result).rounding);
  EXPECT_GT(output(*result).max_rel, 1e-10);
  EXPECT_LE(output(*result).max_rel, 6 * *output(*result).rounding);
}

TEST_F(DifferencesOfDemos, WhatThePaperPromisesAndGammaBreaksIsSeenInFloat64) {
  foldWith("bert.pt", Policy::Paper);
  const auto result = diff("float64");
  EXPECT_GT(output(result).max_rel, 1e-3);
  EXPECT_LT(6 * *output(result).rounding, 1e-10);
  EXPECT_NE(result.first_diverging, "");
}

TEST_F(DifferencesOfDemos, TheTensorsOfARowAreThoseThatWereMeasured) {
  foldWith("gpt2.pt", Policy::Balanced);
  const auto result = diff("float32", 2);
  for (const SiteKind kind : {SiteKind::NormInput, SiteKind::NormOutput, SiteKind::Output}) {
    const auto& row = *std::ranges::find(result.rows, kind, &protocol::DiffRow::kind);
    protocol::TensorPairParams params;
    params.dtype = "float32";
    params.kind = row.kind;
    params.value = row.value;
    params.output = row.output;
    params.batch = row.batch;
    const auto pair = must(service_.tensorPair(params, Task{}));
    EXPECT_DOUBLE_EQ(pair.most, row.max_abs) << nameOf(kind);
    EXPECT_EQ(pair.aligned, row.aligned);
    EXPECT_EQ(pair.a.size(), static_cast<size_t>(pair.heat_rows * pair.heat_columns));
    params.tile = {0, 2, 0, 3};
    const auto piece = must(service_.tensorPair(params, Task{}));
    EXPECT_EQ(piece.difference.size(), 6U);
    EXPECT_EQ(piece.rows, pair.rows);
  }
}

TEST_F(DifferencesOfDemos, AFileIsComparedWithoutAFold) {
  service_.analyzed("gpt2.pt");
  protocol::DiffParams params;
  EXPECT_FALSE(service_.diff(params, Task{})) << "nothing has been folded";
  params.against = (kDemos / "gpt2.pt").string();
  const auto same = must(service_.diff(params, Task{}));
  EXPECT_EQ(output(same).max_abs, 0);
  params.against = (kDemos / "vit.pt").string();
  const auto other = must(service_.diff(params, Task{}));
  EXPECT_NE(other.error, "") << "it takes other inputs";
  params.against = "/no/such/model.pt";
  EXPECT_FALSE(service_.diff(params, Task{}));
  params.against.clear();
  params.dtype = "int8";
  EXPECT_FALSE(service_.diff(params, Task{}));
}

}  // namespace
}  // namespace normlens::service

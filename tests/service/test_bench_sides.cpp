// What a measurement may be of: the open model, its fold in any flavour, its fused form, files; in any pair.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "tests/formats/pt2/program_text.h"
#include "tests/service/demo_service.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::service {
namespace {

class BenchSides : public testing::Test {
 protected:
  void SetUp() override { service_.analyzed("gpt2.pt"); }
  Result<protocol::BenchResult> bench(const std::string& a, const std::string& b,
                                      const std::vector<std::string>& sweep = {}) {
    protocol::BenchParams params;
    params.a = a;
    params.b = b;
    params.rounds = params.iterations = params.warmup = 1;
    params.sweep = sweep;
    return service_.bench(params, {}, Task{});
  }
  std::filesystem::path archive() const {
    auto file = folder_ / "m.pt2";
    formats::test::writeFile(file, formats::test::buildZip(formats::pt2::test::linearAndNorm(4, true).entries()));
    return file;
  }
  static int count(const std::vector<protocol::NormWork>& work, const char* kind) {
    return static_cast<int>(std::ranges::count(work, kind, &protocol::NormWork::kind));
  }
  static bool anyNorm(const protocol::BenchSide& side, const std::string& op) {
    return std::ranges::any_of(side.ops, [&](const protocol::OpShare& share) { return share.op == op && share.norm; });
  }

  const TemporaryFolder folder_;
  DemoService service_;
};

TEST_F(BenchSides, TheFoldInAnotherFlavour) {
  service_.folded();
  const auto last = must(bench("original", "folded"));
  EXPECT_EQ(last.points.front().norm, "portable");
  ASSERT_TRUE(last.points.front().outputs) << last.points.front().outputs_reason;
  EXPECT_FALSE(last.points.front().outputs->beyond);
  EXPECT_EQ(last.points.front().b->model, "folded");
  EXPECT_TRUE(last.points.front().fold_ms);
  const auto other = must(bench("original", "folded:primitives"));
  EXPECT_EQ(other.points.front().norm, "primitives");
  EXPECT_TRUE(other.points.front().fold_ms);
  EXPECT_FALSE(anyNorm(*other.points.front().b, "aten::rms_norm"));
  EXPECT_TRUE(anyNorm(*other.points.front().b, "aten::pow"));  // the norms as they were written out
  EXPECT_GT(*other.points.front().b->norm_share, 0);
  // One stands behind a run-time centering: written out, the two are a LayerNorm.
  EXPECT_EQ(count(other.work_b, "RMSNorm"), count(other.work_a, "LayerNorm") - 1);
  EXPECT_EQ(count(other.work_b, "LayerNorm"), 1);
  const auto swept = must(bench("original", "folded:primitives", {"norm=portable,primitives"}));
  EXPECT_EQ(swept.points.size(), 2U);
}

// 001 E.2, G.1.3 and table 6.
TEST_F(BenchSides, AFoldIsMeasuredAsInThePapers) {
  service_.folded();
  const auto result = must(bench("original", "folded", {"batch=1,3", "seq=4,16"}));
  ASSERT_EQ(result.points.size(), 4U);
  EXPECT_GT(*result.init_ms, 0);
  const auto spread = protocol::foldSpread(result);
  ASSERT_TRUE(spread);  // each point was folded anew
  EXPECT_EQ(spread->points, 4);
  for (const protocol::BenchPoint& point : result.points) {
    const double tokens = std::stod(point.at[0].second) * std::stod(point.at[1].second);
    for (const auto* side : {&point.a, &*point.b}) {
      EXPECT_NEAR(*side->latency.tokens_per_second, 1000 * tokens / side->latency.median_ms, 1e-6 * tokens);
    }
    EXPECT_GT(*point.expected_speedup, 1);
    EXPECT_LT(*point.expected_speedup, 1 / (1 - 0.8 * *point.a.norm_share));
  }
  const auto one = must(bench("original", "folded"));
  EXPECT_FALSE(protocol::foldSpread(one));
  EXPECT_FALSE(must(bench("original", "original")).points.front().expected_speedup);
  const auto norms = must(bench("original", "folded", {"batch=1,3", "norm=portable,primitives"}));
  EXPECT_EQ(norms.points.size(), 4U);
}

// Images have no length; features that norms go over row by row do.
TEST_F(BenchSides, TokensAreCountedWhereTheyAreKnown) {
  // Inputs: [2, 16] ids, [2, 16, 32] features, images, [3, 4] rows.
  for (const auto& [model, tokens] : {std::pair{std::filesystem::path("lessons/post_norm.pt"), 32},
                                      {"lessons/concatenated.pt", 32},
                                      {"lessons/over_space.pt", 0},
                                      {"vit.pt", 0},
                                      {archive(), 0}}) {
    service_.analyzed(model);
    const auto latency = must(bench("original", "")).points.front().a.latency;
    EXPECT_EQ(latency.tokens_per_second.has_value(), tokens > 0) << model;
    EXPECT_NEAR(latency.tokens_per_second.value_or(0), 1000 * tokens / latency.median_ms, 1) << model;
  }
}

TEST_F(BenchSides, AFoldAgainstTheSameInAnotherFlavour) {
  service_.folded();
  const auto result = must(bench("folded:fast", "folded"));
  EXPECT_FALSE(result.points.front().fold_ms);  // neither comes out of the other by folding
  EXPECT_TRUE(anyNorm(result.points.front().a, "normlens::rms_norm"));
  EXPECT_TRUE(anyNorm(*result.points.front().b, "aten::rms_norm"));
  EXPECT_GT(count(result.work_b, "RMSNorm"), 0);
}

TEST_F(BenchSides, TheFusedFormNeedsNoFold) {
  const auto result = must(bench("original", "fused"));
  EXPECT_TRUE(anyNorm(*result.points.front().b, "normlens::add_layer_norm"));
  EXPECT_FALSE(result.points.front().fold_ms);
  EXPECT_EQ(result.points.front().norm, "");
}

TEST_F(BenchSides, TwoFiles) {
  const std::string file = kDemos / "gpt2.pt";
  const auto result = must(bench(file, file));
  EXPECT_EQ(result.points.front().a.model, file);
  EXPECT_EQ(result.points.front().norm, "");
  EXPECT_GT(result.work_a.size(), 0U);  // both were probed
  EXPECT_EQ(result.work_a.size(), result.work_b.size());
  EXPECT_EQ(must(bench("original", "original")).points.front().rounds.size(), 1U);
}

// An analysis takes no size of 1: the open model has the shapes of two rows then.
TEST_F(BenchSides, TheWorkOfBothIsThatOfTheInputs) {
  for (const auto& [model, spec] :
       {std::pair{kDemos / "gpt2.pt", "ids=int64[1,8]:0..9"}, {archive(), "x=float32[8,4]"}}) {
    ASSERT_TRUE(service_.open(model, Task{}));
    service_.setInputs({.npz = {}, .specs = {spec}, .sizes = {}});
    ASSERT_TRUE(service_.analyze(Task{}));
    service_.folded();
    for (const std::string& side : {model.string(), std::string("folded")}) {
      const auto result = must(bench("original", side));
      ASSERT_FALSE(result.work_a.empty());
      for (const auto& work : {result.work_a, result.work_b}) {
        for (const protocol::NormWork& norm : work) EXPECT_EQ(norm.rows, 8) << norm.name;
      }
      EXPECT_GE(result.work_b.size(), result.work_a.size()) << side;
    }
  }
}

TEST_F(BenchSides, ALengthBeyondThePositionsIsRefusedWithTheirName) {
  const auto result = must(bench("original", "original", {"seq=16,129"}));
  ASSERT_EQ(result.points.size(), 2U);
  EXPECT_EQ(result.points[0].error, "");
  EXPECT_EQ(result.points[1].error,
            "wpe.weight has 128 rows, and the inputs need 129; check that the inputs fit the model");
}

// The process may not have more than this while one lives.
class DataLimit {
 public:
  explicit DataLimit(rlim_t bytes) {
    getrlimit(RLIMIT_DATA, &before_);
    const rlimit limited{bytes, before_.rlim_max};
    setrlimit(RLIMIT_DATA, &limited);
  }
  ~DataLimit() { setrlimit(RLIMIT_DATA, &before_); }
  DataLimit(const DataLimit&) = delete;
  DataLimit& operator=(const DataLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(BenchSides, InputsThatDoNotFitIntoMemoryAreTheErrorOfTheirPoint) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer ends the process where new would throw";
#endif
  const DataLimit limit(rlim_t{8} << 30);
  // 16 ids in a row: 12.8 GB of doubles to draw them in.
  const auto result = must(bench("original", "", {"batch=1,100000000"}));
  ASSERT_EQ(result.points.size(), 2U);
  EXPECT_EQ(result.points[0].error, "");
  EXPECT_NE(result.points[1].error.find("not enough memory"), std::string::npos) << result.points[1].error;
}

TEST_F(BenchSides, WhatIsNotThereIsSaid) {
  for (const char* side : {"folded", "folded:fast"}) {
    EXPECT_PRED2(contains, failureOf(bench("original", side)).message, "folded");
  }
  service_.folded();
  const Error unknown = failureOf(bench("original", "folded:quick"));
  EXPECT_EQ(unknown.code, ErrorCode::Usage);
  EXPECT_EQ(unknown.message, "there is no norm flavor 'quick'");
  EXPECT_FALSE(bench("", "original"));
  EXPECT_FALSE(bench("/no/such/model.pt", "original"));
  EXPECT_FALSE(bench("folded", "original", {"norm=fast"}));  // A is to be what is folded
}

// The machine that is told is one GPU's, with its name and its clocks.
TEST_F(BenchSides, AMeasurementIsOfOneGpu) {
  const Error two = failureOf(bench("original", "", {"device=cuda,cuda:1"}));
  EXPECT_EQ(two.code, ErrorCode::Usage);
  EXPECT_NE(two.message.find("one GPU"), std::string::npos) << two.message;
  EXPECT_EQ(failureOf(bench("original", "", {"device=cuda:120"})).code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace normlens::service

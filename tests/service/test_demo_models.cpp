// The whole path through the facade on the bundled models: open, analyse, fold with proof, export, open again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/service/service.h"

namespace normlens::service {
namespace {

const std::filesystem::path kDemos = NORMLENS_DEMO_MODELS;

class DemoModels : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("normlens-service-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_P(DemoModels, foldsProvesAndExports) {
  Service service;
  const auto opened = service.open(kDemos / GetParam(), Task{});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_FALSE(opened->graph.nodes.empty());
  const auto analysis = service.analyze(Task{});
  ASSERT_TRUE(analysis) << analysis.error().message;
  EXPECT_EQ(analysis->probe_error, "");
  const auto& totals = analysis->totals;
  EXPECT_EQ(totals.free + totals.with_centering + totals.blocked, totals.layer_norms);
  ASSERT_GT(totals.free, 0);
  protocol::FoldParams params;
  const auto fold = service.fold(params, Task{});
  ASSERT_TRUE(fold) << fold.error().message;
  EXPECT_TRUE(fold->ok) << fold->reason;
  ASSERT_TRUE(fold->verify);
  EXPECT_LE(fold->verify->algebra.max_rel, 1e-10);
  const auto out = folder_ / "folded.pt";
  const auto written = service.exportTo({out.string(), "portable", false}, Task{});
  ASSERT_TRUE(written) << written.error().message;
  Service again;
  ASSERT_TRUE(again.open(out, Task{}));
  const auto after = again.analyze(Task{});
  ASSERT_TRUE(after);
  EXPECT_EQ(after->totals.layer_norms, totals.layer_norms - static_cast<int>(fold->plan.folded.size()));
}

INSTANTIATE_TEST_SUITE_P(All, DemoModels, testing::Values("gpt2.pt", "bert.pt", "vit.pt"), [](const auto& row) {
  return std::string(row.param).substr(0, std::string(row.param).find('.'));
});

TEST_F(DemoModels, paperPolicyFailsOnTrainedPostNormAndWritesNothing) {
  Service service;
  ASSERT_TRUE(service.open(kDemos / "bert.pt", Task{}));
  ASSERT_TRUE(service.analyze(Task{}));
  protocol::FoldParams params;
  params.plan.policy = "paper";
  const auto fold = service.fold(params, Task{});
  ASSERT_TRUE(fold) << fold.error().message;
  EXPECT_FALSE(fold->ok);
  EXPECT_FALSE(fold->verify->first_diverging.empty());
  const auto out = folder_ / "folded.pt";
  const auto refused = service.exportTo({out.string(), "portable", false}, Task{});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Refused);
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_TRUE(service.exportTo({out.string(), "portable", true}, Task{}));
}

TEST_F(DemoModels, theOriginalIsNeverOverwritten) {
  Service service;
  const auto copy = folder_ / "model.pt";
  std::filesystem::copy_file(kDemos / "gpt2.pt", copy);
  ASSERT_TRUE(service.open(copy, Task{}));
  ASSERT_TRUE(service.analyze(Task{}));
  protocol::FoldParams params;
  params.verify = false;
  ASSERT_TRUE(service.fold(params, Task{}));
  for (const auto& path : {copy, folder_ / "." / "model.pt", folder_ / "folded.onnx"}) {
    const auto refused = service.exportTo({path.string(), "portable", false}, Task{});
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, ErrorCode::Usage);
  }
}

TEST_F(DemoModels, otherGraphsAreReadBesideTheOpenModel) {
  Service service;
  const auto gpt2 = service.open(kDemos / "gpt2.pt", Task{});
  ASSERT_TRUE(gpt2);
  const auto vit = service.readGraph({(kDemos / "vit.pt").string()}, Task{});
  ASSERT_TRUE(vit) << vit.error().message;
  EXPECT_NE(vit->graph.nodes.size(), gpt2->graph.nodes.size());
  EXPECT_FALSE(service.readGraph({}, Task{})) << "nothing has been folded";
  EXPECT_FALSE(service.readGraph({(folder_ / "none.pt").string()}, Task{}));
  ASSERT_TRUE(service.analyze(Task{}));
  protocol::FoldParams params;
  params.verify = false;
  const auto fold = service.fold(params, Task{});
  ASSERT_TRUE(fold) << fold.error().message;
  const auto folded = service.readGraph({}, Task{});
  ASSERT_TRUE(folded) << folded.error().message;
  const auto rmsNorms = std::ranges::count(folded->graph.nodes, "aten::rms_norm", &protocol::GraphNode::op);
  EXPECT_EQ(rmsNorms, static_cast<int64_t>(fold->plan.folded.size()));
}

TEST_F(DemoModels, theWeightsOfTheFoldedModelDifferWhereThePlanSaysSo) {
  Service service;
  ASSERT_TRUE(service.open(kDemos / "bert.pt", Task{}));
  ASSERT_TRUE(service.analyze(Task{}));
  const auto open = service.weightDigests({}, Task{});
  const auto same = service.weightDigests({true, (kDemos / "bert.pt").string()}, Task{});
  ASSERT_TRUE(open && same);
  EXPECT_FALSE(open->digests.empty());
  EXPECT_EQ(open->values, same->values);
  EXPECT_EQ(open->digests, same->digests);
  EXPECT_FALSE(service.weightDigests({true, ""}, Task{})) << "nothing has been folded";
  protocol::FoldParams params;
  params.verify = false;
  const auto fold = service.fold(params, Task{});
  ASSERT_TRUE(fold) << fold.error().message;
  ASSERT_GT(fold->plan.tensors_centered, 0);
  const auto folded = service.weightDigests({true, ""}, Task{});
  ASSERT_TRUE(folded);
  const std::set<std::string> before(open->digests.begin(), open->digests.end());
  const auto fresh =
      std::ranges::count_if(folded->digests, [&](const auto& digest) { return !before.contains(digest); });
  EXPECT_GE(fresh, fold->plan.tensors_centered);
}

TEST(Service, callsOutOfOrderAreRefused) {
  Service service;
  EXPECT_FALSE(service.readGraph({}, {}));
  EXPECT_FALSE(service.analyze(Task{}));
  EXPECT_FALSE(service.plan({}, {}));
  EXPECT_FALSE(service.zeroMeanGraph({0}));
  EXPECT_FALSE(service.open("/nonexistent/model.pt", Task{}));
}

}  // namespace
}  // namespace normlens::service

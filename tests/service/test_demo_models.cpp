// The whole path through the facade on the bundled models (open, analyze, fold with proof, export, open again), and
// which of several models of one file it opens.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/service/service.h"
#include "tests/formats/pt2/program_text.h"
#include "tests/service/demo_service.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::service {
namespace {

class DemoModels : public testing::TestWithParam<const char*> {
 protected:
  const TemporaryFolder folder_;
  DemoService service_;
};

TEST_P(DemoModels, foldsProvesAndExports) {
  const auto opened = must(service_.open(kDemos / GetParam(), Task{}));
  EXPECT_FALSE(opened.graph.nodes.empty());
  const auto analysis = must(service_.analyze(Task{}));
  EXPECT_EQ(analysis.probe_error, "");
  const auto& totals = analysis.totals;
  EXPECT_EQ(totals.free + totals.with_centering + totals.blocked, totals.layer_norms);
  ASSERT_GT(totals.free, 0);
  protocol::FoldParams params;
  const auto fold = must(service_.fold(params, Task{}));
  EXPECT_TRUE(fold.ok) << fold.reason;
  ASSERT_TRUE(fold.verify);
  EXPECT_LE(fold.verify->algebra.max_rel, 1e-10);
  const auto out = folder_ / "folded.pt";
  ASSERT_TRUE(service_.exportTo({out.string(), "portable", false, {}}, Task{}));
  Service again;
  ASSERT_TRUE(again.open(out, Task{}));
  const auto after = must(again.analyze(Task{}));
  EXPECT_EQ(after.totals.layer_norms, totals.layer_norms - static_cast<int>(fold.plan.folded.size()));
}

TEST_F(DemoModels, aTargetChoosesTheNormThatIsWritten) {
  service_.analyzed("gpt2.pt");
  service_.folded();
  const auto out = folder_ / "coreml.pt";
  ASSERT_TRUE(service_.exportTo({out.string(), "portable", false, "coreml"}, Task{}));
  Service again;
  const auto ops = must(again.open(out, Task{})).graph.nodes;
  EXPECT_EQ(std::ranges::count(ops, "aten::rms_norm", &protocol::GraphNode::op), 0) << "Core ML loads none";
  EXPECT_GT(std::ranges::count(ops, "aten::rsqrt", &protocol::GraphNode::op), 0);
  EXPECT_EQ(failureOf(service_.exportTo({out.string(), "portable", false, "openvino"}, Task{})).code, ErrorCode::Usage);
}

INSTANTIATE_TEST_SUITE_P(All, DemoModels, testing::Values("gpt2.pt", "bert.pt", "vit.pt"), [](const auto& row) {
  return std::string(row.param).substr(0, std::string(row.param).find('.'));
});

TEST_F(DemoModels, paperPolicyFailsOnTrainedPostNormAndWritesNothing) {
  service_.analyzed("bert.pt");
  protocol::FoldParams params;
  params.plan.policy = Policy::Paper;
  const auto fold = must(service_.fold(params, Task{}));
  EXPECT_FALSE(fold.ok);
  EXPECT_FALSE(fold.verify->first_diverging.empty());
  const auto out = folder_ / "folded.pt";
  EXPECT_EQ(failureOf(service_.exportTo({out.string(), "portable", false, {}}, Task{})).code, ErrorCode::Refused);
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_TRUE(service_.exportTo({out.string(), "portable", true, {}}, Task{}));
}

TEST_F(DemoModels, theOriginalIsNeverOverwritten) {
  const auto copy = folder_ / "model.pt";
  std::filesystem::copy_file(kDemos / "gpt2.pt", copy);
  service_.analyzed(copy);
  service_.folded();
  for (const auto& path : {copy, folder_ / "." / "model.pt", folder_ / "folded.onnx"}) {
    const auto refused = service_.exportTo({path.string(), "portable", false, {}}, Task{});
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, ErrorCode::Usage);
  }
}

TEST_F(DemoModels, otherGraphsAreReadBesideTheOpenModel) {
  const auto gpt2 = must(service_.open(kDemos / "gpt2.pt", Task{}));
  const auto vit = must(service_.readGraph({(kDemos / "vit.pt").string()}, Task{}));
  EXPECT_NE(vit.graph.nodes.size(), gpt2.graph.nodes.size());
  EXPECT_FALSE(service_.readGraph({}, Task{})) << "nothing has been folded";
  EXPECT_FALSE(service_.readGraph({(folder_ / "none.pt").string()}, Task{}));
  ASSERT_TRUE(service_.analyze(Task{}));
  const auto fold = service_.folded();
  const auto folded = must(service_.readGraph({}, Task{}));
  const auto rmsNorms = std::ranges::count(folded.graph.nodes, "aten::rms_norm", &protocol::GraphNode::op);
  EXPECT_EQ(rmsNorms, static_cast<int64_t>(fold.plan.folded.size()));
}

TEST_F(DemoModels, theWeightsOfTheFoldedModelDifferWhereThePlanSaysSo) {
  service_.analyzed("bert.pt");
  const auto open = service_.weightDigests({}, Task{});
  const auto same = service_.weightDigests({true, (kDemos / "bert.pt").string()}, Task{});
  ASSERT_TRUE(open && same);
  EXPECT_FALSE(open->digests.empty());
  EXPECT_EQ(open->values, same->values);
  EXPECT_EQ(open->digests, same->digests);
  EXPECT_FALSE(service_.weightDigests({true, ""}, Task{})) << "nothing has been folded";
  const auto fold = service_.folded();
  ASSERT_GT(fold.plan.tensors_centered, 0);
  const auto folded = must(service_.weightDigests({true, ""}, Task{}));
  const std::set<std::string> before(open->digests.begin(), open->digests.end());
  const auto fresh =
      std::ranges::count_if(folded.digests, [&](const auto& digest) { return !before.contains(digest); });
  EXPECT_GE(fresh, fold.plan.tensors_centered);
}

TEST(Service, callsOutOfOrderAreRefused) {
  Service service;
  EXPECT_FALSE(service.readGraph({}, {}));
  EXPECT_FALSE(service.analyze(Task{}));
  EXPECT_FALSE(service.plan({}, {}));
  EXPECT_FALSE(service.zeroMeanGraph({0}));
  EXPECT_FALSE(service.open("/nonexistent/model.pt", Task{}));
}

using formats::pt2::test::linearAndNorm;

class SeveralModels : public ::testing::Test {
 protected:
  std::filesystem::path holding(const std::vector<formats::test::ZipEntry>& entries) {
    auto made = folder_ / "m.pt2";
    formats::test::writeFile(made, formats::test::buildZip(entries));
    return made;
  }

  const TemporaryFolder folder_;
  Service service_;
};

TEST_F(SeveralModels, TheOneOfTheNameIsOpenedAndAllAreTold) {
  const auto file = holding(linearAndNorm().entriesOfTwo());
  for (const std::string name : {"model", "other", ""}) {
    const auto info = must(service_.open(file, {}, name));
    EXPECT_EQ(info.model, name.empty() ? "model" : name);
    EXPECT_EQ(info.models, (std::vector<std::string>{"model", "other"}));
    EXPECT_NE(info.note.find("this is '" + info.model + "'"), std::string::npos) << info.note;
  }
}

TEST_F(SeveralModels, ANameThatIsNotThereLeavesTheOpenModel) {
  const auto file = holding(linearAndNorm().entriesOfTwo());
  ASSERT_TRUE(service_.open(file, {}, "other"));
  const auto* const before = service_.model();
  EXPECT_EQ(failureOf(service_.open(file, {}, "third")).code, ErrorCode::Usage);
  EXPECT_EQ(service_.model(), before);
}

TEST_F(SeveralModels, AnOnlyOneIsThatWhateverItIsCalled) {
  const auto info = must(service_.open(holding(linearAndNorm().entries()), {}, "other"));
  EXPECT_EQ(info.model, "model");
  EXPECT_TRUE(info.models.empty());
}

TEST_F(SeveralModels, FormatsWithoutNamesTellNone) {
  const std::filesystem::path file = NORMLENS_DEMO_MODELS "/gpt2.pt";
  const auto info = must(service_.open(file, {}, "model"));
  EXPECT_EQ(info.model, "");
  EXPECT_TRUE(info.models.empty());
}

}  // namespace
}  // namespace normlens::service

// Plans through the facade: what may be asked for, and where one may be saved.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "tests/service/demo_service.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::service {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Plans : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy_file(kDemos / "gpt2.pt", model_);
    service_.analyzed(model_);
  }

  TemporaryFolder folder_;
  const std::filesystem::path model_ = folder_ / "model.pt", saved_ = folder_ / "plan.json";
  DemoService service_;
};

TEST_F(Plans, AGrowthBelowNothingIsRefused) {
  protocol::PlanParams params;
  for (const double percent :
       {-1.0, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    params.max_growth_percent = percent;
    const auto plan = service_.plan(params, Task{});
    ASSERT_FALSE(plan) << percent;
    EXPECT_EQ(plan.error().code, ErrorCode::Usage);
  }
  params.max_growth_percent = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(service_.plan(params, Task{}));
}

TEST_F(Plans, ACopyOrACenteringIsTheUsersChoiceAndEitherIsProved) {
  protocol::FoldParams params;
  const auto centered = service_.fold(params, Task{});
  ASSERT_TRUE(centered && centered->ok);
  ASSERT_EQ(centered->plan.norms.size(), 9U);
  const auto& first = centered->plan.norms[0];
  EXPECT_EQ(first.state, NormOutcome::FoldedWithCentering);
  EXPECT_NE(first.because.find("a copy of wte.weight would add 131 kB"), std::string::npos) << first.because;
  EXPECT_EQ(centered->plan.norms[1].state, NormOutcome::Folded);
  ASSERT_EQ(first.ways.size(), 2U);
  EXPECT_TRUE(first.ways[1].chosen);
  params.plan.copy_values = {first.ways[0].value};
  const auto copied = service_.fold(params, Task{});
  ASSERT_TRUE(copied && copied->ok);
  EXPECT_EQ(copied->plan.centerings, 0);
  EXPECT_EQ(copied->plan.bytes_grown, first.ways[0].bytes_grown);
  EXPECT_TRUE(copied->plan.norms[0].ways.at(0).chosen);
}

TEST_F(Plans, WithoutOneEditAllStaysThatDoesNotNeedIt) {
  const auto whole = must(service_.plan({}, Task{}));
  for (const auto& edit : whole.edits) {
    if (edit.kind != EditKind::CenterConstant && edit.kind != EditKind::InsertCentering) continue;
    protocol::FoldParams params;
    params.plan.keep_values = edit.values;
    const auto without = service_.fold(params, Task{});
    ASSERT_TRUE(without) << edit.text << ": " << without.error().message;
    EXPECT_TRUE(without->ok || without->plan.folded.empty()) << edit.text << ": " << without->reason;
    for (const auto& other : without->plan.edits) EXPECT_NE(other.values, edit.values) << edit.text;
  }
  protocol::PlanParams params;
  params.keep_values = {-1};
  EXPECT_EQ(service_.plan(params, Task{}).error().code, ErrorCode::Usage);
}

TEST_F(Plans, OnlyWhatWasFoldedIsSavedAndNotOverTheModel) {
  std::ofstream(saved_) << "precious";
  EXPECT_FALSE(service_.savePlanFile(saved_));
  EXPECT_EQ(contents(saved_), "precious");
  service_.folded();
  const std::string before = contents(model_);
  EXPECT_EQ(failureOf(service_.savePlanFile(model_)).code, ErrorCode::Usage);
  EXPECT_EQ(contents(model_), before);
  ASSERT_TRUE(service_.savePlanFile(saved_));
  EXPECT_TRUE(service_.usePlanFile(saved_));
  EXPECT_FALSE(service_.savePlanFile(folder_ / "none/plan.json"));
}

}  // namespace
}  // namespace normlens::service

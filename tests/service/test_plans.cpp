// Plans through the facade: what may be asked for, and where one may be saved.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "core/service/service.h"
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
    std::filesystem::copy_file(std::filesystem::path(NORMLENS_DEMO_MODELS) / "gpt2.pt", model_);
    ASSERT_TRUE(service_.open(model_, Task{}));
    ASSERT_TRUE(service_.analyze(Task{}));
  }

  TemporaryFolder folder_;
  const std::filesystem::path model_ = folder_ / "model.pt", saved_ = folder_ / "plan.json";
  Service service_;
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

TEST_F(Plans, OnlyWhatWasFoldedIsSavedAndNotOverTheModel) {
  std::ofstream(saved_) << "precious";
  EXPECT_FALSE(service_.savePlanFile(saved_));
  EXPECT_EQ(contents(saved_), "precious");
  protocol::FoldParams params;
  params.verify = false;
  ASSERT_TRUE(service_.fold(params, Task{}));
  const std::string before = contents(model_);
  const auto refused = service_.savePlanFile(model_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Usage);
  EXPECT_EQ(contents(model_), before);
  ASSERT_TRUE(service_.savePlanFile(saved_));
  EXPECT_TRUE(service_.usePlanFile(saved_));
  EXPECT_FALSE(service_.savePlanFile(folder_ / "none/plan.json"));
}

}  // namespace
}  // namespace normlens::service

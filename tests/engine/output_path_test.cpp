#include "app/engine/verbs/model_options.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "core/service/service.h"

namespace normlens::engine {
namespace {

class OutputPath : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_ / "sub.pt");
    std::ofstream(folder_ / "model.pt") << "x";
    std::ofstream(folder_ / "weights.pt") << "x";
    std::error_code ignored;
    std::filesystem::create_symlink(folder_ / "model.pt", folder_ / "link.pt", ignored);
  }
  Status check(const std::filesystem::path& out) { return checkOutput(model_, folder_ / out); }
  const std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) / "normlens_output_path_test";
  const Files model_{folder_ / "model.pt", folder_ / "weights.pt"};
};

TEST_F(OutputPath, TakesTheModelsSuffix) {
  EXPECT_TRUE(check("out.pt"));
  EXPECT_TRUE(check("out.script.pt"));
  EXPECT_TRUE(check("out.pth"));
}

TEST_F(OutputPath, RefusesTheModelItself) {
  for (const char* same : {"model.pt", "./model.pt", "sub.pt/../model.pt", "link.pt", "weights.pt"}) {
    const Status status = check(same);
    ASSERT_FALSE(status) << same;
    EXPECT_EQ(status.error().code, ErrorCode::Usage);
    EXPECT_NE(status.error().message.find("is the model itself"), std::string::npos);
  }
}

TEST_F(OutputPath, RefusesAnotherSuffix) {
  for (const char* other : {"out.onnx", "out", "out.pt.txt"}) {
    const Status status = check(other);
    ASSERT_FALSE(status) << other;
    EXPECT_EQ(status.error().code, ErrorCode::Usage);
  }
  EXPECT_EQ(check("out.onnx").error().hint, "name it " + (folder_ / "out.pt").string());
}

TEST_F(OutputPath, AnExportedProgramMayBecomeTorchScript) {
  EXPECT_TRUE(service::suffixFits("m.pt2", "out.pt2"));
  EXPECT_TRUE(service::suffixFits("m.pt2", "out.pt"));
  for (const char* other : {"out", "out.onnx", "out.pth"}) EXPECT_FALSE(service::suffixFits("m.pt2", other)) << other;
  EXPECT_FALSE(service::suffixFits("m.pt", "out.pt2"));
  EXPECT_FALSE(service::suffixFits("m.onnx", "out"));
}

TEST_F(OutputPath, NamesAFolderThatIsNotThere) {
  EXPECT_EQ(check("none/out.pt").error().message, "there is no folder " + (folder_ / "none").string() + " to write to");
  EXPECT_EQ(check("none/out.pt").error().code, ErrorCode::WriteFailed);
  EXPECT_EQ(check("sub.pt").error().message, (folder_ / "sub.pt").string() + " is a folder");
}

TEST_F(OutputPath, RefusesWhatIsNoPlainFile) {
  std::filesystem::remove(folder_ / "pipe.pt");
  ASSERT_EQ(::mkfifo((folder_ / "pipe.pt").c_str(), 0600), 0);
  EXPECT_EQ(check("pipe.pt").error().message, (folder_ / "pipe.pt").string() + " is a device or a pipe");
  EXPECT_EQ(checkWrittenBeside("the plan", folder_ / "pipe.pt", model_, {}).error().code, ErrorCode::WriteFailed);
}

TEST_F(OutputPath, APlanIsWrittenOverNothingElse) {
  const auto check = [&](const char* plan) {
    return checkWrittenBeside("the plan", folder_ / plan, model_, {folder_ / "out.pt", ""});
  };
  EXPECT_TRUE(check("plan.json"));
  for (const char* other : {"model.pt", "link.pt", "./out.pt", "weights.pt"}) {
    const Status status = check(other);
    ASSERT_FALSE(status) << other;
    EXPECT_EQ(status.error().code, ErrorCode::Usage);
  }
}

}  // namespace
}  // namespace normlens::engine

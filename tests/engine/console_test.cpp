#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "app/engine/console.h"
#include "app/engine/verbs/model_options.h"
#include "core/service/service.h"
#include "tests/support/temporary_folder.h"

namespace normlens::engine {
namespace {

using nlohmann::json;

// This process's stdout is a file while one lives.
class StdoutFile {
 public:
  explicit StdoutFile(const std::filesystem::path& path) : before_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    dup2(file, STDOUT_FILENO);
    close(file);
  }
  ~StdoutFile() {
    std::fflush(stdout);
    dup2(before_, STDOUT_FILENO);
    close(before_);
  }
  StdoutFile(const StdoutFile&) = delete;
  StdoutFile& operator=(const StdoutFile&) = delete;

 private:
  int before_;
};

TEST(Console, StdoutHoldsItsObjectAloneWhateverAModelPrints) {
  const TemporaryFolder folder;
  {
    const StdoutFile redirected(folder / "out");
    Console console({.json = true, .quiet = true});
    console.takeStreams();
    EXPECT_GE(console.ownStdout(), 0);
    std::puts("a model prints");
    std::cout << "so does a library" << std::endl;
    console.finish([] { return json{{"answer", 42}}; }, Exit::Done);
  }
  std::ifstream file(folder / "out");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(json::parse(text, nullptr, false), json({{"answer", 42}, {"schema", 1}})) << text;
}

TEST(Console, NamesOfAModelCannotMoveTheCursor) {
  const TemporaryFolder folder;
  {
    const StdoutFile redirected(folder / "out");
    Console console({.json = false, .quiet = false});
    console.print("norm \x1b]0;owned\x07\nits verdict");
  }
  std::ifstream file(folder / "out");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, "norm ?]0;owned?\nits verdict\n");
}

TEST(Console, AnErrorIsAsLongAsALine) {
  const std::string end = "\xE6\xA8\xA1" + std::string(195, 'y') + "why";  // a cut would part its first character
  ::testing::internal::CaptureStderr();
  Console console({.json = false, .quiet = true});
  console.fail({ErrorCode::Unreadable, "p" + std::string(1 << 20, 'x') + end, {}});
  console.note("only a note");
  console.note("the reason", Exit::NotDone);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "normlens: p" + std::string(299, 'x') + " ... " + end + "\nthe reason\n");
}

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
  EXPECT_EQ(check("out.onnx").error().hint.text(), "name it " + (folder_ / "out.pt").string());
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

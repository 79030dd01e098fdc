#include "app/engine/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

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

}  // namespace
}  // namespace normlens::engine

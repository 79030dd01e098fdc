// Files through the door: what was named is handed over, and nothing else.
#include <csignal>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/base/files.h"
#include "tests/confine/worker_fixture.h"

namespace normlens::confine {
namespace {

namespace fs = std::filesystem;

// The beginning of any ONNX file: ir_version 8, and a producer's name.
const std::string kOnnx("\x08\x08\x12\x04test", 8);

bool writes(const fs::path& path, const std::string& text, files::Naming naming) {
  auto file = files::NewFile::create(path);
  if (!file) return false;
  if (::write(file->descriptor(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return false;
  return file->name(naming) == 0;
}

class Door : public WorkerTest {
 protected:
  static Worker::Start granting(const std::function<void(Grants&)>& grant) {
    Worker::Start start;
    grant(start.grants);
    return start;
  }
};

TEST_F(Door, HandsOverWhatWasNamed) {
  const fs::path model = write("m.pt", "model"), other = write("other", "secret");
  const Outcome outcome = run(
      [&](Confinement) {
        const auto text = files::readSmall(model, 100);
        const auto no = files::openToRead(other);
        return text && *text == "model" && !no && no.error() == EACCES ? 0 : 1;
      },
      granting([&](Grants& grants) { grants.toRead(model); }));
  EXPECT_EQ(outcome.end.status, 0);
}

TEST_F(Door, HandsOverDataFilesOfOnnxModelsAlone) {
  fs::create_directories(path("sub"));
  const fs::path onnx = write("m.onnx", kOnnx), torch = write("m.pt", "PK"), data = write("sub/m.data", "data");
  const fs::path hidden = write(".secret", "secret");
  const auto canRead = [&](const fs::path& model) {
    return run(
               [&](Confinement) {
                 if (!files::openToRead(model)) return 4;
                 const bool reads = files::openToRead(data).has_value();
                 const bool readsHidden = files::openToRead(hidden).has_value() || files::openToRead("/etc/passwd");
                 return (reads ? 1 : 0) + (readsHidden ? 2 : 0);
               },
               granting([&](Grants& grants) { grants.toRead(model); }))
        .end.status;
  };
  EXPECT_EQ(canRead(onnx), 1);
  EXPECT_EQ(canRead(torch), 0);
}

TEST_F(Door, NamesAFileOnceItIsComplete) {
  const fs::path out = write("out.onnx", "old");
  const Outcome outcome = run(
      [&](Confinement) {
        const bool data = writes(path("out.onnx.data"), "data", files::Naming::OnlyNew);
        const bool twice = writes(path("out.onnx.data"), "data", files::Naming::OnlyNew);
        const bool over = writes(out, "new", files::Naming::Replace);
        const bool other = writes(path("other"), "x", files::Naming::OnlyNew);
        const bool replaced = writes(path("out.onnx.data"), "x", files::Naming::Replace);
        { const auto dropped = files::NewFile::create(out); }
        return (data ? 1 : 0) + (over ? 2 : 0) + (twice || other || replaced ? 4 : 0);
      },
      granting([&](Grants& grants) { grants.toWrite(out); }));
  EXPECT_EQ(outcome.end.status, 3);
  EXPECT_EQ(read("out.onnx"), "new");
  EXPECT_EQ(read("out.onnx.data"), "data");
  EXPECT_EQ(names(), (std::vector<std::string>{"out.onnx", "out.onnx.data"}));
}

TEST_F(Door, WritesWhatALinkPointsTo) {
  fs::create_directories(path("there"));
  write("there/real.pt", "old");
  fs::create_symlink("there/real.pt", path("out.pt"));
  const Outcome outcome =
      run([&](Confinement) { return writes(path("out.pt"), "new", files::Naming::Replace) ? 0 : 1; },
          granting([&](Grants& grants) { grants.toWrite(path("out.pt")); }));
  EXPECT_EQ(outcome.end.status, 0);
  EXPECT_TRUE(fs::is_symlink(path("out.pt")));
  EXPECT_EQ(read("there/real.pt"), "new");
}

TEST_F(Door, LeavesNothingOfAKilledWriter) {
  const fs::path out = path("out.pt");
  const Outcome outcome = run(
      [&](Confinement) {
        auto file = files::NewFile::create(out);
        static_cast<void>(!::write(file->descriptor(), "half", 4));
        ::kill(::getpid(), SIGKILL);
        return 0;
      },
      granting([&](Grants& grants) { grants.toWrite(out); }));
  EXPECT_FALSE(outcome.end.byItself);
  EXPECT_TRUE(names().empty());
}

TEST_F(Door, TellsAFileThatBecameShorter) {
  const fs::path model = write("m.pt", std::string(1 << 16, 'x'));
  const Outcome outcome = run(
      [&](Confinement) {
        const auto file = files::openToRead(model);
        char* const bytes = static_cast<char*>(::mmap(nullptr, 1 << 16, PROT_READ, MAP_PRIVATE, file->get(), 0));
        std::fputs("open\n", stdout);
        std::fflush(stdout);
        for (;;) {  // until its end is gone
          if (static_cast<volatile char*>(bytes)[(1 << 16) - 1] != 'x') return 1;
        }
      },
      [&] {
        auto start = granting([&](Grants& grants) { grants.toRead(model); });
        start.limits.run = std::chrono::seconds(5);
        return start;
      }(),
      {}, [&](std::string_view) { fs::resize_file(model, 0); });
  EXPECT_FALSE(outcome.end.byItself);
  EXPECT_NE(outcome.end.error.message.find("m.pt became shorter"), std::string::npos) << outcome.end.error.message;
}

}  // namespace
}  // namespace normlens::confine

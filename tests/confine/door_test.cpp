// Files through the door: what was named is handed over, and nothing else.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "core/base/door_wire.h"
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

TEST_F(Door, MakesDataFilesAndNoOthersBesideWhatItWrites) {
  std::vector<std::string> data{"m.onnx.data", "m.onnx.w", "m.onnx_data", "m.onnx_data_1", "m_data", "m_data_2"};
  const std::vector<std::string> others{"m.py",      "m.data",    "m",        "m2.onnx",
                                        "m_data.py", "m_test.py", "m.onnx_2", "x_data"};
  const Outcome outcome = run(
      [&](Confinement) {
        const auto makes = [&](const std::string& name) { return writes(path(name), "x", files::Naming::OnlyNew); };
        const bool all = std::ranges::all_of(data, makes), none = std::ranges::none_of(others, makes);
        return writes(path("m.onnx"), "model", files::Naming::Replace) ? (all ? 1 : 0) + (none ? 2 : 0) : 4;
      },
      granting([&](Grants& grants) { grants.toWrite(path("m.onnx")); }));
  EXPECT_EQ(outcome.end.status, 3);
  data.insert(data.begin(), "m.onnx");
  EXPECT_EQ(names(), data);
}

TEST_F(Door, WritesNothingOnceTheExportIsOver) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor asks(ends[0]), hears(ends[1]);
  Grants grants;
  grants.toWrite(path("m.onnx"));
  Doorkeeper keeper(std::move(grants));
  const auto answers = [&](const door::Question& question) {
    EXPECT_TRUE(door::send(asks.get(), question) && keeper.serve(hears.get()));
    auto answer = door::receiveAnswer(asks.get());
    return answer ? std::move(*answer) : door::Answer{.error = EIO, .ticket = 0, .handed = Descriptor()};
  };
  const auto create = [&](const std::string& name) {
    return answers({.ask = door::Ask::Create, .path = path(name).string()});
  };
  const door::Answer model = create("m.onnx"), data = create("m.onnx.data");
  ASSERT_EQ(model.error + data.error, 0);
  keeper.grants().endWriting();
  EXPECT_EQ(answers({.ask = door::Ask::NameOver, .ticket = model.ticket}).error, EACCES);
  EXPECT_EQ(answers({.ask = door::Ask::NameNew, .ticket = data.ticket}).error, EACCES);
  EXPECT_EQ(create("m.onnx").error, EACCES);
  EXPECT_TRUE(names().empty());
}

TEST_F(Door, RemovesWhatItMadeAndWhatTheOlderModelNamed) {
  const fs::path out = write("m.onnx", "old model with m.onnx.data");
  write("m.onnx.data", "old"), write("m.py", "mine"), write("m.onnx.txt", "mine");
  fs::create_symlink("m.py", path("m.link"));
  const Outcome outcome = run(
      [&](Confinement) {
        const bool tooSoon = files::remove(path("m.onnx.data")) == 0;
        const bool made = writes(path("m.onnx.data_2"), "new", files::Naming::OnlyNew);
        const bool undone = files::remove(path("m.onnx.data_2")) == 0;
        const bool over = writes(out, "new model", files::Naming::Replace);
        const bool older = files::remove(path("m.onnx.data")) == 0;
        const bool other = files::remove(path("m.py")) == 0 || files::remove(path("m.onnx.txt")) == 0 ||
                           files::remove(path("m.link")) == 0;
        return (made && undone ? 1 : 0) + (over && older ? 2 : 0) + (tooSoon || other ? 4 : 0);
      },
      granting([&](Grants& grants) { grants.toWrite(out); }));
  EXPECT_EQ(outcome.end.status, 3);
  EXPECT_EQ(names(), (std::vector<std::string>{"m.link", "m.onnx", "m.onnx.txt", "m.py"}));
}

TEST_F(Door, GivesAFileTheModeOfTheOneThatItReplaces) {
  const fs::path out = write("out.pt", "old");
  fs::permissions(out, fs::perms(0640));
  const Outcome outcome = run([&](Confinement) { return writes(out, "new", files::Naming::Replace) ? 0 : 1; },
                              granting([&](Grants& grants) { grants.toWrite(out); }));
  EXPECT_EQ(outcome.end.status, 0);
  EXPECT_EQ(fs::status(out).permissions(), fs::perms(0640));
}

// What only a process says that has been taken over; it must cost its keeper nothing.
class HostileDoor : public Door {
 protected:
  struct Head {
    door::Ask ask;
    int64_t ticket;
  };
  static int socketOfWorker() {
    for (int fd = STDERR_FILENO + 1; fd < 1000; ++fd) {
      struct stat info {};
      if (::fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode)) return fd;
    }
    return -1;
  }
  static std::ptrdiff_t ownDescriptors() {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  }
};

TEST_F(HostileDoor, TakesNoDescriptors) {
  const std::ptrdiff_t before = ownDescriptors();
  std::ptrdiff_t most = 0;
  run(
      [&](Confinement) {
        for (int i = 0; i < 100; ++i) {
          Head head{door::Ask::Drop, 1};
          iovec part{&head, sizeof head};
          const std::array<int, 2> sent{STDOUT_FILENO, STDOUT_FILENO};
          alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof sent)> control{};
          msghdr message{};
          message.msg_iov = &part, message.msg_iovlen = 1;
          message.msg_control = control.data(), message.msg_controllen = control.size();
          cmsghdr* const header = CMSG_FIRSTHDR(&message);
          header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof sent);
          std::memcpy(CMSG_DATA(header), sent.data(), sizeof sent);
          if (::sendmsg(socketOfWorker(), &message, 0) < 0) return 1;
          static_cast<void>(::recv(socketOfWorker(), &head, sizeof head, 0));
        }
        std::puts("sent");
        return 0;
      },
      {}, {}, [&](std::string_view) { most = ownDescriptors(); });
  EXPECT_GT(most, 0);
  EXPECT_LT(most, before + 20);
}

TEST_F(HostileDoor, IsNotHeldUpByAnswersThatNobodyReads) {
  Worker::Start start;
  start.limits.run = std::chrono::milliseconds(500);
  const Outcome outcome = run(
      [&](Confinement) {
        const RunWatch watch(RunWatch::Kind::Run);
        const Head head{door::Ask::Drop, 1};
        const int socket = socketOfWorker();
        while (::send(socket, &head, sizeof head, MSG_NOSIGNAL) > 0) {
        }
        for (;;) ::pause();
        return 0;
      },
      std::move(start));
  EXPECT_FALSE(outcome.end.byItself);
  EXPECT_LT(outcome.took, std::chrono::seconds(10));
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

TEST_F(Door, WritesAFileOfTheLongestName) {
  const fs::path out = path(std::string(250, 'o') + ".onnx"), longer = path(std::string(256, 'o'));
  const Outcome outcome = run(
      [&](Confinement) {
        const bool made = writes(out, "old", files::Naming::Replace) && writes(out, "new", files::Naming::Replace);
        const auto refused = files::NewFile::create(longer);
        return made && !refused && refused.error() == ENAMETOOLONG ? 0 : 1;
      },
      granting([&](Grants& grants) {
        grants.toWrite(out);
        grants.toWrite(longer);
      }));
  EXPECT_EQ(outcome.end.status, 0);
  EXPECT_EQ(names(), std::vector<std::string>{out.filename().string()});
}

// The lock comes with the folder's descriptor, and is gone with it.
TEST_F(Door, LocksTheFolderThatItHandsOver) {
  auto held = direct::lockedFolder(path("."));
  const auto tries = [&] {
    return run(
               [&](Confinement) {
                 auto folder = files::lockedFolder(path("."));
                 if (!folder) return folder.error() == EWOULDBLOCK ? 1 : 2;
                 const auto again = files::lockedFolder(path("."));
                 const auto all = files::namesIn(*folder);
                 return !again && again.error() == EWOULDBLOCK && all && *all == std::vector<std::string>{"a"} ? 0 : 3;
               },
               granting([&](Grants& grants) { grants.toWrite(path("m.onnx")); }))
        .end.status;
  };
  write("a", "a");
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(tries(), 1);
  held->reset();
  EXPECT_EQ(tries(), 0);
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

TEST_F(Door, LeavesNoDataOfAModelThatWasNotNamed) {
  const fs::path out = write("m.onnx", "old model");
  const auto killed = [&](bool namesModel) {
    return run(
        [&](Confinement) {
          static_cast<void>(writes(path("m.onnx.data"), "new", files::Naming::OnlyNew));
          if (namesModel) static_cast<void>(writes(out, "new model", files::Naming::Replace));
          ::kill(::getpid(), SIGKILL);
          return 0;
        },
        granting([&](Grants& grants) { grants.toWrite(out); }));
  };
  EXPECT_FALSE(killed(false).end.byItself);
  EXPECT_EQ(names(), std::vector<std::string>{"m.onnx"});
  EXPECT_FALSE(killed(true).end.byItself);
  EXPECT_EQ(names(), (std::vector<std::string>{"m.onnx", "m.onnx.data"}));
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

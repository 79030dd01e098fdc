// What NVIDIA's driver does in a worker that may use a GPU, and what such a worker still may not.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "tests/confine/worker_fixture.h"

namespace normlens::confine {
namespace {

using Calls = std::map<std::string, int>;  // by what was called: 0, or the error number

Worker::Start forGpu() {
  Worker::Start start;
  start.walls.gpu = true;
  return start;
}

std::string callsOfDriver() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);  // by the RUNPATH of this program
  if (driver == nullptr) return {};
  reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit"))(0);
  return reinterpret_cast<const char* (*)()>(::dlsym(driver, "standInDriverCalls"))();
}

void add(const std::string& line, Calls& calls) {
  const size_t end = line.rfind('=');
  if (end != std::string::npos) calls[line.substr(0, end)] = std::stoi(line.substr(end + 1));
}

// In a process of its own: this one must not have the driver when a worker is forked.
Calls withoutWalls() {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = callsOfDriver();
    const bool written = ::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char bytes[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], bytes, sizeof bytes)) > 0;) text.append(bytes, static_cast<size_t>(got));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  Calls calls;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) add(line, calls);
  return calls;
}

std::string securityPage() {
  std::ifstream page(NORMLENS_SECURITY_PAGE);
  return {std::istreambuf_iterator<char>(page), {}};
}

class DriverWalls : public WorkerTest {};

TEST_F(DriverWalls, TheDriverMeetsNoRefusalThatThePageDoesNotName) {
  if (offeredConfinement() != Confinement::Full) GTEST_SKIP() << whatIsMissing(offeredConfinement(), true);
  std::filesystem::create_directories(path("home/.nv/ComputeCache"));
  ::setenv("HOME", path("home").c_str(), 1);
  const Calls before = withoutWalls();
  ASSERT_GT(before.size(), 30U);
  Calls behind;
  const Outcome outcome = run(
      [](Confinement level) {
        std::fputs(callsOfDriver().c_str(), stdout);
        return level == Confinement::Full ? 0 : 1;
      },
      forGpu(), {}, [&](std::string_view line) { add(std::string(line), behind); });
  ASSERT_EQ(outcome.end.status, 0) << outcome.end.error.message;
  ASSERT_EQ(behind.size(), before.size());
  const std::string page = securityPage();
  for (const auto& [call, error] : behind) {
    if (error == before.at(call)) continue;
    EXPECT_NE(page.find("`" + call + "`"), std::string::npos) << call << ": " << std::strerror(error);
  }
}

TEST_F(DriverWalls, NeedsTheGpu) {
  // The same calls in a worker that may not use one: the stand-in is refused, so the test above can fail.
  Calls behind;
  const Outcome outcome = run(
      [](Confinement) {
        std::fputs(callsOfDriver().c_str(), stdout);
        return 0;
      },
      {}, {}, [&](std::string_view line) { add(std::string(line), behind); });
  EXPECT_TRUE(outcome.end.byItself) << outcome.end.error.message;
  EXPECT_TRUE(behind.empty());  // its folder cannot be read
}

// A listening socket of another process, which a connect would reach.
int listening(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const bool listens = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  return listens && ::listen(socket, 1) == 0 ? socket : -1;
}

TEST_F(DriverWalls, ASocketOfTheDriverReachesNobody) {
  const std::string name = path("socket").string();
  ASSERT_GE(listening(name), 0);
  const Outcome outcome = run(
      [&](Confinement) {
        int failed = 0;
        const auto need = [&](bool good, int bit) { failed |= good ? 0 : bit; };
        need(::socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM, 1);
        need(::socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM, 2);
        need(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) < 0 && errno == EPERM, 4);
        const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
        need(socket >= 0, 8);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        name.copy(address.sun_path, sizeof address.sun_path - 1);
        auto* const to = reinterpret_cast<sockaddr*>(&address);
        need(::connect(socket, to, sizeof address) != 0 && errno == ENOENT, 16);
        need(::sendto(socket, "x", 1, 0, to, sizeof address) < 0, 32);
        need(::bind(socket, to, sizeof address) != 0 && errno == EPERM, 64);
        return failed;
      },
      forGpu());
  EXPECT_EQ(outcome.end.status, 0) << outcome.end.error.message;
}

// Landlock holds for the thread that asks for it: it is not called full where a library has started another.
TEST_F(DriverWalls, AreNotFullBesideAThreadOfALibrary) {
  write("mine", "mine");
  ::setenv("CUDA_STAND_IN_THREAD", "1", 1);
  const Outcome outcome = run(
      [&](Confinement level) {
        const bool makes = ::open(path("made").c_str(), O_WRONLY | O_CREAT, 0600) >= 0;
        return level == Confinement::Calls && !makes ? 0 : 1;
      },
      forGpu());
  ::unsetenv("CUDA_STAND_IN_THREAD");
  EXPECT_EQ(outcome.end.status, 0);
  EXPECT_TRUE(outcome.end.byItself) << outcome.end.error.message;
}

TEST_F(DriverWalls, AFileOfTheUserIsNeitherReadNorWritten) {
  if (offeredConfinement() != Confinement::Full) GTEST_SKIP() << whatIsMissing(offeredConfinement(), true);
  write("mine", "mine");
  const Outcome outcome = run(
      [&](Confinement) {
        const auto opens = [&](int flags) { return ::open(path("mine").c_str(), flags | O_CLOEXEC) >= 0; };
        return opens(O_RDONLY) || opens(O_WRONLY) || opens(O_RDWR) ? 1 : 0;
      },
      forGpu());
  EXPECT_EQ(outcome.end.status, 0);
}

}  // namespace
}  // namespace normlens::confine

#include "core/confine/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "core/base/files.h"
#include "core/base/machine.h"
#include "core/base/printable.h"

namespace normlens::confine {
namespace {

namespace fs = std::filesystem;

// A run has this long beyond the deadline to stop by itself.
constexpr std::chrono::milliseconds kGrace{1000};

std::shared_ptr<WatchPage> sharedPage() {
  void* const memory = ::mmap(nullptr, sizeof(WatchPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return {new (memory) WatchPage, [](WatchPage* page) { ::munmap(page, sizeof(WatchPage)); }};
}

constexpr std::string_view kScratchName = ".normlens-worker-";  // hidden, and like nobody else's

struct Scratch {
  fs::path path;
  Descriptor lock = Descriptor();
};

// A folder without a lock is nobody's yet, and who comes in between takes it away.
Scratch makeScratch() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  direct::removeStale(parent, [](std::string_view name) { return direct::isTemporaryName(name, kScratchName); });
  std::string name = (parent / kScratchName).string() + "XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return {};
  Descriptor lock = direct::locked(name, direct::IfHeld::Wait);  // its starter lives
  if (!fs::exists(name, error)) return makeScratch();
  return {name, std::move(lock)};
}

// Returns what the machine has now less a tenth, so that other processes can live.
int64_t memoryLimit(const Limits& limits) {
  if (limits.memoryBytes > 0) return limits.memoryBytes;
  return availableMemory().value_or(0) / 10 * 9;
}

bool isReadable(int fd) {
  pollfd event{fd, POLLIN, 0};
  return ::poll(&event, 1, 0) == 1 && (event.revents & POLLIN) != 0;
}

struct ChildEnds {
  Descriptor door, noise;
};

// stdin reads as empty: what is not kept is not the child's.
void closeAllBut(const std::vector<int>& kept, int door) {
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::dup2(nothing.get(), STDIN_FILENO);
  std::vector<int> open;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/self/fd", error)) {
    open.push_back(std::atoi(entry.path().filename().c_str()));
  }
  for (const int fd : open) {
    const bool stays = fd <= STDERR_FILENO || fd == door || std::ranges::find(kept, fd) != kept.end();
    if (!stays && fd != nothing.get()) ::close(fd);
  }
}

[[noreturn]] void runChild(ChildEnds ends, const Worker::Start& start, WatchPage* page, pid_t parent,
                           const Worker::Body& body) {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGINT, SIG_IGN);  // The terminal sends it to the starter too, which then sends SIGTERM.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow so large: the write reports it
  ::dup2(ends.noise.get(), STDOUT_FILENO);
  ::dup2(ends.noise.get(), STDERR_FILENO);
  closeAllBut(start.keep, ends.door.get());
  files::useDoor(std::move(ends.door));
  useWatchPage(page);
  std::error_code gone;
  static_cast<void>(fs::current_path(gone));
  if (gone) fs::current_path("/", gone);  // oneMKL ends a process whose folder was removed
  if (!start.walls.scratch.empty()) ::setenv("TMPDIR", start.walls.scratch.c_str(), 1);
  Confinement level = Confinement::None;
  {
    const RunWatch starting(RunWatch::Kind::Load);  // a driver's library may hang while it is loaded
    RunWatch::at("dlopen", "NVIDIA's driver");
    level = confineThisProcess(start.walls, parent);
  }
  int status = EXIT_FAILURE;
  try {
    status = body(level);
  } catch (const std::exception& error) {  // who started this is not to find a second self
    std::fprintf(stderr, "%s\n", error.what());
  }
  endWithStatus(status);
}

std::string_view crashWords(int signal) {
  switch (signal) {
    case SIGFPE:
      return "a division by zero";
    case SIGSEGV:
    case SIGBUS:
      return "a read or write outside its memory";
    case SIGABRT:
      return "what runs it gave up";
    case SIGILL:
      return "an instruction that this processor lacks";
    default:
      return "a signal";
  }
}

// " while it was loaded", " while it was run (at aten::add in layer.0)"; of a first look only the op, as the caller's
// own words name the look.
std::string doing(const WatchPage& page) {
  using Kind = RunWatch::Kind;
  const auto kind = static_cast<Kind>(page.kind.load());
  if (page.runs == 0 || kind == Kind::None) return {};
  const std::string at(page.at.data(), ::strnlen(page.at.data(), page.at.size()));
  const std::string what = kind == Kind::Load ? " while it was loaded" : kind == Kind::Run ? " while it was run" : "";
  return what + (at.empty() ? "" : " (at " + at + ")");
}

}  // namespace

void Noise::feed(std::string_view bytes) {
  for (const char c : bytes) {
    if (full_) return;
    if (c == '\n') {
      report();
    } else if (line_.size() < kLongestLine) {
      line_ += c;
    }
  }
}

void Noise::report() {
  if (!line_.empty()) sink_(printable(line_));
  printed_ += line_.size() + 1;
  line_.clear();
  if (printed_ < kMostBytes) return;
  full_ = true;
  sink_("what is printed beyond this is dropped");
}

void Noise::end() {
  if (!full_ && !line_.empty()) report();
}

Result<std::unique_ptr<Worker>> Worker::start(Start start, const Body& body) {
  const auto failed = [](const char* what) {
    return fail(ErrorCode::Internal,
                std::string("no process could be started for the model: ") + what + ": " + std::strerror(errno),
                "free some memory and try again");
  };
  std::array<int, 2> door{}, noise{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, door.data()) != 0) return failed("socketpair");
  ChildEnds child{Descriptor(door[1]), Descriptor()};
  std::unique_ptr<Worker> worker(new Worker);
  worker->door_.reset(door[0]);
  if (::pipe2(noise.data(), O_CLOEXEC) != 0) return failed("pipe");
  worker->noisePipe_.reset(noise[0]);
  child.noise.reset(noise[1]);
  ::fcntl(noise[0], F_SETFL, O_NONBLOCK);
  worker->page_ = sharedPage();
  if (!worker->page_) return failed("memory");
  Scratch scratch = makeScratch();
  worker->scratch_ = start.walls.scratch = std::move(scratch.path);
  worker->scratchLock_ = std::move(scratch.lock);
  worker->setLimits(start.limits);
  start.walls.memoryBytes = memoryLimit(start.limits);
  start.walls.door = door[1];
  std::fflush(nullptr);  // else the child would write it as well
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return failed("fork");
  if (pid == 0) {
    worker->door_.reset();
    worker->noisePipe_.reset();
    runChild(std::move(child), start, worker->page_.get(), parent, body);
  }
  worker->pid_ = pid;
  worker->keeper_.emplace(std::move(start.grants));
  worker->noise_ = std::make_unique<Noise>(std::move(start.printed));
  return worker;
}

Worker::~Worker() {
  if (pid_ > 0 && !reaped_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  if (!scratch_.empty()) fs::remove_all(scratch_, ignored);
}

void Worker::setLimits(const Limits& limits) {
  page_->runLimitMs = limits.run.count();
  page_->probeLimitMs = limits.probe.count();
  page_->trialLimitMs = limits.trial.count();
  if (pid_ > 0 && !reaped_ && limits.memoryBytes > 0) limitMemory(pid_, limits.memoryBytes);
}

void Worker::serveDoor() {
  if (!keeper_->serve(door_.get())) door_.reset();
}

bool Worker::readNoise() {
  std::array<char, 1 << 14> bytes{};
  const ssize_t got = ::read(noisePipe_.get(), bytes.data(), bytes.size());
  if (got > 0) {
    noise_->feed({bytes.data(), static_cast<size_t>(got)});
  } else if (got == 0 || errno != EAGAIN) {
    noisePipe_.reset();
  }
  return got > 0;
}

void Worker::askToStop() const {
  if (!reaped_) ::kill(pid_, SIGTERM);
}

void Worker::kill(Reason reason) {
  if (reaped_) return;
  if (reason_ == Reason::None) reason_ = reason;
  ::kill(pid_, SIGKILL);
}

bool Worker::overdue() const {
  const int64_t deadline = page_->deadlineNs;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return deadline > 0 && now - kGrace > std::chrono::nanoseconds(deadline);
}

std::optional<Worker::End> Worker::ended() {
  int status = 0;
  if (reaped_) return std::nullopt;
  const pid_t waited = ::waitpid(pid_, &status, WNOHANG);
  if (waited == 0) return std::nullopt;
  reaped_ = true;
  // The kernel keeps no status where SIGCHLD is ignored; the page has it of a process that ended by itself.
  if (waited < 0) status = page_->status >= 0 ? W_EXITCODE(page_->status, 0) : reason_ != Reason::None ? SIGKILL : 0;
  while (readNoise()) {
  }                                                      // Its last output is read.
  while (door_ && isReadable(door_.get())) serveDoor();  // and reported or requested
  noise_->end();
  const int said = page_->status;
  if (WIFEXITED(status) && said == WEXITSTATUS(status)) return End{said, true, RunWatch::Kind::None, {}};
  if (reason_ == Reason::Stopped && said >= 0) return End{said, true, RunWatch::Kind::None, {}};
  const auto during = page_->runs > 0 ? static_cast<RunWatch::Kind>(page_->kind.load()) : RunWatch::Kind::None;
  if (WIFSIGNALED(status)) return End{0, false, during, describe(WTERMSIG(status))};
  return End{0, false, during, {ErrorCode::RunFailed, "a library or the model ended the process" + doing(*page_), {}}};
}

Error Worker::describe(int signal) const {
  const std::string at = doing(*page_);
  if (reason_ == Reason::Stopped || signal == SIGTERM) return {ErrorCode::Cancelled, "stopped on request", {}};
  if (const std::string file = keeper_->shortened(); signal == SIGBUS && !file.empty()) {
    return {ErrorCode::Unreadable, file + " became shorter while it was open", "open it again once it is complete"};
  }
  if (reason_ == Reason::Deadline) {
    const int64_t ms = limitMsOf(*page_, static_cast<RunWatch::Kind>(page_->kind.load()));
    return {ErrorCode::RunFailed,
            "it was stopped" + at + ": it took more than " + inSeconds(ms),
            {"allow more", HintKey::TimeLimit}};
  }
  if (reason_ == Reason::BrokeOff) return {ErrorCode::RunFailed, "it stopped in the middle of an answer" + at, {}};
  if (signal == SIGKILL) {
    return {ErrorCode::RunFailed, "the system ended the engine" + at + ", most likely because memory ran out",
            "give smaller inputs"};
  }
  return {ErrorCode::RunFailed, "it crashed" + at + ": " + std::string(crashWords(signal)), {}};
}

}  // namespace normlens::confine

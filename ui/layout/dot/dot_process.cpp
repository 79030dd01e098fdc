#include "ui/layout/dot/dot_process.h"

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QFile>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "ui/layout/dot/dot_wire.h"

namespace normlens::layout {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience(3);     // until Graphviz is loaded, from a slow disk
constexpr std::chrono::milliseconds kGrace(20);  // after a stop: a new process costs as much
constexpr std::chrono::milliseconds kLook(10);   // between two looks for a stop

}  // namespace

DotProcess::DotProcess(DotProgram program) : program_(std::move(program)) {
  if (program_.path.isEmpty())
    program_.path = QCoreApplication::applicationDirPath() + QStringLiteral("/normlens-layout");
}

DotProcess::~DotProcess() { kill(); }

void DotProcess::start() {
  if (pid_ > 0) return;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  QByteArray path = QFile::encodeName(program_.path);
  char* arguments[] = {path.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  const int failed = posix_spawn(&pid_, path.constData(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed != 0) {
    pid_ = -1;
    ::close(ends[0]);
    return;
  }
  socket_ = ends[0];
  ready_ = false;
}

void DotProcess::kill() {
  if (pid_ <= 0) return;
  ::close(std::exchange(socket_, -1));
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

Result<DotDrawing> DotProcess::run(const DotGraph& graph, const std::stop_token& stop) {
  if (graph.boxes.empty()) return DotDrawing{};
  start();
  const std::optional<QByteArray> answer = pid_ > 0 ? ask(framed(graph), stop) : std::nullopt;
  if (!answer) kill();
  if (stop.stop_requested()) return fail(ErrorCode::Cancelled, "stopped on request");
  std::optional<DotDrawing> drawing = answer ? drawingFrom(*answer) : std::nullopt;
  if (!drawing || drawing->boxes.size() != graph.boxes.size() || drawing->curves.size() != graph.edges.size())
    return fail(ErrorCode::Internal, "Graphviz could not lay out this group", "close the group, or update Graphviz");
  return std::move(*drawing);
}

// nullopt: it has ended, sends nothing of use, or takes too long.
std::optional<QByteArray> DotProcess::ask(const QByteArray& request, const std::stop_token& stop) {
  ready_ = ready_ || receiveFrame({Clock::now() + kPatience, stop});
  const Wait wait{Clock::now() + program_.deadline, stop};
  if (!ready_ || !send(request, wait)) return std::nullopt;
  return receiveFrame(wait);
}

std::optional<QByteArray> DotProcess::receiveFrame(const Wait& wait) {
  uint32_t length = 0;
  if (!receive(reinterpret_cast<char*>(&length), sizeof(length), wait) || length > kMaxFrame) return std::nullopt;
  QByteArray content(static_cast<qsizetype>(length), Qt::Uninitialized);
  if (!receive(content.data(), content.size(), wait)) return std::nullopt;
  return content;
}

bool DotProcess::send(const QByteArray& bytes, const Wait& wait) {
  for (qsizetype done = 0; done < bytes.size();) {
    const ssize_t sent = ::send(socket_, bytes.constData() + done, static_cast<size_t>(bytes.size() - done),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      done += sent;
    } else if ((errno != EAGAIN && errno != EINTR) || !waitFor(POLLOUT, wait)) {
      return false;
    }
  }
  return true;
}

bool DotProcess::receive(char* to, qsizetype size, const Wait& wait) {
  for (qsizetype done = 0; done < size;) {
    const ssize_t got = ::recv(socket_, to + done, static_cast<size_t>(size - done), MSG_DONTWAIT);
    if (got > 0) {
      done += got;
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR) || !waitFor(POLLIN, wait)) {
      return false;
    }
  }
  return true;
}

// False after the end of the wait, or a while after a stop.
bool DotProcess::waitFor(short events, const Wait& wait) const {
  Time end = wait.end;
  bool stopped = false;
  while (Clock::now() < end) {
    if (!stopped && wait.stop.stop_requested()) {
      stopped = true;
      end = std::min(end, Clock::now() + kGrace);
    }
    pollfd look{socket_, events, 0};
    if (::poll(&look, 1, static_cast<int>(kLook.count())) > 0) return true;
  }
  return false;
}

}  // namespace normlens::layout

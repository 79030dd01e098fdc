#include "app/engine/serve/serve_side.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "core/base/machine.h"
#include "core/service/describe/engine_info.h"

namespace normlens::engine {

Result<std::unique_ptr<ServeSide>> ServeSide::start(Journal journal, const confine::Limits& limits,
                                                    confine::Grants grants, Answered answered) {
  std::array<int, 2> requests{}, replies{};
  if (::pipe2(requests.data(), O_CLOEXEC) != 0) return fail(ErrorCode::Internal, "no pipe could be made");
  const Descriptor readRequests(requests[0]);
  std::unique_ptr<ServeSide> side(new ServeSide);
  side->requests_.reset(requests[1]);
  if (::pipe2(replies.data(), O_CLOEXEC) != 0) return fail(ErrorCode::Internal, "no pipe could be made");
  const Descriptor writeReplies(replies[1]);
  side->replies_.reset(replies[0]);
  constexpr int kRoom = 1 << 20;  // a graph of megabytes goes in fewer steps
  ::fcntl(replies[0], F_SETPIPE_SZ, kRoom);
  for (const int own : {requests[1], replies[0]}) ::fcntl(own, F_SETFL, O_NONBLOCK);

  side->journal_ = std::move(journal);
  side->answered_ = std::move(answered);
  confine::Worker::Start start;
  start.walls.libraries = service::runtimeLibraries();
  start.walls.gpu = !gpuDevices().empty();
  start.limits = limits;
  start.grants = std::move(grants);
  start.keep = {readRequests.get(), writeReplies.get()};
  start.printed = [](std::string_view line) {
    std::fprintf(stderr, "| %.*s\n", static_cast<int>(line.size()), line.data());
  };
  auto worker = confine::Worker::start(std::move(start), [&](confine::Confinement level) {
    return serveWorker(readRequests.get(), writeReplies.get(), side->journal_, level);
  });
  if (!worker) return tl::unexpected(worker.error());
  side->worker_ = std::move(*worker);
  return side;
}

void ServeSide::send(std::string_view body) {
  const std::string frame = protocol::encodeFrame(body);
  queued_ += frame.size();
  outgoing_ += frame;
}

bool ServeSide::took(const Pending& request) const {
  int inPipe = 0;
  if (::ioctl(requests_.get(), FIONREAD, &inPipe) != 0) return true;
  return request.begin < queued_ - outgoing_.size() - static_cast<size_t>(inPipe);
}

void ServeSide::push() {
  if (unsent()) {
    const ssize_t written = ::write(requests_.get(), outgoing_.data(), outgoing_.size());
    if (written > 0) outgoing_.erase(0, static_cast<size_t>(written));
    broken_ = written < 0 && errno != EAGAIN && errno != EINTR;  // it is gone; its end is noticed
  }
  if (closing_ && !unsent()) requests_.reset();
}

void ServeSide::closeRequests() {
  closing_ = true;
  if (!unsent()) requests_.reset();
}

bool ServeSide::relay(std::string& out) {
  std::array<char, 1 << 16> bytes{};
  const ssize_t got = ::read(replies_.get(), bytes.data(), bytes.size());
  if (got == 0) replies_.reset();
  if (got <= 0) return false;
  if (static_cast<size_t>(got) == bytes.size()) within_.reset();
  frames_.feed({bytes.data(), static_cast<size_t>(got)});
  while (const auto frame = frames_.next()) {
    if (!*frame) continue;
    std::string_view body = **frame;
    const auto answer = takeMark(body);
    out += protocol::encodeFrame(body);
    if (answer) answered_(*this, *answer);
  }
  return true;
}

bool ServeSide::brokeOff(bool reading) {
  constexpr std::chrono::seconds kPatience{4};
  const auto now = std::chrono::steady_clock::now();
  if (!reading || !frames_.within()) {
    within_.reset();
  } else if (!within_) {
    within_ = now;
  }
  return within_ && now > *within_ + kPatience;
}

}  // namespace normlens::engine

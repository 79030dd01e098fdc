#include "app/engine/serve/serve_side.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <utility>

#include "app/engine/bindings.h"
#include "app/engine/verbs.h"
#include "core/base/machine.h"
#include "core/base/run_watch.h"
#include "core/service/describe/engine_info.h"

namespace normlens::engine {
namespace {

constexpr std::string_view kResult = "result ", kFailure = "failure ";
constexpr int kNotAsBefore = 4;  // the journal's requests are not answered as they were

std::string readSome(int descriptor) {
  std::array<char, 1 << 16> buffer{};
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    return got <= 0 ? std::string() : std::string(buffer.data(), static_cast<size_t>(got));
  }
}

// A supervisor that is gone is noticed by the reader: nothing is to be done about it here.
void writeAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

std::string framesOf(const Journal& journal) {
  std::string frames;
  for (const std::string& body : journal.requests) frames += protocol::encodeFrame(body);
  return frames;
}

// The journal's requests first, whose replies are dropped, then the client's.
class JournalThenClient {
 public:
  JournalThenClient(int requests, int replies, const Journal& journal)
      : requests_(requests), replies_(replies), frames_(framesOf(journal)), left_(journal.requests.size()) {
    if (left_ == 0) watchPage().ready = 1;
  }
  std::string read() {
    if (!frames_.empty()) return std::exchange(frames_, {});
    for (size_t left = left_; left > 0; left = left_) left_.wait(left);  // else a ping would be taken for one of these
    return readSome(requests_);
  }
  void write(std::string_view body, const protocol::Answered* answers) {
    if (left_ == 0) return writeAll(replies_, protocol::encodeFrame(marked(body, answers)));
    if (answers == nullptr) return;
    if (!answers->withResult) endWithStatus(kNotAsBefore);  // the next one is brought back less far
    if (left_.fetch_sub(1) == 1) watchPage().ready = 1;
    left_.notify_all();
  }

 private:
  int requests_, replies_;
  std::string frames_;
  std::atomic<size_t> left_;
};

}  // namespace

std::string marked(std::string_view body, const protocol::Answered* answers) {
  std::string text;
  if (answers != nullptr) text.append(answers->withResult ? kResult : kFailure).append(std::to_string(answers->id));
  return text.append("\n").append(body);
}

std::optional<protocol::Answered> takeMark(std::string_view& body) {
  std::string_view mark = body.substr(0, body.find('\n'));
  body.remove_prefix(std::min(mark.size() + 1, body.size()));
  const bool withResult = mark.starts_with(kResult);
  if (!withResult && !mark.starts_with(kFailure)) return std::nullopt;
  mark.remove_prefix(withResult ? kResult.size() : kFailure.size());
  protocol::Answered answered{0, withResult};
  const bool isNumber = std::from_chars(mark.data(), mark.data() + mark.size(), answered.id).ec == std::errc();
  return isNumber ? std::optional(answered) : std::nullopt;
}

int serveWorker(int requests, int replies, const Journal& journal, confine::Confinement level) {
  JournalThenClient stream(requests, replies, journal);
  if (journal.torchFirst) service::loadTorch();
  service::Service service;
  service.setRules({journal.notRun, {.strict = level == confine::Confinement::None, .model = {}, .isBeside = false}});
  const auto log = [](std::string_view line) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    std::fflush(stderr);
  };
  protocol::Dispatcher dispatcher(
      {.read = [&] { return stream.read(); },
       .write = [&](std::string_view body, const protocol::Answered* answers) { stream.write(body, answers); },
       .log = log});
  bindMethods(dispatcher, service, level);
  const protocol::ServeEnd end = dispatcher.serve();
  // A request that does not stop still uses the service: leave without destroying it under its feet.
  if (end == protocol::ServeEnd::Stuck) endWithStatus(static_cast<int>(Exit::Done));
  return static_cast<int>(Exit::Done);
}

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
  service::loadRuntimes();
  start.walls.gpu = !gpuDevices().empty();
  start.limits = limits;
  start.grants = std::move(grants);
  start.keep = {readRequests.get(), writeReplies.get()};
  start.printed = [](std::string_view line) {
    std::fprintf(stderr, "| %.*s\n", static_cast<int>(line.size()), line.data());
  };
  ASSIGN_OR_RETURN(auto worker, confine::Worker::start(std::move(start), [&](confine::Confinement level) {
                     return serveWorker(readRequests.get(), writeReplies.get(), side->journal_, level);
                   }));
  side->worker_ = std::move(worker);
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

#include "ui/client/reply_decoder.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core/protocol/bench_messages.h"
#include "core/protocol/methods.h"

namespace normlens::ui {
namespace {

constexpr size_t kBigFrame = size_t{1} << 20;

// A parsed document takes many times the memory of its text, in small pieces that glibc keeps for later.
void giveBackMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

void ReplyDecoder::expect(int64_t id, Decode decode) {
  const std::lock_guard lock(mutex_);
  expected_.insert_or_assign(id, std::move(decode));
}

void ReplyDecoder::forget(int64_t id) {
  const std::lock_guard lock(mutex_);
  expected_.erase(id);
}

std::optional<ReplyDecoder::Decode> ReplyDecoder::take(int64_t id) {
  const std::lock_guard lock(mutex_);
  auto found = expected_.extract(id);
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

bool ReplyDecoder::isExpected(int64_t id) {
  const std::lock_guard lock(mutex_);
  return expected_.contains(id);
}

void ReplyDecoder::giveUp(const std::string& why) {
  if (!closed_.exchange(true)) handlers_.deliver(handlers_.nonsense(why));
}

void ReplyDecoder::complain(const Error& error) {
  handlers_.deliver(handlers_.complaint(error.message));
  if (error.code == ErrorCode::Unsupported || ++complaints_ > kMostComplaints) giveUp(error.message);
}

void ReplyDecoder::feed(const QByteArray& chunk) {
  unread_ -= chunk.size();
  if (closed_) return;
  frames_.feed(std::string_view(chunk.constData(), static_cast<size_t>(chunk.size())));
  while (!closed_) {
    auto frame = frames_.next();
    within_ = !frame && frames_.within();
    if (!frame) return;
    if (frame->has_value()) {
      const bool big = (*frame)->size() > kBigFrame;
      handle(**frame);
      frame.reset();
      if (big) giveBackMemory();
    } else {
      complain(frame->error());
    }
  }
}

// Progress that nobody waits for is dropped here, so that a flood of it does not reach the GUI thread.
void ReplyDecoder::deliverProgress(const protocol::RpcMessage& message) {
  if (message.method == protocol::methods::kProgress) {
    const auto progress = protocol::decode<protocol::Progress>(message.params);
    if (progress && isExpected(progress->id) &&
        throttle_.admit(progress->stage, protocol::ProgressThrottle::Clock::now())) {
      handlers_.deliver(handlers_.progress(*progress));
    }
  } else if (message.method == protocol::methods::kBenchUpdate) {
    const auto update = protocol::decode<protocol::BenchUpdate>(message.params);
    if (update && isExpected(update->id)) handlers_.deliver(handlers_.measured(*update));
  } else if (message.method == protocol::methods::kLabUpdate) {
    const auto update = protocol::decode<protocol::LabUpdate>(message.params);
    if (update && isExpected(update->id)) handlers_.deliver(handlers_.trained(*update));
  }
}

void ReplyDecoder::handle(const std::string& body) {
  const auto message = protocol::parseMessage(body);
  if (!message) return giveUp(message.error().failure.message);
  if (!message->isReply()) return deliverProgress(*message);
  if (!message->id) return;
  auto decode = take(*message->id);
  if (!decode) return;
  complaints_ = 0;
  handlers_.deliver((*decode)(*message));
}

}  // namespace normlens::ui

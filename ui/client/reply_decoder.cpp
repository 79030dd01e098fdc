#include "ui/client/reply_decoder.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core/protocol/bench_fields.h"
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

void ReplyDecoder::feed(const QByteArray& chunk) {
  frames_.feed(std::string_view(chunk.constData(), static_cast<size_t>(chunk.size())));
  while (auto frame = frames_.next()) {
    if (frame->has_value()) {
      const bool big = (*frame)->size() > kBigFrame;
      handle(**frame);
      frame.reset();
      if (big) giveBackMemory();
    } else {
      handlers_.deliver(handlers_.complaint(frame->error().message));
    }
  }
}

void ReplyDecoder::handle(const std::string& body) {
  const auto message = protocol::parseMessage(body);
  if (!message) {
    handlers_.deliver(handlers_.complaint(message.error().failure.message));
    return;
  }
  if (message->method == protocol::methods::kProgress) {
    if (const auto progress = protocol::decode<protocol::Progress>(message->params)) {
      handlers_.deliver(handlers_.progress(*progress));
    }
    return;
  }
  if (message->method == protocol::methods::kBenchUpdate) {
    if (const auto update = protocol::decode<protocol::BenchUpdate>(message->params)) {
      handlers_.deliver(handlers_.measured(*update));
    }
    return;
  }
  if (!message->isReply() || !message->id) return;
  if (auto decode = take(*message->id)) handlers_.deliver((*decode)(*message));
}

}  // namespace normlens::ui

// libFuzzer target: what one end of the protocol sends, through framing, envelope and every message, and back.
#include "core/protocol/framing.h"
#include "core/protocol/json.h"
#include "core/protocol/rpc.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/protocol/all_messages.h"

namespace {

using namespace normlens;
using namespace normlens::protocol;

template <Message T>
void decodeAs(const nlohmann::json& in) {
  const auto message = decode<T>(in);
  if (!message) return fuzz::expectPlainSentence(message.error());
  const std::string written = dumpJson(toJson(*message));
  const auto again = decode<T>(nlohmann::json::parse(written));
  if (!again || dumpJson(toJson(*again)) != written) fuzz::found("no round trip: " + written);
}

template <class... T>
void decodeAsAny(const nlohmann::json& in, ::testing::Types<T...>) {
  (decodeAs<T>(in), ...);
}

void read(const std::string& body) {
  const auto message = parseMessage(body);
  if (!message) {
    static_cast<void>(failureBody(message.error().id, message.error().failure));
    return;
  }
  decodeAsAny(message->params, AllMessages{});
  decodeAsAny(message->result, AllMessages{});
}

}  // namespace

// The first byte is the size of the pieces that the rest comes in.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kMostFrame = 1 << 16;
  if (size == 0) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = size_t{*data} + 1;
  FrameDecoder decoder(kMostFrame);
  while (!rest.empty()) {
    decoder.feed(rest.substr(0, piece));
    rest.remove_prefix(std::min(piece, rest.size()));
    while (const auto frame = decoder.next()) {
      if (*frame) {
        read(**frame);
      } else {
        fuzz::expectPlainSentence(frame->error());
      }
    }
  }
  return 0;
}

#include "core/base/bytes/running_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/bytes/hex.h"

namespace normlens {

struct RunningHash::State {
  XXH3_state_t own;
};

RunningHash::RunningHash() : state_(std::make_shared<State>()) { XXH3_128bits_reset(&state_->own); }

void RunningHash::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state_->own, bytes.data(), bytes.size());
}

std::string RunningHash::hex() const {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(&state_->own));
  return hexOf(digest.digest);
}

}  // namespace normlens

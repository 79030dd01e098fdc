#include "core/base/plain_error.h"

#include <new>
#include <stdexcept>
#include <system_error>

#include "core/base/machine.h"

namespace normlens {
bool isWantOfMemory(const std::exception& error) {
  if (const auto* system = dynamic_cast<const std::system_error*>(&error)) {
    return system->code() == std::errc::resource_unavailable_try_again;  // There is no room for a thread's stack.
  }
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         dynamic_cast<const std::length_error*>(&error) != nullptr;  // A container would be too long.
}

std::string plainError(const std::exception& error) {
  if (isWantOfMemory(error)) return std::string(kNoMemory);
  std::string_view text = error.what();
  if (text.starts_with("[json.exception.")) text.remove_prefix(text.find("] ") + 2);
  return std::string(text);
}

std::string withHint(const Error& error) {
  if (error.hint.empty()) return error.message;
  const size_t end = error.message.find_last_not_of(". ");
  return error.message.substr(0, end == std::string::npos ? 0 : end + 1) + "; " + error.hint.text();
}

Error withMemoryLimit(Error error) {
  constexpr int64_t kBytesInMb = 1 << 20;
  const auto limit = memoryLimit();
  if (!limit || !reportsWantOfMemory(error.message)) return error;
  error.hint = {"no more than " + std::to_string(*limit / kBytesInMb) + " MB may be taken, allow more",
                HintKey::MemoryLimit};
  return error;
}

}  // namespace normlens

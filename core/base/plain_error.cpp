#include "core/base/plain_error.h"

#include <sys/resource.h>

#include <new>
#include <stdexcept>
#include <system_error>

namespace normlens {
namespace {

// "[json.exception.out_of_range.403] key 'schema' not found"
std::string plainJsonError(std::string_view text) {
  text.remove_prefix(text.find("] ") + 2);
  if (text.starts_with("parse error")) {
    const size_t at = text.find(" at "), end = text.find(':');
    return "it is no JSON" + (at < end ? std::string(text.substr(at, end - at)) : std::string());
  }
  if (text.starts_with("key ")) return "it has no " + std::string(text.substr(4, text.rfind('\'') - 3));
  if (text.starts_with("type must be ")) {
    const size_t but = text.find(", but is ");
    if (but != std::string_view::npos)
      return "a value is of type " + std::string(text.substr(but + 9)) + " instead of " +
             std::string(text.substr(13, but - 13));
  }
  return std::string(text);
}

}  // namespace

bool isWantOfMemory(const std::exception& error) {
  if (const auto* system = dynamic_cast<const std::system_error*>(&error)) {
    return system->code() == std::errc::resource_unavailable_try_again;  // of a thread's stack
  }
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         dynamic_cast<const std::length_error*>(&error) != nullptr;  // of a container's
}

std::string plainError(const std::exception& error) {
  if (isWantOfMemory(error)) return std::string(kNoMemory);
  const std::string_view text = error.what();
  return text.starts_with("[json.exception.") ? plainJsonError(text) : std::string(text);
}

Error withMemoryLimit(Error error) {
  constexpr rlim_t kBytesInMb = 1 << 20;
  rlimit limit{};
  const bool limited = ::getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (!limited || !tellsWantOfMemory(error.message)) return error;
  error.hint = "no more than " + std::to_string(limit.rlim_cur / kBytesInMb) +
               " MB may be taken, allow more with --memory-limit SIZE";
  return error;
}

}  // namespace normlens

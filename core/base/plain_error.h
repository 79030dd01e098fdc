// Turns the message of a library's exception into words for a user. Thread: any.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace normlens {

inline constexpr std::string_view kNoMemory = "there is not enough memory";

[[nodiscard]] bool isWantOfMemory(const std::exception& error);
// Returns kNoMemory for want of memory; else what() as it is, without the tag of nlohmann's JSON.
[[nodiscard]] std::string plainError(const std::exception& error);

// Returns whether a message reports a want of memory, whatever comes before it.
[[nodiscard]] inline bool reportsWantOfMemory(std::string_view message) {
  return message.find(kNoMemory) != std::string_view::npos;
}
// The message, and after a semicolon its hint where it has one: a library's message loses its full stop there.
[[nodiscard]] std::string withHint(const Error& error);
// Adds the process's own memory limit, and how to raise it, to an error that reports a want of memory.
[[nodiscard]] Error withMemoryLimit(Error error);

}  // namespace normlens

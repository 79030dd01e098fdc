// What a library's exception says, in words for a user. Thread: any.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace normlens {

inline constexpr std::string_view kNoMemory = "there is not enough memory";

[[nodiscard]] bool isWantOfMemory(const std::exception& error);
// For want of memory; else what() as it is, without the tag of nlohmann's JSON.
[[nodiscard]] std::string plainError(const std::exception& error);

// Of what was told of an error, whatever came before it.
[[nodiscard]] inline bool tellsWantOfMemory(std::string_view told) {
  return told.find(kNoMemory) != std::string_view::npos;
}
// Where memory was wanting in a process that has a limit of its own: what it is, and how to be given more.
[[nodiscard]] Error withMemoryLimit(Error error);

}  // namespace normlens

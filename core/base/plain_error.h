// What a library's exception says, in words for a user. Thread: any.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace normlens {

inline constexpr std::string_view kNoMemory = "there is not enough memory";

[[nodiscard]] bool isWantOfMemory(const std::exception& error);
// For want of memory, and for what nlohmann's JSON says ("it has no 'schema'"); what() as it is otherwise.
[[nodiscard]] std::string plainError(const std::exception& error);

}  // namespace normlens

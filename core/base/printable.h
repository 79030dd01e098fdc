// Makes text out of a stranger's file fit for a terminal. Thread: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace normlens {

// Returns the text without characters that move the cursor, break a line or turn the direction in which the rest is
// read, and so make a line misleading: each byte of one becomes '?'. `kept`: stays as it is.
[[nodiscard]] std::string printable(std::string text, std::string_view kept = {});

// Returns where the UTF-8 character begins that the byte `at` belongs to: a text that is cut there stays well-formed.
[[nodiscard]] size_t characterStart(std::string_view text, size_t at);

}  // namespace normlens

// Makes text out of a stranger's file fit for a terminal. Thread: pure function.
#pragma once

#include <string>
#include <string_view>

namespace normlens {

// Returns the text without characters that move the cursor, break a line or turn the direction in which the rest is
// read, and so make a line misleading: each byte of one becomes '?'. `kept`: stays as it is.
[[nodiscard]] std::string printable(std::string text, std::string_view kept = {});

}  // namespace normlens

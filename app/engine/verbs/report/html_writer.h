// A document as one HTML page: no script, nothing from elsewhere, light and dark, one column where it is narrow, and
// made for A4. Thread: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "app/engine/verbs/report/document.h"

namespace normlens::engine::report {

// Text, or the value of a quoted attribute. What moves the cursor or turns the direction of reading becomes '?'.
[[nodiscard]] std::string escaped(std::string_view text);

[[nodiscard]] std::string asHtml(const Document& document);

}  // namespace normlens::engine::report

// Writes a document as Markdown (GitHub's), for a pull request: tables, fenced commands; a drawing becomes words.
// Thread: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "app/engine/verbs/report/document.h"

namespace normlens::engine::report {

// Text in which no sign means anything to Markdown or to the HTML that it may hold.
[[nodiscard]] std::string markdownText(std::string_view text);

[[nodiscard]] std::string asMarkdown(const Document& document);

}  // namespace normlens::engine::report

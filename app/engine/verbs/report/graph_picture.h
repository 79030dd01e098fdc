// Checks a drawing from another program before it is put into the page. Thread: pure function.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace normlens::engine::report {

// Returns the text from <svg> to </svg>, as it is, if it holds only elements that draw shapes and text: nothing that
// runs, that is fetched, or that ends the drawing before its end. Error: BadInput, with what it holds.
[[nodiscard]] Result<std::string> drawingOnly(std::string_view svg);

}  // namespace normlens::engine::report

// A drawing from another program, as it may stand inside the page. Thread: pure function.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace normlens::engine::report {

// From <svg> to </svg>, as it is, where it holds elements that draw shapes and text alone: nothing that runs, that is
// fetched, or that ends the drawing before its end. Error: BadInput, with what it holds.
[[nodiscard]] Result<std::string> drawingOnly(std::string_view svg);

}  // namespace normlens::engine::report

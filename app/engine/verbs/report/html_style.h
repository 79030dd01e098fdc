// The page's style: colors and sizes of the program's design. Thread: constant.
#pragma once

#include <string_view>

namespace normlens::engine::report {

extern const std::string_view kStyle;

}  // namespace normlens::engine::report

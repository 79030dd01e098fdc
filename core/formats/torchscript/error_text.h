// One short line out of torch's many. Private to formats/torchscript.
#pragma once

#include <c10/util/Exception.h>

#include <string>
#include <string_view>

namespace normlens::formats::torchscript {

// The first line that says something, without trailing blanks, at most 200 characters.
[[nodiscard]] std::string firstLine(std::string_view text);
[[nodiscard]] inline std::string shortText(const c10::Error& error) {
  return firstLine(error.what_without_backtrace());
}

}  // namespace normlens::formats::torchscript

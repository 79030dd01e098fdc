// One short line out of torch's many, and its exceptions as errors. Private to formats/torchscript.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace normlens::formats::torchscript {

// The first line that is not empty, without trailing blanks, at most 200 characters. Want of memory and defects of
// LibTorch are put in our words, and no addresses.
[[nodiscard]] std::string firstLine(std::string_view text);
// The same for an exception's message, without torch's backtrace.
[[nodiscard]] std::string shortText(const std::exception& error);

// formats::editError that leaves out torch's backtrace.
[[nodiscard]] Error torchEditError(const std::string& failed);

}  // namespace normlens::formats::torchscript

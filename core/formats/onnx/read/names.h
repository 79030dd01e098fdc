// Names out of a file, fit to be shown. Private to formats/onnx.
#pragma once

#include <string>

namespace normlens::formats::onnx {

// Without control characters, which would break lines and terminals.
[[nodiscard]] std::string printableName(const std::string& name);
// In quotes, cut where it is very long.
[[nodiscard]] std::string quotedName(const std::string& name);

}  // namespace normlens::formats::onnx

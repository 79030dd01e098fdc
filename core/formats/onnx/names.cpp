#include "core/formats/onnx/names.h"

#include <algorithm>

namespace normlens::formats::onnx {

std::string printableName(const std::string& name) {
  std::string out = name;
  std::ranges::replace_if(
      out, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return out;
}

std::string quotedName(const std::string& name) {
  constexpr size_t kMost = 120;
  return "'" + printableName(name.size() > kMost ? name.substr(0, kMost) + "..." : name) + "'";
}

}  // namespace normlens::formats::onnx

#include "core/formats/onnx/read/names.h"

#include "core/base/printable.h"

namespace normlens::formats::onnx {

std::string printableName(const std::string& name) { return printable(name); }

std::string quotedName(const std::string& name) {
  constexpr size_t kMost = 120;
  return "'" + printableName(name.size() > kMost ? name.substr(0, kMost) + "..." : name) + "'";
}

}  // namespace normlens::formats::onnx

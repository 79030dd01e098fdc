#include "core/formats/onnx/fold_history.h"

#include <algorithm>

namespace normlens::formats::onnx {
namespace {

constexpr size_t kLongest = 200;

// A file may say anything there: one line of printable text.
std::string oneLine(std::string text) {
  if (text.size() > kLongest) text.resize(kLongest);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }, ' ');
  return text;
}

}  // namespace

std::string foldHistory(const ModelProto& model) {
  std::string version, summary;
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() == "normlens.version") version = oneLine(entry.value());
    if (entry.key() == "normlens.summary") summary = oneLine(entry.value());
  }
  if (version.empty() || summary.empty()) return {};
  return "Folded by NormLens " + version + ": " + summary + ".";
}

}  // namespace normlens::formats::onnx

#include "core/formats/fold_history.h"

#include "core/base/printable.h"

namespace normlens::formats {
namespace {

constexpr size_t kLongest = 200;

// A file may contain anything there.
std::string shortText(std::string text) {
  if (text.size() > kLongest) text.resize(kLongest);
  return printable(std::move(text));
}

}  // namespace

std::string foldHistory(const std::function<std::string(const std::string& name)>& property) {
  const std::string version = shortText(property("normlens.version"));
  const std::string summary = shortText(property("normlens.summary"));
  const std::string conditions = shortText(property("normlens.holds_if"));
  std::string history;
  if (!version.empty() && !summary.empty()) history = "Folded by NormLens " + version + ": " + summary + ".";
  if (!conditions.empty()) history += (history.empty() ? "Its fold holds if " : " It holds if ") + conditions + ".";
  return history;
}

}  // namespace normlens::formats

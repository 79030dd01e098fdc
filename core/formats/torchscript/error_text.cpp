#include "core/formats/torchscript/error_text.h"

#include "core/formats/edit_refused.h"

namespace normlens::formats::torchscript {

std::string firstLine(std::string_view text) {
  // The JIT prints its call stack first and the reason behind the last "RuntimeError: ".
  if (text.find("The following operation failed in the TorchScript interpreter") != std::string_view::npos) {
    constexpr std::string_view kMark = "Error: ";
    const size_t at = text.rfind(kMark);
    if (at != std::string_view::npos) text = text.substr(at + kMark.size());
  }
  constexpr size_t kMost = 200;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    while (!line.empty() && (line.back() == ' ' || line.back() == ':' || line.back() == '\r')) line.remove_suffix(1);
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    if (line.empty()) continue;
    if (line.size() <= kMost) return std::string(line);
    return std::string(line.substr(0, kMost - 3)) + "...";
  }
  return "no reason given";
}

Error torchEditError(const std::string& failed) {
  try {
    throw;
  } catch (const c10::Error& error) {
    return {ErrorCode::Internal, failed + ": " + error.what_without_backtrace(), {}};
  } catch (...) {
    return editError(failed);
  }
}

}  // namespace normlens::formats::torchscript

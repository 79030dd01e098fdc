#include "core/formats/torchscript/program/error_text.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <stdexcept>

#include "core/base/plain_error.h"
#include "core/formats/edit/edit_refused.h"

namespace normlens::formats::torchscript {
namespace {

// Puts an error of LibTorch itself into words for a user; empty: the error is one of the model.
std::string inOurWords(std::string_view text) {
  constexpr std::string_view kAsked = "tried to allocate ", kReport = "please report a bug to PyTorch.";
  if (text.find("DefaultCPUAllocator: ") != std::string_view::npos) {
    const size_t at = text.find(kAsked), end = text.find(" bytes", at);
    const bool isNamed = at != std::string_view::npos && end != std::string_view::npos;
    const auto asked = isNamed ? text.substr(at + kAsked.size(), end - at - kAsked.size()) : std::string_view();
    return std::string(kNoMemory) + (isNamed ? " for another " + std::string(asked) + " bytes" : "");
  }
  constexpr std::string_view kNoThread = "Resource temporarily unavailable";  // std::thread's stack
  for (const std::string_view want : {std::string_view("std::bad_alloc"), kNoThread}) {
    if (text.find(want) != std::string_view::npos) return std::string(kNoMemory);
  }
  if (text.find("INTERNAL ASSERT FAILED") == std::string_view::npos) return {};
  const size_t report = text.find(kReport);
  const std::string_view why = report == std::string_view::npos ? "" : text.substr(report + kReport.size());
  const bool says = why.find_first_not_of(" \r\n") != std::string_view::npos;
  return "LibTorch stopped at a check of its own" + (says ? ": " + firstLine(why) : std::string());
}

// "<__torch__.M object at 0x5628b83713c0>" means nothing by its number, which is another one each time.
std::string withoutAddresses(std::string_view line) {
  constexpr std::string_view kAddress = " at 0x", kDigits = "0123456789abcdef";
  std::string said;
  for (size_t at = line.find(kAddress); at != std::string_view::npos; at = line.find(kAddress)) {
    said += line.substr(0, at);
    line.remove_prefix(std::min(line.find_first_not_of(kDigits, at + kAddress.size()), line.size()));
  }
  return said.append(line);
}

}  // namespace

std::string firstLine(std::string_view text) {
  // The JIT prints its call stack first and the reason behind the last "RuntimeError: ".
  if (text.find("The following operation failed in the TorchScript interpreter") != std::string_view::npos) {
    constexpr std::string_view kMark = "Error: ";
    const size_t at = text.rfind(kMark);
    if (at != std::string_view::npos) text = text.substr(at + kMark.size());
  }
  if (std::string said = inOurWords(text); !said.empty()) return said;
  constexpr size_t kMost = 200;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    line = line.substr(0, line.find_last_not_of(" :.\r") + 1);  // The sentences around it have their own ends.
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    if (line.empty()) continue;
    std::string said = withoutAddresses(line);
    if (said.size() > kMost) said.replace(kMost - 3, std::string::npos, "...");
    return said;
  }
  return "no reason given";
}

std::string shortText(const std::exception& error) {
  if (dynamic_cast<const std::out_of_range*>(&error) != nullptr) return "a name that it looks up is not there";
  const auto* torchs = dynamic_cast<const c10::Error*>(&error);
  return firstLine(torchs == nullptr ? error.what() : torchs->what_without_backtrace());
}

Error torchEditError(const std::string& failed) {
  try {
    throw;
  } catch (const c10::Error& error) {
    return {ErrorCode::Internal, failed + ": " + shortText(error), {}};
  } catch (...) {
    return editError(failed);
  }
}

}  // namespace normlens::formats::torchscript

#include "kernels/cuda/launch_tuning.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace normlens::kernels::cuda {
namespace {

template <class Number>
bool take(std::string_view text, Number& into) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0) return false;
  into = value;
  return true;
}

bool set(std::string_view name, std::string_view value, LaunchTuning& tuning) {
  if (name == "few-rows") return take(value, tuning.fewRows);
  if (name == "wide-row-bytes") return take(value, tuning.wideRowBytes);
  if (name == "cluster-blocks") return take(value, tuning.clusterBlocks);
  if (name == "persistent-blocks") return take(value, tuning.persistentBlocks);
  return false;
}

}  // namespace

std::optional<LaunchTuning> tuningFrom(std::string_view text) {
  LaunchTuning tuning;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos || !set(part.substr(0, equals), part.substr(equals + 1), tuning)) {
      return std::nullopt;
    }
  }
  return tuning;
}

const LaunchTuning& tuningOfProcess() {
  static const LaunchTuning tuning = [] {
    const char* text = std::getenv("NORMLENS_LAUNCH");
    const auto read = tuningFrom(text ? text : "");
    if (!read) throw std::runtime_error(std::string("normlens: NORMLENS_LAUNCH cannot be read: ") + text);
    return *read;
  }();
  return tuning;
}

}  // namespace normlens::kernels::cuda

#include "core/formats/onnx/run/node_profile.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/formats/op_passes.h"

namespace normlens::formats::onnx {
namespace {

using nlohmann::json;

constexpr std::string_view kKernelSuffix = "_kernel_time";
constexpr double kMicrosecondsPerMs = 1000;

// Returns the name of the node whose time the event holds; empty: it holds none. Kernels on a GPU name their node's
// event as their parent.
std::string nodeOf(const json& event, ProfileClock clock) {
  const bool onGpu = clock == ProfileClock::Kernels;
  if (event.value("cat", "") != (onGpu ? "Kernel" : "Node")) return {};
  std::string name = onGpu ? event.value("args", json::object()).value("parent_name", "") : event.value("name", "");
  if (!name.ends_with(kKernelSuffix)) return {};
  name.resize(name.size() - kKernelSuffix.size());
  return name;
}

// Starts of the last `passes` runs, in microseconds of the profile's clock; fewer where it records fewer.
std::vector<double> startsOf(const json& events, size_t passes) {
  std::vector<double> starts;
  for (const json& event : events) {
    if (event.value("cat", "") == "Session" && event.value("name", "") == "model_run") {
      starts.push_back(event.value("ts", 0.0));
    }
  }
  std::ranges::sort(starts);
  if (starts.size() > passes) starts.erase(starts.begin(), starts.end() - static_cast<std::ptrdiff_t>(passes));
  return starts;
}

}  // namespace

Result<std::vector<OpTime>> readProfile(const std::filesystem::path& file, int passes, ProfileClock clock,
                                        const std::function<graph::NodeId(const std::string&)>& nodeNamed) {
  std::ifstream stream(file);
  const json events = json::parse(stream, nullptr, false);
  if (!events.is_array()) return fail(ErrorCode::RunFailed, "ONNX Runtime's profile cannot be read");
  const std::vector<double> starts = startsOf(events, static_cast<size_t>(passes));
  std::vector<OpTime> ops;
  OpPasses times(starts.size());
  std::unordered_map<std::string, size_t> places;
  for (const json& event : events) {
    const std::string name = nodeOf(event, clock);
    if (name.empty()) continue;
    const auto after = std::ranges::upper_bound(starts, event.value("ts", 0.0));
    if (after == starts.begin()) continue;  // A warm-up run made it.
    const auto [place, fresh] = places.try_emplace(name, ops.size());
    const json arguments = event.value("args", json::object());
    if (fresh) ops.push_back({arguments.value("op_name", ""), nodeNamed(name), 0});
    times.add(place->second, static_cast<size_t>(after - starts.begin() - 1),
              event.value("dur", 0.0) / kMicrosecondsPerMs);
  }
  if (ops.empty() && clock == ProfileClock::Kernels) {
    return fail(ErrorCode::Unsupported, "this ONNX Runtime does not report how long kernels take on the GPU");
  }
  const std::vector<double> medians = times.medians();
  for (size_t i = 0; i < ops.size(); ++i) ops[i].ms = medians[i];
  return ops;
}

}  // namespace normlens::formats::onnx

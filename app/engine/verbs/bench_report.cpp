// The JSON object of the verb bench.
#include <algorithm>
#include <charconv>

#include "app/engine/verbs/paper_reference.h"
#include "app/engine/verbs/reports.h"
#include "core/protocol/bench_messages.h"
#include "core/protocol/json.h"

namespace normlens::engine {
namespace {

using nlohmann::json;
using protocol::BenchPoint;
using protocol::BenchResult;
using protocol::toJson;

json sideEntry(const protocol::BenchSide& side) {
  json entry = toJson(side.latency);
  entry.update({{"model", side.model},
                {"runtime", side.runtime},
                {"n", side.samples_ms.size()},
                {"peak_bytes", toJson(side.peak_bytes)},
                {"norm_share", toJson(side.norm_share)},
                {"ops", toJson(side.ops)},
                {"ops_late", side.ops_late}});
  if (!side.peak_reason.empty()) entry["peak_reason"] = side.peak_reason;
  if (!side.ops_reason.empty()) entry["ops_reason"] = side.ops_reason;
  return entry;
}

// "LibTorch 2.15.0" -> "LibTorch"
std::string nameOf(const std::string& runtime) { return runtime.substr(0, runtime.rfind(' ')); }

void addMeasured(json& object, const BenchPoint& point) {
  object["a"] = sideEntry(point.a);
  object["b"] = point.b ? sideEntry(*point.b) : json(nullptr);
  object["speedup"] = nullptr;
  if (point.b) {
    object["speedup"] = {{"median", toJson(point.speedup)},
                         {"ci95", json::array({toJson(point.ci_low), toJson(point.ci_high)})},
                         {"noise", point.noise}};
  }
  object["outputs"] = toJson(point.outputs);
  if (!point.outputs_reason.empty()) object["outputs_reason"] = point.outputs_reason;
  object["rounds"] = toJson(point.rounds);
  object["mixed"] = point.b && nameOf(point.a.runtime) != nameOf(point.b->runtime);
  object["clock"] = point.clock;
  object["threads"] = point.threads;
  object["cuda_graph"] = point.cuda_graph;
  object["warmed_up"] = point.warmed_up;
  object["other_cores"] = toJson(point.other_cores);
  object["crowded"] = point.crowded;
  object["complete"] = point.complete;
  object["fold_ms"] = toJson(point.fold_ms);
  object["break_even"] = toJson(point.break_even);
  if (json papers = paperSpeedups(point); !papers.empty()) object["papers"] = std::move(papers);
}

void addPoint(json& object, const BenchPoint& point, const protocol::BenchMachine& machine) {
  const std::string gpu = machine.gpu.empty() ? "CUDA" : machine.gpu;
  object["device"] = point.device == "cpu" ? "CPU" : gpu;
  object["dtype"] = point.dtype;
  if (!point.norm.empty()) object["norm"] = point.norm;
  if (point.error.empty()) {
    addMeasured(object, point);
  } else {
    object["error"] = point.error;
    for (const char* name : {"a", "b", "speedup", "break_even"}) object[name] = nullptr;
  }
}

// Writes a number where the value is one: {"batch": 4, "dtype": "float16"}.
json valuesOf(const BenchPoint& point) {
  json values = json::object();
  for (const auto& [name, value] : point.at) {
    int64_t number = 0;
    const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool isNumber = status == std::errc() && end == value.data() + value.size();
    values[name] = isNumber ? json(number) : json(value);
  }
  return values;
}

// Returns the first value of the one sweep from which on B is faster beyond doubt.
json breakEvenSize(const std::vector<BenchPoint>& points) {
  const auto faster = [](const BenchPoint& point) { return point.error.empty() && point.b && point.ci_low > 1; };
  const auto first = std::ranges::find_if(points, faster);
  if (first == points.end() || first->at.size() != 1) return nullptr;
  return *valuesOf(*first).begin();
}

}  // namespace

json benchReport(const BenchResult& result, const std::vector<protocol::InputSpec>& inputs, bool sweep,
                 const std::string& command) {
  const BenchPoint* first = firstMeasured(result);
  json report;
  addPoint(report, first == nullptr ? result.points.front() : *first, result.machine);
  report["complete"] = !result.cancelled;
  report["inputs"] = toJson(inputs);
  report["break_even_size"] = sweep ? breakEvenSize(result.points) : json(nullptr);
  report["work"] = {{"a", toJson(result.work_a)}, {"b", toJson(result.work_b)}};
  const auto isFold = [](const BenchPoint& point) { return point.fold_ms.has_value(); };
  if (std::ranges::any_of(result.points, isFold)) report["papers_folds"] = paperFolds();
  report["machine"] = toJson(result.machine);
  report["versions"] = result.versions;
  report["taken"] = result.taken;
  report["command"] = command;
  report["points"] = json::array();
  if (!sweep) return report;
  for (const BenchPoint& point : result.points) {
    json entry = {{"sizes", valuesOf(point)}};
    addPoint(entry, point, result.machine);
    report["points"].push_back(std::move(entry));
  }
  return report;
}

}  // namespace normlens::engine

// The JSON object of the verb bench (DESIGN section 4).
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
using protocol::numberToJson;

json orNull(const std::optional<double>& value) { return value ? numberToJson(*value) : json(nullptr); }

json opEntries(const std::vector<protocol::OpShare>& ops) {
  json list = json::array();
  for (const auto& op : ops) {
    list.push_back({{"op", op.op}, {"count", op.count}, {"ms", numberToJson(op.ms)}, {"norm", op.norm}});
  }
  return list;
}

json sideEntry(const protocol::BenchSide& side) {
  const protocol::LatencyStats& latency = side.latency;
  json entry = {{"model", side.model},
                {"runtime", side.runtime},
                {"median_ms", numberToJson(latency.median_ms)},
                {"mean_ms", numberToJson(latency.mean_ms)},
                {"p5_ms", numberToJson(latency.p5_ms)},
                {"p95_ms", numberToJson(latency.p95_ms)},
                {"p99_ms", numberToJson(latency.p99_ms)},
                {"n", side.samples_ms.size()},
                {"peak_bytes", side.peak_bytes ? json(*side.peak_bytes) : json(nullptr)},
                {"throughput", numberToJson(latency.throughput)},
                {"norm_share", orNull(side.norm_share)},
                {"ops", opEntries(side.ops)}};
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
    object["speedup"] = {{"median", numberToJson(point.speedup)},
                         {"ci95", json::array({numberToJson(point.ci_low), numberToJson(point.ci_high)})},
                         {"noise", point.noise}};
  }
  json rounds = json::array();
  for (const auto& [a, b] : point.rounds) rounds.push_back({numberToJson(a), numberToJson(b)});
  object["rounds"] = rounds;
  object["mixed"] = point.b && nameOf(point.a.runtime) != nameOf(point.b->runtime);
  object["clock"] = point.clock;
  object["threads"] = point.threads;
  object["cuda_graph"] = point.cuda_graph;
  object["warmed_up"] = point.warmed_up;
  object["other_cores"] = numberToJson(point.other_cores);
  object["crowded"] = point.crowded;
  object["complete"] = point.complete;
  object["fold_ms"] = orNull(point.fold_ms);
  object["break_even"] = orNull(point.break_even);
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

// A number where it is one: {"batch": 4, "dtype": "float16"}.
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

// The first value of the one sweep from which on B is faster beyond doubt.
json breakEvenSize(const std::vector<BenchPoint>& points) {
  const auto faster = [](const BenchPoint& point) { return point.error.empty() && point.b && point.ci_low > 1; };
  const auto first = std::ranges::find_if(points, faster);
  if (first == points.end() || first->at.size() != 1) return nullptr;
  return *valuesOf(*first).begin();
}

json workEntries(const std::vector<protocol::NormWork>& work) {
  json list = json::array();
  for (const auto& norm : work) list.push_back(protocol::toJson(norm));
  return list;
}

}  // namespace

json benchReport(const BenchResult& result, const std::vector<protocol::InputSpec>& inputs, bool sweep,
                 const std::string& command) {
  const BenchPoint* first = firstMeasured(result);
  json report;
  addPoint(report, first == nullptr ? result.points.front() : *first, result.machine);
  report["complete"] = !result.cancelled;
  report["inputs"] = json::array();
  for (const auto& input : inputs) report["inputs"].push_back(protocol::toJson(input));
  report["break_even_size"] = sweep ? breakEvenSize(result.points) : json(nullptr);
  report["work"] = {{"a", workEntries(result.work_a)}, {"b", workEntries(result.work_b)}};
  const auto isFold = [](const BenchPoint& point) { return point.fold_ms.has_value(); };
  if (std::ranges::any_of(result.points, isFold)) report["papers_folds"] = paperFolds();
  report["machine"] = protocol::toJson(result.machine);
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

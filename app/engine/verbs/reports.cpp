#include "app/engine/verbs/reports.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "app/engine/verbs/paper_reference.h"
#include "core/protocol/bench_messages.h"
#include "core/protocol/figure_text.h"
#include "core/protocol/json.h"
#include "core/protocol/proof_text.h"
#include "core/service/describe/describe.h"

namespace normlens::engine {
namespace {

using nlohmann::json;
using protocol::BenchPoint;
using protocol::BenchResult;
using protocol::toJson;

// "Exact in float64 and float32: differences float64 2e-15, float32 5e-7, allowed 4e-6 = 6 × ..."
std::string outcomeOf(const protocol::VerifyResult& verify) {
  std::string line = protocol::proofTitle(verify);
  if (verify.algebra_done) line += ": differences float64 " + protocol::errorText(verify.algebra.max_rel);
  if (verify.file_done) {
    line += (verify.algebra_done ? ", " : ": differences ") + verify.file_dtype +
            (verify.file_dtype == "float64" ? " of the files " : " ") + protocol::errorText(verify.file.max_rel) +
            ", allowed " + protocol::allowedInFile(verify);
  }
  return line;
}

// Returns these fields of a message.
template <class T>
json picked(const T& message, std::initializer_list<const char*> fields) {
  const json all = toJson(message);
  json some = json::object();
  for (const char* field : fields) some[field] = all.at(field);
  return some;
}

// Adds the state as fields beside the verdict.
void addState(json& entry, const protocol::PlanInfo& plan, size_t norm) {
  if (norm >= plan.norms.size()) return;
  const protocol::NormState& state = plan.norms[norm];
  json ways = json::array();
  for (const auto& way : state.ways)
    ways.push_back(picked(way, {"kind", "text", "bytes_grown", "growth_percent", "cost_us", "chosen"}));
  json needed = json::array();
  for (const int edit : state.centerings) needed.push_back(plan.edits[static_cast<size_t>(edit)].text);
  entry["state"] = nameOf(state.state);
  entry["because"] = orNull(state.because);
  entry["rests_on"] = needed;
  entry["ways"] = ways;
}

json normEntry(const protocol::NormInfo& norm, const std::vector<const protocol::EditInfo*>& edits) {
  json entry =
      picked(norm, {"index", "name", "title", "scope", "form", "kind", "normalized_shape", "groups", "eps", "verdict",
                    "reason", "centerings", "paper", "paper_practical", "paper_strict", "holds_if", "would_fold_if"});
  json texts = json::array();
  for (const protocol::EditInfo* edit : edits) texts.push_back(edit->text);
  entry["edits"] = std::move(texts);
  return entry;
}

// Lists the norms: each one's verdict, and beside it what the plan does and why.
json stateReport(const protocol::Analysis& analysis, const protocol::PlanInfo& plan) {
  json norms = json::array();
  for (size_t n = 0; n < analysis.norms.size(); ++n) {
    const auto& norm = analysis.norms[n];
    norms.push_back(picked(norm, {"name", "form", "verdict"}));
    addState(norms.back(), plan, n);
  }
  return norms;
}

std::vector<std::vector<const protocol::EditInfo*>> editsByNorm(const protocol::Analysis& analysis) {
  std::vector<std::vector<const protocol::EditInfo*>> edits(analysis.norms.size());
  for (const auto& edit : analysis.edits) {
    for (const int norm : edit.frees.indices()) edits[static_cast<size_t>(norm)].push_back(&edit);
  }
  return edits;
}

constexpr double kAlgebraLimit = 1e-10;  // of the contract; another one is reported

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
                         {"reduction_percent", toJson(protocol::reductionPercent(point))},
                         {"expected", toJson(point.expected_speedup)},
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

// Returns how the time of the fold varies over a sweep of sizes, and over the points of each value (001, table 6).
json foldTimes(const BenchResult& result) {
  json times = {{"all", toJson(protocol::foldSpread(result))}};
  for (const BenchPoint& point : result.points) {
    for (const auto& at : point.at) {
      if (const auto spread = protocol::foldSpread(result, at)) times[at.first][at.second] = toJson(*spread);
    }
  }
  return times;
}

// Returns the first value of the one sweep from which on B is faster beyond doubt.
json breakEvenSize(const std::vector<BenchPoint>& points) {
  const auto faster = [](const BenchPoint& point) { return point.error.empty() && point.b && point.ci_low > 1; };
  const auto first = std::ranges::find_if(points, faster);
  if (first == points.end() || first->at.size() != 1) return nullptr;
  return *valuesOf(*first).begin();
}

}  // namespace

void printVerify(const protocol::VerifyResult& verify, Console& console) {
  console.print("  " + outcomeOf(verify));
  if (const std::string caution = protocol::proofCaution(verify); !caution.empty()) console.print("  " + caution);
  for (const std::string& detail : protocol::proofDetails(verify)) console.print("  " + detail);
}

json verifyEntry(const protocol::VerifyResult& verify) {
  json algebra = {{"reason", verify.algebra_reason}};
  if (verify.algebra_done) {
    algebra = {{"max_abs", toJson(verify.algebra.max_abs)}, {"max_rel", toJson(verify.algebra.max_rel)}};
    if (verify.algebra.limit > kAlgebraLimit) algebra["limit"] = toJson(verify.algebra.limit);
    if (verify.sample_only) algebra["sample_only"] = true;
    if (!verify.algebra_reason.empty()) algebra["reason"] = verify.algebra_reason;
  }
  json file = nullptr;
  if (verify.file_done) {
    file = {{"dtype", verify.file_dtype},
            {"max_abs", toJson(verify.file.max_abs)},
            {"max_rel", toJson(verify.file.max_rel)},
            {"noise_floor", toJson(verify.noise_floor)},
            {"floor", nameOf(verify.floor)},
            {"beyond_rounding", verify.beyond_rounding}};
    if (verify.file_dtype == "float64") file["limit"] = toJson(verify.file.limit);
    if (verify.errors) file["errors"] = toJson(*verify.errors);
  } else if (!verify.file_reason.empty()) {
    file = {{"reason", verify.file_reason}};
  }
  json entry = {{"algebra", algebra}, {"file", file}, {"exact", toJson(verify.exact)}};
  if (!verify.first_diverging.empty()) entry["first_diverging"] = verify.first_diverging;
  if (!verify.not_run.empty()) entry["not_run"] = verify.not_run;
  if (verify.sections) entry["sections"] = *verify.sections;
  return entry;
}

std::string stateText(const protocol::NormState& state, bool done) {
  std::string text = state.state == NormOutcome::Kept ? "stays" : done ? "folded" : "would fold";
  if (state.counted) text += " with a centering";
  return state.because.empty() ? text : text + " because " + state.because;
}

json analyzeReport(const protocol::ModelInfo& model, const protocol::Analysis& analysis,
                   const protocol::PlanInfo& plan) {
  json norms = json::array(), others = json::array();
  const auto edits = editsByNorm(analysis);
  for (size_t i = 0; i < analysis.norms.size(); ++i) {
    norms.push_back(normEntry(analysis.norms[i], edits[i]));
    addState(norms.back(), plan, i);
  }
  for (const auto& other : analysis.other_norms) {
    others.push_back(picked(other, {"name", "kind", "form", "verdict", "reason", "weightless", "weightless_reason"}));
  }
  const std::string& note = model.note.empty() ? analysis.note : model.note;
  const auto isOp = [](const protocol::GraphNode& node) {
    return node.role != NodeClass::Input && node.role != NodeClass::Output;
  };
  return {{"format", model.format},
          {"nodes", std::ranges::count_if(model.graph.nodes, isOp)},
          {"layer_norms", std::move(norms)},  // of deep models large: each lists all centerings above it
          {"other_norms", std::move(others)},
          {"totals", toJson(analysis.totals)},
          {"plan",
           {{"policy", nameOf(plan.policy)},
            {"folded", plan.folded.size()},
            {"centerings", plan.centerings},
            {"bytes_grown", plan.bytes_grown}}},
          {"inputs", toJson(analysis.inputs)},
          {"probe_error", orNull(analysis.probe_error)},
          {"note", orNull(note)}};
}

namespace {

json reachEntry(const std::optional<run::NormReach>& reach) {
  return reach ? json{{"square", protocol::toJson(reach->square)}, {"sum", protocol::toJson(reach->sum)}}
               : json(nullptr);
}

json rangeEntry(const std::vector<run::NormRange>& ranges) {
  if (ranges.empty()) return nullptr;
  json norms = json::array();
  for (const run::NormRange& range : ranges)
    norms.push_back({{"name", range.title}, {"before", reachEntry(range.before)}, {"after", reachEntry(range.after)}});
  return {{"type", "float16"}, {"limit", graph::kLargestFloat16}, {"norms", std::move(norms)}};
}

}  // namespace

json foldReport(const protocol::Analysis& analysis, const FoldOutcome& outcome) {
  const protocol::PlanInfo& plan = outcome.fold.plan;
  return {{"layer_norms", plan.layer_norms},
          {"folded", plan.folded.size()},
          {"policy", nameOf(plan.policy)},
          {"centerings", plan.centerings},
          {"tensors_centered", plan.tensors_centered},
          {"bytes_centered", plan.bytes_centered},
          {"shifts_absorbed", plan.shifts_absorbed},
          {"means_carried", plan.means_carried},
          {"not_carried", orNull(outcome.fold.not_carried)},
          {"gains_absorbed", plan.gains_absorbed},
          {"bytes_grown", plan.bytes_grown},
          {"gap", toJson(plan.gap)},
          {"norms", stateReport(analysis, plan)},
          {"prices", plan.prices.rows > 0 ? toJson(plan.prices) : json(nullptr)},
          {"output", toJson(outcome.output)},
          {"reason", orNull(outcome.fold.reason)},
          {"holds_if", toJson(outcome.fold.holds_if)},
          {"note", orNull(outcome.note)},
          {"norm", outcome.norm.name},
          {"target", orNull(outcome.norm.target)},
          {"range", rangeEntry(outcome.ranges)},
          {"load_ms", toJson(outcome.times.load_ms)},
          {"fold_ms", toJson(outcome.times.fold_ms)},
          {"save_ms", toJson(outcome.times.save_ms)},
          {"verify", outcome.fold.verify ? verifyEntry(*outcome.fold.verify) : json(nullptr)}};
}

json fuseReport(const FuseOutcome& outcome) {
  const service::Fusing& fusing = outcome.fusing;
  return {{"norms", fusing.norms},
          {"joined", fusing.joined.size()},
          {"joined_names", fusing.joined},
          {"fused", fusing.fused.size()},
          {"fused_names", fusing.fused},
          {"output", toJson(outcome.output)},
          {"reason", orNull(fusing.reason)},
          {"load_ms", toJson(outcome.load_ms)},
          {"fuse_ms", toJson(fusing.fuse_ms)},
          {"save_ms", toJson(outcome.save_ms)},
          {"verify", fusing.verify ? verifyEntry(*fusing.verify) : json(nullptr)}};
}

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
  if (std::ranges::any_of(result.points, isFold)) {
    report["papers_folds"] = paperFolds();
    report["papers_tables"] = paperTables();
    report["init_ms"] = toJson(result.init_ms);
    report["fold_times"] = foldTimes(result);
  }
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

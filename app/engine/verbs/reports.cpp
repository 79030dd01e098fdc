#include "app/engine/verbs/reports.h"

#include <algorithm>

#include "core/protocol/json.h"
#include "core/service/describe/describe.h"

namespace normlens::engine {
namespace {

using nlohmann::json;
using protocol::toJson;

json orNull(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

// Adds the state as fields beside the verdict.
void addState(json& entry, const protocol::PlanInfo& plan, size_t norm) {
  if (norm >= plan.norms.size()) return;
  const protocol::NormState& state = plan.norms[norm];
  json ways = json::array();
  for (const auto& way : state.ways) {
    ways.push_back(toJson(way));
    ways.back().erase("value");
  }
  json needed = json::array();
  for (const int edit : state.centerings) needed.push_back(plan.edits[static_cast<size_t>(edit)].text);
  entry["state"] = state.state;
  entry["because"] = orNull(state.because);
  entry["rests_on"] = needed;
  entry["ways"] = ways;
}

json normEntry(const protocol::NormInfo& norm, const std::vector<std::string>& edits) {
  json entry = toJson(norm);
  for (const char* forTheWindow : {"node", "shared_with", "blocker_path", "blocker", "gamma_min", "gamma_max",
                                   "beta_min", "beta_max", "has_gamma", "has_beta"})
    entry.erase(forTheWindow);
  entry["edits"] = edits;
  return entry;
}

// Lists the norms: each one's verdict, and beside it what the plan does and why.
json stateReport(const protocol::Analysis& analysis, const protocol::PlanInfo& plan) {
  json norms = json::array();
  for (size_t n = 0; n < analysis.norms.size(); ++n) {
    const auto& norm = analysis.norms[n];
    norms.push_back({{"name", norm.name}, {"form", norm.form}, {"verdict", norm.verdict}});
    addState(norms.back(), plan, n);
  }
  return norms;
}

std::vector<std::vector<std::string>> editsByNorm(const protocol::Analysis& analysis) {
  std::vector<std::vector<std::string>> edits(analysis.norms.size());
  for (const auto& edit : analysis.edits) {
    for (const int norm : edit.frees.indices()) edits[static_cast<size_t>(norm)].push_back(edit.text);
  }
  return edits;
}

constexpr double kAlgebraLimit = 1e-10;  // of the contract; another one is reported

}  // namespace

bool folds(const protocol::NormInfo& norm) {
  using analysis::Verdict;
  return norm.verdict == verdictName(Verdict::Free) || norm.verdict == verdictName(Verdict::WithCentering);
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
            {"noise_floor", toJson(verify.noise_floor)}};
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
  std::string text = state.state == "kept" ? "kept" : done ? "folded" : "would fold";
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
    others.push_back({{"name", other.name}, {"kind", other.kind}, {"form", other.form}});
  }
  const std::string& note = model.note.empty() ? analysis.note : model.note;
  const auto isOp = [](const protocol::GraphNode& node) { return node.role != "I" && node.role != "G"; };
  return {{"format", model.format},
          {"nodes", std::ranges::count_if(model.graph.nodes, isOp)},
          {"layer_norms", norms},
          {"other_norms", others},
          {"totals", toJson(analysis.totals)},
          {"plan",
           {{"policy", plan.policy},
            {"folded", plan.folded.size()},
            {"centerings", plan.centerings},
            {"bytes_grown", plan.bytes_grown}}},
          {"inputs", toJson(analysis.inputs)},
          {"probe_error", orNull(analysis.probe_error)},
          {"note", orNull(note)}};
}

json foldReport(const protocol::Analysis& analysis, const FoldOutcome& outcome) {
  const protocol::PlanInfo& plan = outcome.fold.plan;
  return {{"layer_norms", plan.layer_norms},
          {"folded", plan.folded.size()},
          {"policy", plan.policy},
          {"centerings", plan.centerings},
          {"tensors_centered", plan.tensors_centered},
          {"bytes_centered", plan.bytes_centered},
          {"shifts_absorbed", plan.shifts_absorbed},
          {"bytes_grown", plan.bytes_grown},
          {"gap", toJson(plan.gap)},
          {"norms", stateReport(analysis, plan)},
          {"prices", plan.prices.rows > 0 ? toJson(plan.prices) : json(nullptr)},
          {"output", toJson(outcome.output)},
          {"reason", orNull(outcome.fold.reason)},
          {"holds_if", toJson(outcome.fold.holds_if)},
          {"note", orNull(outcome.note)},
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

}  // namespace normlens::engine

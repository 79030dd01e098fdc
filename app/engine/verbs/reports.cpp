#include "app/engine/verbs/reports.h"

#include <algorithm>

#include "core/protocol/json.h"

namespace normlens::engine {
namespace {

using nlohmann::json;
using protocol::numberToJson;

json conditions(const std::vector<protocol::SizeCondition>& all) {
  json out = json::array();
  for (const auto& each : all) out.push_back(protocol::toJson(each));
  return out;
}

json normEntry(const protocol::NormInfo& norm, const std::vector<std::string>& edits) {
  return {{"name", norm.name},
          {"index", norm.index},
          {"form", norm.form},
          {"scope", norm.scope},
          {"normalized_shape", norm.normalized_shape},
          {"eps", numberToJson(norm.eps)},
          {"verdict", norm.verdict},
          {"reason", norm.reason},
          {"edits", edits},
          {"centerings", norm.centerings},
          {"holds_if", conditions(norm.holds_if)},
          {"would_fold_if", conditions(norm.would_fold_if)},
          {"paper", norm.paper},
          {"paper_practical", norm.paper_practical},
          {"paper_strict", norm.paper_strict}};
}

std::vector<std::vector<std::string>> editsByNorm(const protocol::Analysis& analysis) {
  std::vector<std::vector<std::string>> edits(analysis.norms.size());
  for (const auto& edit : analysis.edits) {
    for (const int norm : edit.frees.indices()) edits[static_cast<size_t>(norm)].push_back(edit.text);
  }
  return edits;
}

constexpr double kAlgebraLimit = 1e-10;  // of the contract; another one is told

json verifyEntry(const protocol::VerifyResult& verify) {
  json algebra = {{"reason", verify.algebra_reason}};
  if (verify.algebra_done) {
    algebra = {{"max_abs", numberToJson(verify.algebra.max_abs)}, {"max_rel", numberToJson(verify.algebra.max_rel)}};
    if (verify.algebra.limit > kAlgebraLimit) algebra["limit"] = numberToJson(verify.algebra.limit);
    if (verify.sample_only) algebra["sample_only"] = true;
    if (!verify.algebra_reason.empty()) algebra["reason"] = verify.algebra_reason;
  }
  json file = nullptr;
  if (verify.file_done) {
    file = {{"dtype", verify.file_dtype},
            {"max_abs", numberToJson(verify.file.max_abs)},
            {"max_rel", numberToJson(verify.file.max_rel)},
            {"noise_floor", numberToJson(verify.noise_floor)}};
    if (verify.file_dtype == "float64") file["limit"] = numberToJson(verify.file.limit);
    if (verify.nearer) {
      file["nearer"] = {{"original", numberToJson(verify.nearer->original)},
                        {"folded", numberToJson(verify.nearer->folded)}};
    }
  } else if (!verify.file_reason.empty()) {
    file = {{"reason", verify.file_reason}};
  }
  json entry = {{"algebra", algebra}, {"file", file}, {"exact", verify.exact ? json(*verify.exact) : json(nullptr)}};
  if (!verify.first_diverging.empty()) entry["first_diverging"] = verify.first_diverging;
  if (!verify.not_run.empty()) entry["not_run"] = verify.not_run;
  return entry;
}

}  // namespace

json analyzeReport(const protocol::ModelInfo& model, const protocol::Analysis& analysis) {
  json norms = json::array(), others = json::array(), inputs = json::array();
  const auto edits = editsByNorm(analysis);
  for (size_t i = 0; i < analysis.norms.size(); ++i) norms.push_back(normEntry(analysis.norms[i], edits[i]));
  for (const auto& other : analysis.other_norms) {
    others.push_back({{"name", other.name}, {"kind", other.kind}, {"form", other.form}});
  }
  for (const auto& input : analysis.inputs) inputs.push_back(protocol::toJson(input));
  const std::string& note = model.note.empty() ? analysis.note : model.note;
  const auto isOp = [](const protocol::GraphNode& node) { return node.role != "I" && node.role != "G"; };
  return {{"format", model.format},
          {"nodes", std::ranges::count_if(model.graph.nodes, isOp)},
          {"layer_norms", norms},
          {"other_norms", others},
          {"totals", protocol::toJson(analysis.totals)},
          {"inputs", inputs},
          {"probe_error", analysis.probe_error.empty() ? json(nullptr) : json(analysis.probe_error)},
          {"note", note.empty() ? json(nullptr) : json(note)}};
}

json foldReport(const FoldOutcome& outcome) {
  const protocol::PlanInfo& plan = outcome.fold.plan;
  return {{"layer_norms", plan.layer_norms},
          {"folded", plan.folded.size()},
          {"policy", plan.policy},
          {"centerings", plan.centerings},
          {"tensors_centered", plan.tensors_centered},
          {"bytes_centered", plan.bytes_centered},
          {"shifts_absorbed", plan.shifts_absorbed},
          {"bytes_grown", plan.bytes_grown},
          {"gap", numberToJson(plan.gap)},
          {"prices", plan.prices.rows > 0 ? protocol::toJson(plan.prices) : json(nullptr)},
          {"output", outcome.output ? json(*outcome.output) : json(nullptr)},
          {"reason", outcome.fold.reason.empty() ? json(nullptr) : json(outcome.fold.reason)},
          {"holds_if", conditions(outcome.fold.holds_if)},
          {"note", outcome.note.empty() ? json(nullptr) : json(outcome.note)},
          {"load_ms", numberToJson(outcome.times.load_ms)},
          {"fold_ms", numberToJson(outcome.times.fold_ms)},
          {"save_ms", numberToJson(outcome.times.save_ms)},
          {"verify", outcome.fold.verify ? verifyEntry(*outcome.fold.verify) : json(nullptr)}};
}

json fuseReport(const FuseOutcome& outcome) {
  const service::Fusing& fusing = outcome.fusing;
  return {{"norms", fusing.norms},
          {"joined", fusing.joined.size()},
          {"joined_names", fusing.joined},
          {"fused", fusing.fused.size()},
          {"fused_names", fusing.fused},
          {"output", outcome.output ? json(*outcome.output) : json(nullptr)},
          {"reason", fusing.reason.empty() ? json(nullptr) : json(fusing.reason)},
          {"load_ms", numberToJson(outcome.load_ms)},
          {"fuse_ms", numberToJson(fusing.fuse_ms)},
          {"save_ms", numberToJson(outcome.save_ms)},
          {"verify", fusing.verify ? verifyEntry(*fusing.verify) : json(nullptr)}};
}

}  // namespace normlens::engine

#include "app/engine/verbs/lab/lab_report.h"

#include <algorithm>

#include "app/engine/verbs/probe/text_table.h"
#include "core/base/formatted.h"
#include "core/protocol/json.h"

namespace normlens::engine {
namespace {

std::string orDash(const std::optional<double>& value, const char* form) {
  return value ? formatted(form, *value) : "-";
}

std::vector<std::string> networkLines(const lab::RunResult& result) {
  TextTable table({"network", "layers", "optimizer", "seed", "precision", "epoch", "train loss", "test loss",
                   "accuracy", "weights differ", "ms per step", "MB"});
  for (const lab::RunRecord& last : lab::lastOfEach(result.records)) {
    const lab::RunMember& member = last.member;
    const bool reference = member.network == "layer_norm";
    table.add({member.network, std::to_string(member.layers),
               lab::describe(result.settings.optimizers[static_cast<size_t>(member.optimizer)]),
               std::to_string(member.seed), member.precision, std::to_string(last.epoch),
               orDash(last.train_loss, "%.4g"), formatted("%.4g", last.test_loss),
               formatted("%.1f %%", last.test_accuracy * 100),
               reference ? "reference" : orDash(last.weight_difference, "%.2g"), formatted("%.3g", last.ms_per_step),
               formatted("%.1f", static_cast<double>(last.bytes) / 1e6)});
  }
  return table.lines();
}

std::vector<std::string> costLines(const lab::RunResult& result) {
  TextTable table({"network", "layers", "precision", "ms per step", "95% interval", "speed-up", "95% interval", "MB"});
  for (const lab::StepCost& cost : result.costs) {
    const auto interval = [](double low, double high) { return formatted("%.3g to %.3g", low, high); };
    const bool reference = cost.member.network == "layer_norm";
    table.add({cost.member.network, std::to_string(cost.member.layers), cost.member.precision,
               formatted("%.3g", cost.median_ms), interval(cost.low_ms, cost.high_ms),
               reference ? "reference" : formatted("%.3g", cost.ratio) + (cost.noise ? " (noise)" : ""),
               reference ? "" : interval(cost.ratio_low, cost.ratio_high),
               formatted("%.1f", static_cast<double>(cost.bytes) / 1e6)});
  }
  return table.lines();
}

}  // namespace

nlohmann::json labReport(const lab::RunResult& result) { return protocol::toJson(result); }

std::vector<std::string> labLines(const lab::RunResult& result) {
  std::vector<std::string> lines = networkLines(result);
  for (const lab::RunRecord& record : result.records) {
    if (record.event == "diverged")
      lines.push_back("diverged: " + lab::memberName(record.member, result.settings) + ": " + record.text);
  }
  if (!result.costs.empty()) std::ranges::move(costLines(result), std::back_inserter(lines));
  for (const lab::Finding& finding : result.findings) {
    const char* verdict = !finding.holds ? "cannot tell" : *finding.holds ? "holds" : "does not hold";
    lines.push_back(std::string(verdict) + ": " + finding.claim +
                    (finding.text.empty() ? "" : " (" + finding.text + ")"));
  }
  return lines;
}

}  // namespace normlens::engine

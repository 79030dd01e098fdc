#include "app/engine/verbs/probe/probe_report.h"

#include <algorithm>
#include <cmath>

#include "app/engine/verbs/report/document.h"
#include "app/engine/verbs/reports.h"
#include "core/base/formatted.h"
#include "core/base/table_text.h"
#include "core/protocol/json.h"

namespace normlens::engine {
namespace {

using nlohmann::json;
using protocol::ForcedError;
using protocol::ProbedKind;
using protocol::ProbeRow;
using protocol::ProbeSwap;
using protocol::SideAngles;
using protocol::toJson;

// nullptr: no fold was requested, or its norms are not those of the original one for one.
const ProbeRow* afterOf(const ProbeOutcome& outcome, size_t row) {
  return outcome.after && outcome.after->paired ? &outcome.after->rows[row] : nullptr;
}

// nullptr: it is no LayerNorm.
const ProbeSwap* swapOf(const ProbeOutcome& outcome, const ProbeRow& row) {
  const auto& swaps = outcome.swaps.swaps;
  const auto found =
      row.kind == ProbedKind::LayerNorm ? std::ranges::find(swaps, row.norm, &ProbeSwap::norm) : swaps.end();
  return found == swaps.end() ? nullptr : &*found;
}

// Returns the error of the outputs; nullptr: it could not be measured.
const ForcedError* effectOf(const ProbeOutcome& outcome, const ProbeRow& row) {
  const ProbeSwap* swap = swapOf(outcome, row);
  return swap != nullptr && swap->as_it_is.error.empty() ? &swap->as_it_is : nullptr;
}

json effectEntry(const ForcedError* effect) {
  if (effect == nullptr || !effect->error.empty()) return nullptr;
  return {{"max_rel", toJson(effect->max_rel)}, {"limit", toJson(effect->limit)}};
}

json swapEntry(const ProbeOutcome& outcome, const ProbeRow& row) {
  if (row.kind != ProbedKind::LayerNorm) return nullptr;
  const ProbeSwap* swap = swapOf(outcome, row);
  const std::string& why = row.swap_reason.empty() && swap != nullptr ? swap->as_it_is.error : row.swap_reason;
  return {{"max_rel", row.swap ? toJson(row.swap->max_rel) : json(nullptr)},
          {"mean_rel", row.swap ? toJson(row.swap->mean_rel) : json(nullptr)},
          {"outputs", effectEntry(effectOf(outcome, row))},
          {"notices", swap != nullptr ? toJson(swap->notices) : json(nullptr)},
          {"reason", orNull(why)}};
}

void addSides(json& entry, const ProbeRow& row) {
  const bool told = row.reason.empty();
  entry["input"] = told ? toJson(row.input) : json(nullptr);
  entry["output"] = told ? toJson(row.output) : json(nullptr);
  entry["random"] = told ? toJson(row.random) : json(nullptr);
  entry["reason"] = orNull(row.reason);
}

json rowEntry(const ProbeOutcome& outcome, size_t index) {
  const ProbeRow& row = outcome.before.rows[index];
  json entry = {{"name", row.name}, {"title", row.title}, {"kind", nameOf(row.kind)}, {"width", row.width}};
  addSides(entry, row);
  entry["swap"] = swapEntry(outcome, row);
  entry["drift"] = json::array();
  for (const Drift& drift : outcome.drift) {
    const auto figure = drift.meanToRms.empty() ? std::nullopt : drift.meanToRms[index];
    entry["drift"].push_back({{"form", nameOf(drift.form)},
                              {"dtype", drift.dtype},
                              {"mean_to_rms", figure ? toJson(*figure) : json(nullptr)},
                              {"note", orNull(drift.note)},
                              {"reason", orNull(drift.reason)}});
  }
  entry["after"] = nullptr;
  if (const ProbeRow* after = afterOf(outcome, index)) {
    entry["after"] = {{"kind", nameOf(after->kind)}};
    addSides(entry["after"], *after);
  }
  return entry;
}

std::string spread(double mean, double deviation) { return formatted("%.2f +- %.2f", mean, deviation); }
std::string percent(double share) { return formatted("%.3g%%", 100 * share); }
std::string relative(double error) { return formatted("%.2g", error); }

std::vector<std::string> heads(bool after) {
  std::vector<std::string> all = {"norm",           "kind",         "rows x width", "input angle", "output",
                                  "to random",      "input norm",   "output norm",  "mean share",  "error if replaced",
                                  "of the outputs", "output change"};
  if (after) all.insert(all.end(), {"folded to", "input angle", "mean share"});
  return all;
}

std::vector<std::string> cells(const ProbeOutcome& outcome, size_t index) {
  const ProbeRow& row = outcome.before.rows[index];
  const ForcedError* effect = effectOf(outcome, row);
  std::vector<std::string> all = {row.title, nameOf(row.kind)};
  if (row.reason.empty()) {
    all.insert(all.end(),
               {std::to_string(row.input.rows) + " x " + std::to_string(row.width),
                spread(row.input.angle_deg, row.input.angle_std), spread(row.output.angle_deg, row.output.angle_std),
                spread(row.random.angle_deg, row.random.angle_std), formatted("%.3g", row.input.norm),
                formatted("%.3g", row.output.norm), percent(row.input.mean_share)});
  } else {
    all.insert(all.end(), 7, "-");
  }
  all.push_back(row.swap ? relative(row.swap->mean_rel) + ", " + relative(row.swap->max_rel) : "-");
  all.push_back(effect != nullptr ? relative(effect->max_rel) : "-");
  all.push_back(effect != nullptr ? nameOf(*swapOf(outcome, row)->notices) : "-");
  if (const ProbeRow* after = afterOf(outcome, index)) {
    all.push_back(nameOf(after->kind));
    all.push_back(after->reason.empty() ? spread(after->input.angle_deg, after->input.angle_std) : "-");
    all.push_back(after->reason.empty() ? percent(after->input.mean_share) : "-");
  }
  return all;
}

void addNumbers(const SideAngles& side, std::vector<std::string>& fields) {
  for (const double figure :
       {side.angle_deg, side.angle_std, side.norm, side.norm_std, side.mean_share, side.mean_share_std})
    fields.push_back(formatted("%.17g", figure));
}

void addHeads(const std::string& side, std::vector<std::string>& fields) {
  for (const char* figure : {"angle_deg", "angle_std", "norm", "norm_std", "mean_share", "mean_share_std"})
    fields.push_back(side + "_" + figure);
}

std::vector<std::string> csvHeads(bool after) {
  std::vector<std::string> fields = {"name", "title", "kind", "rows", "width"};
  addHeads("input", fields);
  addHeads("output", fields);
  fields.insert(fields.end(), {"random_angle_deg", "random_angle_std", "random_expected_std", "swap_max_rel",
                               "swap_mean_rel", "swap_outputs_max_rel", "swap_outputs_limit", "notices"});
  if (!after) return fields;
  fields.emplace_back("after_kind");
  addHeads("after_input", fields);
  addHeads("after_output", fields);
  return fields;
}

std::vector<std::string> csvCells(const ProbeOutcome& outcome, size_t index) {
  const ProbeRow& row = outcome.before.rows[index];
  const ForcedError* effect = effectOf(outcome, row);
  const auto number = [](bool known, double figure) { return known ? formatted("%.17g", figure) : std::string(); };
  const bool told = row.reason.empty(), tried = effect != nullptr;
  std::vector<std::string> fields = {row.name, row.title, nameOf(row.kind), std::to_string(row.input.rows),
                                     std::to_string(row.width)};
  const size_t sides = csvHeads(false).size() - 8;
  if (told) addNumbers(row.input, fields);
  if (told) addNumbers(row.output, fields);
  fields.resize(sides);
  fields.insert(
      fields.end(),
      {number(told, row.random.angle_deg), number(told, row.random.angle_std), number(told, row.random.expected_std),
       number(row.swap.has_value(), row.swap ? row.swap->max_rel : 0),
       number(row.swap.has_value(), row.swap ? row.swap->mean_rel : 0), number(tried, tried ? effect->max_rel : 0),
       number(tried, tried ? effect->limit : 0), tried ? nameOf(*swapOf(outcome, row)->notices) : std::string()});
  if (const ProbeRow* after = afterOf(outcome, index)) {
    fields.push_back(nameOf(after->kind));
    if (after->reason.empty()) addNumbers(after->input, fields);
    if (after->reason.empty()) addNumbers(after->output, fields);
    fields.resize(csvHeads(true).size());
  }
  return fields;
}

// Behind these first fields.
void addCsvRows(const ProbeOutcome& outcome, const std::vector<std::string>& first, std::string& text) {
  for (size_t i = 0; i < outcome.before.rows.size(); ++i) {
    auto fields = csvCells(outcome, i);
    fields.insert(fields.begin(), first.begin(), first.end());
    text += csvLine(fields);
  }
}

std::vector<std::string> driftLines(const ProbeOutcome& outcome) {
  if (outcome.drift.empty()) return {};
  report::Table table{{"mean / rms of the input"}, {}};
  for (const Drift& drift : outcome.drift) table.heads.push_back(nameOf(drift.form) + " " + drift.dtype);
  for (size_t i = 0; i < outcome.before.rows.size(); ++i) {
    table.rows.push_back({outcome.before.rows[i].title});
    for (const Drift& drift : outcome.drift) {
      const bool has = !drift.meanToRms.empty() && drift.meanToRms[i];
      table.rows.back().push_back(has ? relative(*drift.meanToRms[i]) : "-");
    }
  }
  std::vector<std::string> lines = report::asLines(table);
  for (const Drift& drift : outcome.drift) {
    const std::string where = nameOf(drift.form) + " in " + drift.dtype + ": ";
    if (!drift.note.empty()) lines.push_back(where + drift.note);
    if (!drift.reason.empty()) lines.push_back(where + "no figures: " + drift.reason);
  }
  return lines;
}

std::vector<std::string> findings(const ProbeOutcome& outcome) {
  std::vector<std::string> said = outcome.before.findings;
  said.insert(said.end(), outcome.swaps.findings.begin(), outcome.swaps.findings.end());
  return said;
}

}  // namespace

Drift driftOf(const ProbeOutcome& outcome, DriftForm form, const protocol::ProbeResult& rows) {
  Drift drift{form, rows.dtype, {}, {}, rows.note};
  if (rows.rows.size() != outcome.before.rows.size()) {
    drift.reason = "its norms are not those of the model one for one";
    return drift;
  }
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const ProbeRow& row = rows.rows[i];
    const bool hasMean = row.reason.empty() && (form != DriftForm::Crms || row.width == outcome.before.rows[i].width);
    drift.meanToRms.push_back(hasMean ? std::optional(std::sqrt(row.input.mean_share)) : std::nullopt);
  }
  return drift;
}

json probeReport(const ProbeOutcome& outcome) {
  json norms = json::array();
  for (size_t i = 0; i < outcome.before.rows.size(); ++i) norms.push_back(rowEntry(outcome, i));
  return {{"model", outcome.model},
          {"dtype", outcome.before.dtype},
          {"seed", outcome.seed},
          {"norms", norms},
          {"all_swapped", outcome.swaps.all ? effectEntry(&*outcome.swaps.all) : json(nullptr)},
          {"findings", findings(outcome)}};
}

std::vector<std::string> probeLines(const ProbeOutcome& outcome) {
  report::Table table{heads(outcome.after && outcome.after->paired), {}};
  for (size_t i = 0; i < outcome.before.rows.size(); ++i) table.rows.push_back(cells(outcome, i));
  std::vector<std::string> lines = report::asLines(table);
  for (const ProbeRow& row : outcome.before.rows) {
    if (!row.reason.empty()) lines.push_back(row.title + ": no figures: " + row.reason);
  }
  for (std::string& line : driftLines(outcome)) lines.push_back(std::move(line));
  for (std::string& sentence : findings(outcome)) lines.push_back(std::move(sentence));
  return lines;
}

std::string probeCsv(const ProbeOutcome& outcome) {
  const bool after = outcome.after && outcome.after->paired;
  std::string text = csvLine(csvHeads(after));
  addCsvRows(outcome, {}, text);
  return text;
}

std::vector<std::string> checkpointLines(const std::vector<ProbeOutcome>& outcomes) {
  report::Table table{{"model", "norm", "rows x width", "input angle", "mean share"}, {}};
  for (const ProbeOutcome& outcome : outcomes) {
    for (const ProbeRow& row : outcome.before.rows) {
      const bool told = row.reason.empty();
      table.rows.push_back(
          {outcome.model, row.title, std::to_string(row.input.rows) + " x " + std::to_string(row.width),
           told ? spread(row.input.angle_deg, row.input.angle_std) : "-", told ? percent(row.input.mean_share) : "-"});
    }
  }
  return report::asLines(table);
}

std::string checkpointCsv(const std::vector<ProbeOutcome>& outcomes) {
  auto heads = csvHeads(false);
  heads.insert(heads.begin(), "model");
  std::string text = csvLine(heads);
  for (const ProbeOutcome& outcome : outcomes) addCsvRows(outcome, {outcome.model}, text);
  return text;
}

}  // namespace normlens::engine

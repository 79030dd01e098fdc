#include "app/engine/verbs/diff_report.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <iterator>
#include <optional>

#include "core/base/formatted.h"
#include "core/protocol/json.h"
#include "core/run/tensors.h"

namespace normlens::engine {
namespace {

using nlohmann::json;
using protocol::toJson;
using run::DiffRow;
using run::SiteKind;

json ulpEntry(const run::UlpHistogram& ulps) {
  const auto used = std::ranges::find_if(ulps.counts.rbegin(), ulps.counts.rend(), [](int64_t n) { return n > 0; });
  return {{"max", ulps.most}, {"histogram", std::vector<int64_t>(ulps.counts.begin(), used.base())}};
}

json topEntry(const run::TopAgreement& top) {
  return {
      {"rows", top.rows}, {"top1", toJson(top.first())}, {"top5", top.hasMany ? toJson(top.many()) : json(nullptr)}};
}

json rowEntry(const DiffRow& row) {
  json entry = {{"name", row.name},
                {"max_abs", toJson(row.diff.maxAbs)},
                {"max_rel", toJson(row.diff.maxRel)},
                {"mean_abs", toJson(row.diff.meanAbs)},
                {"cosine", toJson(row.diff.cosine)},
                {"shape", row.shape},
                {"dtype", graph::dtypeName(row.dtype)},
                {"aligned", nameOf(row.alignment)},
                {"batch", row.batch},
                {"rounding", toJson(row.rounding)},
                {"ulp", row.ulps ? ulpEntry(*row.ulps) : json(nullptr)},
                {"vacuous", row.diff.vacuous},
                {"worst", nullptr}};
  if (row.diff.worst >= 0) {
    entry["worst"] = {{"index", run::indexOf(row.diff.worst, row.shape, row.dtype)},
                      {"a", toJson(row.diff.worstA)},
                      {"b", toJson(row.diff.worstB)}};
  }
  if (row.kind == SiteKind::Output) {
    entry["top_k"] = row.top ? topEntry(*row.top) : json(nullptr);
  } else {
    entry["step"] = row.step;
    entry["depth"] = row.depth;
  }
  return entry;
}

json rowsOf(const run::ModelDiff& diff, SiteKind kind) {
  json list = json::array();
  for (const DiffRow& row : diff.rows) {
    if (row.kind == kind) list.push_back(rowEntry(row));
  }
  return list;
}

json columnEntry(const DiffColumn& column) {
  json entry = {{"dtype", column.dtype}};
  if (!column.note.empty()) entry["note"] = column.note;
  if (!column.diff) {
    entry["error"] = column.diff.error().message;
    return entry;
  }
  const run::ModelDiff& diff = *column.diff;
  entry["batches"] = diff.batches;
  entry["outputs"] = rowsOf(diff, SiteKind::Output);
  entry["norms"] = rowsOf(diff, SiteKind::NormOutput);
  entry["norm_inputs"] = rowsOf(diff, SiteKind::NormInput);
  entry["values"] = rowsOf(diff, SiteKind::Value);
  entry["first_diverging"] = diff.firstDiverging.empty() ? json(nullptr) : json(diff.firstDiverging);
  if (!diff.normsReason.empty()) entry["norms_reason"] = diff.normsReason;
  return entry;
}

std::string padded(double figure) { return formatted("%-9s", formatted("%.3g", figure).c_str()); }

std::string rowLine(const DiffRow& row) {
  std::string line = "  max_abs " + padded(row.diff.maxAbs) + " max_rel " + padded(row.diff.maxRel) + " mean_abs " +
                     padded(row.diff.meanAbs) + formatted(" cosine %-12.9g", row.diff.cosine);
  line +=
      row.ulps ? formatted(" max_ulp %-9llu", static_cast<unsigned long long>(row.ulps->most)) : formatted("%18s", "");
  if (row.rounding) line += " rounding " + padded(*row.rounding);
  line += " " + row.name;
  if (row.diff.vacuous) line += " (not finite anywhere)";
  if (row.alignment == run::Alignment::Mean) line += " (without the mean)";
  if (row.alignment == run::Alignment::Beta) line += " (with beta added)";
  if (row.alignment == run::Alignment::GammaAndBeta) line += " (with gamma and beta)";
  if (row.top) line += formatted("  top-1 %.4g%%", 100 * row.top->first());
  if (row.top && row.top->hasMany) line += formatted(", top-5 %.4g%%", 100 * row.top->many());
  return line;
}

void addSection(const run::ModelDiff& diff, SiteKind kind, const char* title, std::vector<std::string>& lines) {
  bool first = true;
  for (const DiffRow& row : diff.rows) {
    if (row.kind != kind) continue;
    if (first) lines.emplace_back(title);
    first = false;
    lines.push_back(rowLine(row));
  }
}

void addMeasures(const run::ModelDiff& diff, std::vector<std::string>& lines) {
  addSection(diff, SiteKind::Output, "outputs", lines);
  addSection(diff, SiteKind::NormOutput, "norms", lines);
  addSection(diff, SiteKind::NormInput, "inputs of the norms", lines);
  addSection(diff, SiteKind::Value, "values", lines);
}

// The same row in every column: rows are found by what they are, for a column may lack some.
const DiffRow* findRow(const DiffColumn& column, const DiffRow& like) {
  if (!column.diff) return nullptr;
  const auto found = std::ranges::find_if(column.diff->rows, [&](const DiffRow& row) {
    return row.kind == like.kind && row.value == like.value && row.output == like.output;
  });
  return found == column.diff->rows.end() ? nullptr : &*found;
}

// figure(row): the number in the row's cell; nullopt: a dash. No table where all are dashes.
template <class Figure>
void addTable(const std::vector<DiffColumn>& columns, const run::ModelDiff& first, const char* title,
              const Figure& figure, std::vector<std::string>& lines) {
  std::string head = formatted("%-8s", title);
  for (const DiffColumn& column : columns) head += formatted(" %10s", column.dtype.c_str());
  std::vector<std::string> table{head};
  bool any = false;
  for (const DiffRow& row : first.rows) {
    if (row.kind == SiteKind::NormInput) continue;
    std::string line(8, ' ');
    for (const DiffColumn& column : columns) {
      const DiffRow* found = findRow(column, row);
      const std::optional<double> value = found ? figure(*found) : std::nullopt;
      line += formatted(" %10s", value ? formatted("%.3g", *value).c_str() : "-");
      any = any || value;
    }
    table.push_back(line + "  " + row.name);
  }
  if (any) std::ranges::move(table, std::back_inserter(lines));
}

const DiffColumn* firstDone(const std::vector<DiffColumn>& columns) {
  const auto done = std::ranges::find_if(columns, [](const DiffColumn& column) { return column.diff.has_value(); });
  return done == columns.end() ? nullptr : &*done;
}

std::vector<const DiffRow*> outputsOf(const run::ModelDiff& diff) {
  std::vector<const DiffRow*> outputs;
  for (const DiffRow& row : diff.rows) {
    if (row.kind == run::SiteKind::Output) outputs.push_back(&row);
  }
  return outputs;
}

bool hasElements(const DiffRow* row) { return graph::elementCount(row->shape).value_or(1) > 0; }

std::string namesOf(const std::vector<const DiffRow*>& rows) {
  std::vector<std::string> names;
  for (const DiffRow* row : rows) names.push_back(row->name);
  return boost::algorithm::join(names, ", ");
}

}  // namespace

json diffReport(const std::vector<DiffColumn>& columns, uint64_t seed) {
  const DiffColumn* done = firstDone(columns);
  json report = done ? columnEntry(*done) : json::object();
  report["seed"] = seed;
  if (columns.size() < 2) return report;
  report["precisions"] = json::array();
  for (const DiffColumn& column : columns) report["precisions"].push_back(columnEntry(column));
  return report;
}

std::vector<std::string> diffLines(const std::vector<DiffColumn>& columns) {
  std::vector<std::string> lines;
  const DiffColumn* done = firstDone(columns);
  if (done && columns.size() == 1) addMeasures(*done->diff, lines);
  if (done && columns.size() > 1) {
    addTable(
        columns, *done->diff, "max_rel", [](const DiffRow& row) { return std::optional(row.diff.maxRel); }, lines);
    addTable(
        columns, *done->diff, "rounding", [](const DiffRow& row) { return row.rounding; }, lines);
  }
  if (done && !done->diff->firstDiverging.empty()) {
    lines.push_back("first norm that differs: " + done->diff->firstDiverging);
  }
  return lines;
}

std::string whyAbove(const std::vector<DiffColumn>& columns, double limit) {
  const DiffColumn* done = firstDone(columns);
  if (done == nullptr) return "the models could not be compared, so --fail-above cannot pass";
  auto outputs = outputsOf(*done->diff);
  if (std::ranges::none_of(outputs, hasElements))
    return "no output has elements, so --fail-above has nothing to compare";
  if (std::ranges::any_of(outputs, [&](const DiffRow* row) { return !(row->diff.maxRel <= limit); }))
    return "the outputs differ by more than --fail-above";
  std::erase_if(outputs, [](const DiffRow* row) { return !row->diff.vacuous; });
  if (outputs.empty()) return {};
  return "not finite anywhere, in both models, so --fail-above has nothing to compare in: " + namesOf(outputs) +
         "; give other inputs, or compare in a wider --dtype";
}

}  // namespace normlens::engine

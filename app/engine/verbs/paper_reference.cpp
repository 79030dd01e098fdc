#include "app/engine/verbs/paper_reference.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "app/engine/paper_figures_text.h"
#include "core/base/formatted.h"

namespace normlens::engine {
namespace {

using nlohmann::json;

json figures() { return json::parse(kPaperFigures); }

// Returns the value of what is varied by this name; nullopt: it is not.
std::optional<std::string> valueOf(const protocol::BenchPoint& point, const std::string& name) {
  const auto found = std::ranges::find(point.at, name, &std::pair<std::string, std::string>::first);
  return found == point.at.end() ? std::nullopt : std::optional(found->second);
}

// Returns whether the point has what the papers kept, as far as the point has it.
bool fits(const json& series, const std::string& kept, const protocol::BenchPoint& point) {
  const auto wanted = valueOf(point, kept);
  return !wanted || !series.contains(kept) || *wanted == series[kept].dump();
}

// Returns the speed-up that the series has at `size`; nullopt: none.
std::optional<double> speedupAt(const json& series, const std::string& size) {
  for (const json& pair : series["points"]) {
    if (pair[0].dump() == size) return 1 / (1 - pair[1].get<double>() / 100);
  }
  return std::nullopt;
}

json entryOf(const json& figure) {
  json entry;
  for (const char* name : {"model", "device", "batch", "seq", "fold_ms", "init_ms", "ratio_percent", "before_ms",
                           "after_ms", "reduction_percent", "break_even"}) {
    if (figure.contains(name)) entry[name] = figure[name];
  }
  entry["source"] = "paper " + figure["source"].get<std::string>();
  return entry;
}

// Returns "35 to 178", over all rows that have it.
std::string rangeOf(const json& rows, const char* name, const char* format = "%.0f") {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const json& row : rows) {
    if (!row.contains(name) || !row[name].is_number()) continue;
    least = std::min(least, row[name].get<double>());
    most = std::max(most, row[name].get<double>());
  }
  return formatted(format, least) + " to " + formatted(format, most);
}

}  // namespace

json paperSpeedups(const protocol::BenchPoint& point) {
  json found = json::array();
  if (!point.b) return found;
  const json all = figures();
  for (const json& series : all["series"]) {
    const auto over = series["over"].get<std::string>();
    const auto size = valueOf(point, over);
    if (!size || !fits(series, over == "seq" ? "batch" : "seq", point)) continue;
    const auto speedup = speedupAt(series, *size);
    if (!speedup) continue;
    json entry = entryOf(series);
    entry["speedup"] = *speedup;
    found.push_back(std::move(entry));
  }
  return found;
}

std::string paperSpeedupText(const json& speedups) {
  std::string text;
  for (const json& entry : speedups) {
    const char* kept = entry.contains("batch") ? "batch" : "seq";
    if (!text.empty()) text += ", ";
    text += entry["model"].get<std::string>() + formatted(" %.3f", entry["speedup"].get<double>()) + " (" +
            entry["device"].get<std::string>() + ", " + kept + " " + entry[kept].dump() + ")";
  }
  return text;
}

json paperFolds() {
  json found = json::array();
  const json all = figures();
  for (const json& fold : all["folds"]) found.push_back(entryOf(fold));
  return found;
}

json paperTables() {
  json all = figures();
  for (const char* own : {"about", "series", "folds"}) all.erase(own);
  return all;
}

std::string paperFoldText() {
  const json tables = paperTables();
  const json folds = paperFolds();
  std::vector<std::string> devices;
  for (const json& fold : folds) {
    const auto device = fold["device"].get<std::string>();
    if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
  }
  std::string text =
      "folds of " + rangeOf(folds, "fold_ms") + " ms paid for after " + rangeOf(folds, "break_even") + " runs (";
  for (const std::string& device : devices) text += (&device == devices.data() ? "" : ", ") + device;
  text += "); LayerNorm " + rangeOf(tables["shares"], "share_percent", "%.1f") + "% of the time, where " +
          rangeOf(tables["shares"], "expected_percent", "%.1f") + "% less is expected (001, tables 9 and 12)";
  text += "; " + rangeOf(tables["runtimes"], "reduction_percent", "%.1f") + "% less with norms of their own (table 10)";
  text += "; " + rangeOf(tables["memory"], "reduction_percent", "%.1f") + "% less memory (table 11)";
  text +=
      formatted("; folds over batch and length vary by %.1f%% (table 6)", tables["spread"][0]["all"][2].get<double>());
  return text + formatted("; up to %.0f%% less (003)", tables["bounds"][0]["reduction_percent_most"].get<double>());
}

}  // namespace normlens::engine

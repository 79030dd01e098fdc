#include "core/service/describe/probe_findings.h"

#include <algorithm>
#include <cmath>

#include "core/base/formatted.h"
#include "core/base/plural.h"

namespace normlens::service {
namespace {

using protocol::ForcedError;
using protocol::Notices;
using protocol::ProbedKind;
using protocol::ProbeRow;

protocol::SideAngles describe(const run::SideGeometry& side) {
  return {.angle_deg = side.angleDeg.mean,
          .angle_std = side.angleDeg.deviation,
          .norm = side.length.mean,
          .norm_std = side.length.deviation,
          .mean_share = side.meanShare.mean,
          .mean_share_std = side.meanShare.deviation,
          .rows = side.rows,
          .zero_rows = side.zero,
          .bad_rows = side.notFinite};
}

protocol::AngleCounts describe(const run::AngleCounts& angles) { return {angles.low, angles.step, angles.counts}; }

constexpr double kNear = 6, kExact = 1e-4;  // degrees from a right angle; the latter is what float32 rounds

// "1 of 25 LayerNorms gets", "24 of 25 LayerNorms get"
std::string partOf(std::ptrdiff_t some, std::ptrdiff_t all, const char* one, const char* many) {
  return std::to_string(some) + " of " + plural(all, "LayerNorm") + " " + (some == 1 ? one : many);
}

bool standsUpright(const ProbeRow& row) {
  return std::abs(row.input.angle_deg - 90) < kExact && row.input.angle_std < kExact;
}

std::vector<const ProbeRow*> told(const std::vector<ProbeRow>& rows, ProbedKind kind) {
  std::vector<const ProbeRow*> all;
  for (const ProbeRow& row : rows) {
    if (row.kind == kind && row.reason.empty() && std::isfinite(row.input.angle_deg)) all.push_back(&row);
  }
  return all;
}

// "0.03 to 3%"
std::string shares(const std::vector<const ProbeRow*>& norms) {
  const auto [least, most] = std::ranges::minmax(norms, {}, [](const ProbeRow* row) { return row->input.mean_share; });
  const auto percent = [](double share) { return formatted(share < 0.1 ? "%.2g" : "%.0f", 100 * share); };
  return percent(least->input.mean_share) + " to " + percent(most->input.mean_share) + "%";
}

// Counts the LayerNorms, or the RMSNorms that a fold has put in their places, with an input at 90°.
void addUpright(const std::vector<const ProbeRow*>& norms, const char* noun, const char* so,
                std::vector<std::string>& said) {
  const auto upright = std::ranges::count_if(norms, [](const ProbeRow* row) { return standsUpright(*row); });
  if (upright == 0) return;
  said.push_back(std::to_string(upright) + " of " + plural(std::ssize(norms), noun) +
                 (upright == 1 ? " gets an input at exactly 90°" : " get inputs at exactly 90°") + so);
}

void addLeftOut(const std::vector<ProbeRow>& rows, std::vector<std::string>& said) {
  const auto worst =
      std::ranges::max_element(rows, {}, [](const ProbeRow& row) { return row.input.bad_rows + row.output.bad_rows; });
  if (worst == rows.end()) return;
  const int64_t bad = std::max(worst->input.bad_rows, worst->output.bad_rows);
  if (bad == 0) return;
  said.push_back(std::to_string(bad) + " of " + plural(worst->input.rows, "row") + " of " + worst->title +
                 (bad == 1 ? " is not finite and was left out" : " are not finite and were left out"));
}

bool isKnown(const std::optional<ForcedError>& error) { return error && error->error.empty(); }

}  // namespace

protocol::ProbeRow describeProbe(const run::NormGeometry& norm) {
  protocol::ProbeRow row;
  row.name = norm.name;
  row.title = norm.title;
  row.kind = norm.layerNorm ? protocol::ProbedKind::LayerNorm : protocol::ProbedKind::RmsNorm;
  row.norm = norm.index;
  row.node = norm.node;
  row.width = norm.input.width;
  row.reason = norm.reason;
  row.input = describe(norm.input.side);
  row.output = describe(norm.output);
  row.random = {norm.input.randomDeg.mean, norm.input.randomDeg.deviation, run::expectedSpreadDeg(norm.input.width)};
  row.bare_angle_deg = norm.input.bareDeg.mean;
  row.bare_angle_std = norm.input.bareDeg.deviation;
  row.input_angles = describe(norm.input.side.angles);
  row.output_angles = describe(norm.output.angles);
  row.random_angles = describe(norm.input.randomAngles);
  if (norm.input.swap) row.swap = {norm.input.swap->max, norm.input.swap->mean};
  row.swap_reason = norm.swapReason;
  return row;
}

bool callLike(const std::vector<run::NormGeometry>& original, std::vector<protocol::ProbeRow>& rows) {
  const bool paired = original.size() == rows.size();
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].norm = paired ? original[i].index : -1;
    if (!paired) continue;
    rows[i].name = original[i].name;
    rows[i].title = original[i].title;
  }
  return paired;
}

std::vector<std::string> angleFindings(const std::vector<ProbeRow>& rows) {
  std::vector<std::string> said;
  const auto layerNorms = told(rows, ProbedKind::LayerNorm), rmsNorms = told(rows, ProbedKind::RmsNorm);
  addLeftOut(rows, said);
  if (layerNorms.empty() && rmsNorms.empty()) {
    said.emplace_back("There is no norm whose input could be measured");
    return said;
  }
  if (!layerNorms.empty()) {
    const auto near = std::ranges::count_if(
        layerNorms, [](const ProbeRow* row) { return std::abs(row->input.angle_deg - 90) <= kNear; });
    said.push_back(partOf(near, std::ssize(layerNorms), "gets inputs", "get inputs") +
                   formatted(" within %.0f° of a right angle to the uniform vector; the mean holds ", kNear) +
                   shares(layerNorms) + " of the energy of all inputs");
  }
  addUpright(layerNorms, "LayerNorm", ": the mean that is subtracted is zero", said);
  addUpright(rmsNorms, "RMSNorm", ": what LayerNorm would subtract is zero", said);
  const ProbeRow& last = layerNorms.empty() ? *rmsNorms.back() : *layerNorms.back();
  if (std::isfinite(last.random.angle_deg)) {
    said.push_back(formatted("Random vectors stand at %.1f° with a spread of %.2f°; expected: 90°, ",
                             last.random.angle_deg, last.random.angle_std) +
                   "1/√" + std::to_string(last.width) + formatted(" = %.2f°", last.random.expected_std));
  }
  return said;
}

std::optional<Notices> wouldNotice(const ForcedError& swap, double hardly) {
  if (!swap.error.empty()) return std::nullopt;
  if (swap.max_rel <= swap.limit) return Notices::Nothing;
  return swap.max_rel < hardly ? Notices::Hardly : Notices::Yes;
}

std::vector<std::string> swapFindings(const protocol::ProbeSwaps& swaps) {
  std::vector<std::string> said;
  std::ptrdiff_t known = 0, unmissed = 0;
  double folded = -1;
  for (const auto& swap : swaps.swaps) {
    known += swap.notices ? 1 : 0;
    unmissed += swap.notices == Notices::Nothing || swap.notices == Notices::Hardly ? 1 : 0;
    if (isKnown(swap.folded)) folded = std::max(folded, swap.folded->max_rel);
  }
  if (known > 0) {
    said.push_back(partOf(unmissed, known, "could be replaced", "could be replaced") +
                   formatted(", one at a time, by a plain RMSNorm with less than %.2g%% change in the outputs",
                             100 * swaps.hardly));
  }
  if (isKnown(swaps.all)) {
    said.push_back(formatted("Replacing all of them at once changes an output by %.2g (rounding: up to %.2g)",
                             swaps.all->max_rel, swaps.all->limit));
  }
  if (folded >= 0) said.push_back(formatted("Folding one first changes an output by %.2g at most", folded));
  return said;
}

}  // namespace normlens::service

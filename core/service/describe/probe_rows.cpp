#include "core/service/describe/probe_rows.h"

namespace normlens::service {
namespace {

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

}  // namespace

protocol::ProbeRow describeProbe(const run::NormGeometry& norm) {
  protocol::ProbeRow row;
  row.name = norm.name;
  row.title = norm.title;
  row.kind = norm.layerNorm ? "LayerNorm" : "RMSNorm";
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

}  // namespace normlens::service

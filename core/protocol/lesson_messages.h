// Messages of the lessons, which compute on the open model: a weight centered in part, and the cut that decides where a
// mean is removed at run time. As messages.h in every other respect.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/index_ranges.h"
#include "core/protocol/field_list.h"
#include "core/protocol/plan_messages.h"

namespace normlens::protocol {

// ---- partial_centering: PartialCenteringParams -> PartialCentering. One run of the open model with one LayerNorm
// replaced by an RMSNorm and a share of the mean taken out of what the norm rests on. The last fold stays.
struct PartialCenteringParams {
  int norm = 0;
  int value = -1;      // the constant that is centered; of it and the others the same share
  double share = 1;    // W' = (I - share 11^T/m) W
  bool others = true;  // false: the other weights that the norm rests on stay as they are
  bool biases = true;  // false: constants of one axis stay as they are
  std::string dtype;   // that is run in; empty: the file's own
};
NORMLENS_FIELDS(PartialCenteringParams, norm, value, share, others, biases, dtype)

struct PartialCentering {
  std::string dtype;
  std::string error;          // why there are no figures
  std::vector<double> means;  // One for each row of the norm's input: at most 4096, evenly picked.
  double max_rel = 0;         // Compares the outputs with the open model's, as in ForcedError.
  double limit = 0;           // six times the noise floor
};
NORMLENS_FIELDS(PartialCentering, dtype, error, means, max_rel, limit)

// ---- centering_cut: CenteringCutParams -> CenteringCut. The planner's network, as far as run-time centerings decide,
// and its minimum cut. Amounts in microseconds where prices are measured, else in elements.
struct CenteringCutParams {
  PlanParams plan;
  double factor = 1;   // on the price of each centering
  bool curve = false;  // report other factors, too
};
NORMLENS_FIELDS(CenteringCutParams, plan, factor, curve)

// A value of which the mean could be taken away at run time.
struct CutValue {
  int value = -1;
  int node = -1;  // that makes it; -1: an input
  std::string name;
  double price = 0, flow = 0;  // flow: what of the price the maximum flow uses
  bool cut = false;            // it is centered
  IndexRanges norms;           // that its mean reaches; of the 64 values with the largest flow
};
NORMLENS_FIELDS(CutValue, value, node, name, price, flow, cut, norms)

struct CutNorm {
  int norm = 0;
  double saving = 0, flow = 0;
  bool freed = false;
};
NORMLENS_FIELDS(CutNorm, norm, saving, flow, freed)

// The best plan at another price.
struct CutPoint {
  double factor = 0, saved = 0, paid = 0;
  int freed = 0;
};
NORMLENS_FIELDS(CutPoint, factor, saved, paid, freed)

struct CenteringCut {
  bool measured = false;         // amounts are microseconds
  std::vector<CutValue> values;  // that nothing centers in the file, and where the cut goes
  std::vector<CutNorm> norms;    // that such values alone keep from folding, or would
  double flow = 0;               // through those norms
  // The parts of the cut: centerings paid for, and savings given up. Their sum is the flow: no plan is better.
  double paid = 0, given_up = 0;
  double saved = 0;
  std::vector<CutPoint> curve;  // from 0 to 3 times the price
};
NORMLENS_FIELDS(CenteringCut, measured, values, norms, flow, paid, given_up, saved, curve)

}  // namespace normlens::protocol

// A plan: what it is to be like, its edits, and what it does with each norm. See messages.h for the rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/index_ranges.h"
#include "core/base/words/words.h"
#include "core/protocol/field_list.h"

namespace normlens::protocol {

// ---- one edit of a plan
struct EditInfo {
  EditKind kind = EditKind::CenterConstant;
  std::string text;   // "center transformer.wte.weight (a copy: its other readers keep the original)"
  int node = -1;      // where to look
  int64_t bytes = 0;  // written
  int64_t bytes_grown = 0;
  IndexRanges frees;  // norms that need it
  // The constants that it rewrites, or the value that it changes at run time: what PlanParams::keep_values may name.
  std::vector<int> values = {};
  std::string subject = {};  // The text's subject: "transformer.wte.weight".
  std::string because = {};  // The text's brackets hold it; empty: it has none.
};
NORMLENS_FIELDS(EditInfo, kind, text, node, bytes, bytes_grown, frees, values, subject, because)

enum class Prices : uint8_t {
  Fixed,     // element counts, the same everywhere
  Measured,  // on this machine, now
};
NORMLENS_NAMES(Prices, "fixed", "measured")

// PlanParams describe the wanted plan; several methods pass them to the planner.
struct PlanParams {
  Policy policy = Policy::Balanced;
  std::vector<int> center_values;  // 'Center here': values the user wants centered at run time
  std::vector<int> copy_values;    // constants of which the user wants a centered copy, whatever it adds to the file
  std::vector<int> keep_values;    // not to be edited: constants as they are, other values not centered or dropped
  std::vector<int> keep_norms;     // norms the user does not want folded
  double max_growth_percent = 10;
  Prices prices = Prices::Fixed;
  Gamma gamma = Gamma::Keep;
  bool carry_means = false;  // streams may keep their mean beside them for who reads them as they are
};
NORMLENS_FIELDS(PlanParams, policy, center_values, copy_values, keep_values, keep_norms, max_growth_percent, prices,
                gamma, carry_means)

// ---- plan: PlanParams -> PlanInfo. fold is the same list applied and proved.
// norm_prices: BenchParams -> NormPrices, on their device. On the CPU the figures behind Prices::Measured.
// Medians in microseconds over one tensor of [rows, width]. rows 0: nothing was measured.
struct NormPrices {
  int64_t rows = 0, width = 0;
  double layer_norm_us = 0, rms_norm_us = 0, centering_us = 0;
  // 95% intervals of what a fold saves and of what a centering costs. Both ends 0: not known.
  double saves_low_us = 0, saves_high_us = 0, centering_low_us = 0, centering_high_us = 0;
  bool crowded = false;  // other programs took the cores meanwhile: read the figures with care
};
NORMLENS_FIELDS(NormPrices, rows, width, layer_norm_us, rms_norm_us, centering_us, saves_low_us, saves_high_us,
                centering_low_us, centering_high_us, crowded)

// One of several ways to the same fold, where a copy of a constant and a run-time centering compete.
enum class WayKind : uint8_t { Copy, Centering };
NORMLENS_NAMES(WayKind, "copy", "centering")
struct PlanWay {
  WayKind kind = WayKind::Copy;
  int value = -1;           // the constant to copy, or the value to center
  std::string text;         // "a copy of wte.weight"
  int64_t bytes_grown = 0;  // By a copy.
  double growth_percent = 0;
  double cost_us = 0;  // A centering's, each run; 0: not measured.
  bool chosen = false;
};
NORMLENS_FIELDS(PlanWay, kind, value, text, bytes_grown, growth_percent, cost_us, chosen)

// NormState is what a plan does with one norm. The verdict (NormInfo) is what it could do; it may do less, or other.
struct NormState {
  int norm = 0;
  NormOutcome state = NormOutcome::Kept;
  std::string because;          // "a copy of wte.weight would add 131 kB (13%, limit 10%)"; empty: nothing to explain
  std::vector<int> centerings;  // Index PlanInfo::edits: the run-time centerings that it rests on.
  bool counted = false;         // the first norm that reads them: they count as its own
  std::vector<PlanWay> ways;    // fewer than two: nothing to choose
};
NORMLENS_FIELDS(NormState, norm, state, because, centerings, counted, ways)

struct PlanInfo {
  Policy policy = Policy::Balanced;
  NormPrices prices;
  std::vector<EditInfo> edits;
  std::vector<int> folded;       // norms that will become RMSNorm
  std::vector<NormState> norms;  // all of them, in the order of Analysis::norms
  int layer_norms = 0, centerings = 0, tensors_centered = 0;
  int means_carried = 0;    // values that are given back the mean which their stream keeps beside it
  int gains_absorbed = 0;   // RMSNorms whose gamma moves into the weights of the linears behind them
  int shifts_absorbed = 0;  // norms whose beta moves into the biases of the linears behind them
  int64_t bytes_centered = 0, bytes_grown = 0;
  double gap = 0;  // elements of LayerNorm that a better plan could still save; 0: proved best

  // Nothing of the model would change.
  [[nodiscard]] bool isEmpty() const { return folded.empty() && gains_absorbed == 0; }
};
NORMLENS_FIELDS(PlanInfo, policy, prices, edits, folded, norms, layer_norms, centerings, tensors_centered,
                means_carried, gains_absorbed, shifts_absorbed, bytes_centered, bytes_grown, gap)

// plan_text: no params -> PlanText, once something was folded.
struct PlanText {
  std::string text;  // a plan file of the last fold, which names patterns and reads
};
NORMLENS_FIELDS(PlanText, text)

}  // namespace normlens::protocol

// The geometry probe: where the vectors point that go into a model's norms and come out of them (paper 002). As
// messages.h in every other respect. Angles in degrees; NaN where there was no vector.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/difference_messages.h"
#include "core/protocol/field_list.h"

namespace normlens::protocol {

// ---- probe: ProbeParams -> ProbeResult. One run of the open model, or of its last fold, on the inputs that were set,
// and one for each further file of inputs, one file in memory at a time.
struct ProbeParams {
  bool folded = false;  // The last fold is probed, proved or not.
  int64_t seed = 17;    // Draws the random vectors.
  std::string dtype{};  // float64, float32, float16, bfloat16; empty: as the model is
  bool narrow = false;  // the last fold's plan with streams that lose a channel instead (paper 003, docs/method.md 9)
  std::vector<std::string> more_inputs{};  // further files of arrays (.npz)
};
NORMLENS_FIELDS(ProbeParams, folded, seed, dtype, narrow, more_inputs)

// SideAngles are of the rows on one side of a norm, along the axes that it is taken over. A mean and the standard
// deviation over the rows of each figure; rows that are not finite take no part, zero ones in the length alone.
struct SideAngles {
  double angle_deg = 0, angle_std = 0;            // to the uniform vector [1 ... 1]
  double norm = 0, norm_std = 0;                  // the length
  double mean_share = 0, mean_share_std = 0;      // The squared length's share along the uniform vector.
  int64_t rows = 0, zero_rows = 0, bad_rows = 0;  // bad: not finite
};
NORMLENS_FIELDS(SideAngles, angle_deg, angle_std, norm, norm_std, mean_share, mean_share_std, rows, zero_rows, bad_rows)

// The control: the input's rows against random vectors, the same ones for all norms of a width.
struct RandomAngles {
  double angle_deg = 0, angle_std = 0;
  double expected_std = 0;  // 1/sqrt(width) radians
};
NORMLENS_FIELDS(RandomAngles, angle_deg, angle_std, expected_std)

// AngleCounts is a histogram: counts[i] rows have an angle from low + i * step on, up to the next.
struct AngleCounts {
  double low = 0, step = 0;  // degrees
  std::vector<int64_t> counts;
};
NORMLENS_FIELDS(AngleCounts, low, step, counts)

// An RMSNorm in the LayerNorm's place on the very same rows, with its gamma, beta and eps, in float64:
// |RMSNorm - LayerNorm| / |LayerNorm| over the rows.
struct SwapError {
  double max_rel = 0, mean_rel = 0;
};
NORMLENS_FIELDS(SwapError, max_rel, mean_rel)

enum class ProbedKind : uint8_t { LayerNorm, RmsNorm };
NORMLENS_NAMES(ProbedKind, "LayerNorm", "RMSNorm")

struct ProbeRow {
  std::string name, title;  // In a fold: those of the norm of the open model that it replaces, where that is so.
  ProbedKind kind = ProbedKind::LayerNorm;
  int norm = -1;       // index of the open model's LayerNorm; -1: an RMSNorm of its own
  int node = -1;       // A node of the probed model.
  int64_t width = 0;   // numbers in a row
  std::string reason;  // why there are no figures; empty: there are
  SideAngles input, output;
  RandomAngles random;
  // The angle of the output before gamma and beta: a right one for a LayerNorm, that of its input for an RMSNorm.
  double bare_angle_deg = 0, bare_angle_std = 0;
  AngleCounts input_angles, output_angles, random_angles;  // behind the means and spreads above
  std::optional<SwapError> swap;                           // Set for a LayerNorm.
  std::string swap_reason;                                 // why it is absent where it could be there
};
NORMLENS_FIELDS(ProbeRow, name, title, kind, norm, node, width, reason, input, output, random, bare_angle_deg,
                bare_angle_std, input_angles, output_angles, random_angles, swap, swap_reason)

struct ProbeResult {
  std::string dtype;                  // that the model was run in; the figures are float64
  std::string note;                   // about that type, where the runtime computes in another: a sentence; or empty
  std::vector<ProbeRow> rows;         // in execution order
  bool paired = true;                 // A fold's norms replace the open model's one for one.
  std::vector<std::string> findings;  // the figures' meaning, in sentences made of them, without full stops
};
NORMLENS_FIELDS(ProbeResult, dtype, note, rows, paired, findings)

// ---- probe_swaps: ProbeSwapsParams -> ProbeSwaps. By how much the open model's outputs change, in its own type, where
// an RMSNorm takes the place of one LayerNorm after the other, as it is, then of all at once. A run for each, at least.
struct ProbeSwapsParams {
  bool fold_first = false;  // also where its zero mean is made first, of the LayerNorms that fold free
  double hardly = 3e-2;     // a swap that changes no output by more is hardly noticed
  std::string dtype{};      // as ProbeParams::dtype
};
NORMLENS_FIELDS(ProbeSwapsParams, fold_first, hardly, dtype)

// The outputs' reaction to a swap.
enum class Notices : uint8_t {
  Nothing,  // they change by no more than rounding
  Hardly,   // ... by less than ProbeSwapsParams::hardly
  Yes,
};
NORMLENS_NAMES(Notices, "nothing", "hardly", "yes")

struct ProbeSwap {
  int norm = 0;          // index of the LayerNorm
  ForcedError as_it_is;  // simulated: this norm alone
  std::optional<ForcedError> folded;
  std::optional<Notices> notices;  // to as_it_is; nullopt: it could not be measured
};
NORMLENS_FIELDS(ProbeSwap, norm, as_it_is, folded, notices)

struct ProbeSwaps {
  std::string dtype;
  double hardly = 0;                  // as in the params
  std::vector<ProbeSwap> swaps;       // in the order of the LayerNorms
  std::optional<ForcedError> all;     // as they are, at once; where there are several
  std::vector<std::string> findings;  // as in ProbeResult
  bool cancelled = false;             // The rows measured until then are here.
};
NORMLENS_FIELDS(ProbeSwaps, dtype, hardly, swaps, all, findings, cancelled)

}  // namespace normlens::protocol

// Comparing two models on the same inputs, and looking at the tensors behind one row of that. As messages.h in every
// other respect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::protocol {

// ---- diff: DiffParams -> DiffResult. The open model against another one, in one floating type; one request for each.
struct DiffParams {
  std::string against;  // a file; empty: the last folded model, proved or not
  std::string dtype;    // float64, float32, float16, bfloat16; empty: each model as it is
  int batches = 1;      // the first: the model's inputs as they were set; others drawn like them
  int64_t seed = 1;
  std::vector<int> values;  // ids of values to be compared besides outputs and LayerNorms
};
NORMLENS_FIELDS(DiffParams, against, dtype, batches, seed, values)

struct DiffRow {
  SiteKind kind = SiteKind::Output;
  std::string name;  // Names the output, the LayerNorm or the value.
  int norm = -1;     // index of the LayerNorm
  int value = -1;    // id; -1 for an output
  int node = -1;     // that makes the value
  int output = -1;   // index
  int step = 0;      // place of that node in the execution order
  int depth = 0;     // ops on the longest path from the inputs
  std::vector<int64_t> shape;
  std::string dtype;
  Alignment aligned = Alignment::None;
  int batch = 0;  // the worst one; the figures are of it
  double max_abs = 0, max_rel = 0, mean_abs = 0, cosine = 1;
  std::vector<int64_t> worst_index;  // where they are farthest apart; empty: nowhere, or of a scalar
  double worst_a = 0, worst_b = 0;   // the elements there
  std::vector<int64_t> ulps;  // elements by distance: 0, 1, 2, 3-4, 5-8 ... units in the last place; empty: no floats
  double max_ulp = 0;
  // The error that the open model has from its type alone: max_rel against its float64 copy; in float64, against a copy
  // whose weights are off by up to half a unit in the last place, against a file of that file's type.
  std::optional<double> rounding;
  std::optional<double> top1, top5;  // shares of agreement, over all batches; of outputs like logits
};
NORMLENS_FIELDS(DiffRow, kind, name, norm, value, node, output, step, depth, shape, dtype, aligned, batch, max_abs,
                max_rel, mean_abs, cosine, worst_index, worst_a, worst_b, ulps, max_ulp, rounding, top1, top5)

struct DiffResult {
  std::string dtype;
  std::string note;             // Explains the figures where they are not about the type itself.
  std::string error;            // why there are none in this type; the others may be done all the same
  std::vector<DiffRow> rows;    // norms and values by step, then outputs
  int batches = 0;              // that ran
  std::string norms_reason;     // why only outputs were compared
  std::string first_diverging;  // name of a LayerNorm; empty
};
NORMLENS_FIELDS(DiffResult, dtype, note, error, rows, batches, norms_reason, first_diverging)

// ---- forced_error: ForcedErrorParams -> ForcedError. By how much the open model's outputs change, in one floating
// type, where one LayerNorm is folded whatever its verdict: what can be centered for it in the file is, nothing is at
// run time, and the others stay as they are. The last fold stays, too. Request type by type: a type's copy of the model
// is kept.
struct ForcedErrorParams {
  int norm = 0;
  std::string dtype;
  bool as_it_is = false;  // nothing is centered: an RMSNorm takes its place. norm may be kAllNorms then
};
NORMLENS_FIELDS(ForcedErrorParams, norm, dtype, as_it_is)
inline constexpr int kAllNorms = -1;  // at once

struct ForcedError {
  int norm = 0;
  std::string dtype;
  std::string error;  // why there is no figure; the other types may have one
  double max_rel =
      0;  // on the inputs that were set, of the output that differs most of those above their limits, else of all
  double limit = 0;  // That output's: six times the noise floor, as in a proof.
};
NORMLENS_FIELDS(ForcedError, norm, dtype, error, max_rel, limit)

// ---- tensor_pair: TensorPairParams -> TensorPair. A piece of both tensors of one row and of their difference.
// Seen as a matrix: the last axis across, all others down.
struct TensorTile {
  int64_t row = 0, rows = -1;  // negative: all that follow
  int64_t column = 0, columns = -1;
};
NORMLENS_FIELDS(TensorTile, row, rows, column, columns)

struct TensorPairParams {
  std::string against, dtype;  // as in DiffParams
  int64_t seed = 1;
  int batch = 0;
  SiteKind kind = SiteKind::Output;  // as in DiffRow, which defines the next two as well
  int value = -1, output = -1;
  TensorTile tile;
};
NORMLENS_FIELDS(TensorPairParams, against, dtype, seed, batch, kind, value, output, tile)

struct TensorPair {
  std::string name, dtype;
  Alignment aligned = Alignment::None;
  std::vector<int64_t> shape;
  int64_t rows = 0, columns = 0;  // The whole matrix has as many.
  TensorTile tile;                // The part of it that is shown.
  int heat_rows = 0, heat_columns = 0;
  std::vector<double> a, b;        // means of the cells, row by row
  std::vector<double> difference;  // the largest |a - b| in each cell
  double low = 0, high = 0;        // Bound the cells of a and b.
  double most = 0;                 // the largest finite difference
};
NORMLENS_FIELDS(TensorPair, name, dtype, aligned, shape, rows, columns, tile, heat_rows, heat_columns, a, b, difference,
                low, high, most)

}  // namespace normlens::protocol

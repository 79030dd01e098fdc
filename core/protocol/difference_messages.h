// Comparing two models on the same inputs, and looking at the tensors behind one row of that. As messages.h in every
// other respect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/fields.h"

namespace normlens::protocol {

namespace methods {
inline constexpr std::string_view kDiff = "diff";               // DiffParams -> DiffResult
inline constexpr std::string_view kTensorPair = "tensor_pair";  // TensorPairParams -> TensorPair
}  // namespace methods

// ---- diff: DiffParams -> DiffResult. The open model against another one, in one floating type; ask once for each.
struct DiffParams {
  std::string against;  // a file; empty: the last folded model, proved or not
  std::string dtype;    // float64, float32, float16, bfloat16; empty: each model as it is
  int batches = 1;      // the first: the model's inputs as they were set; others drawn like them
  int64_t seed = 1;
  std::vector<int> values;  // ids of values to be compared besides outputs and LayerNorms
};
struct DiffRow {
  std::string kind;  // output, norm_input, norm_output, value
  std::string name;  // of the output, the LayerNorm or the value
  int norm = -1;     // index of the LayerNorm
  int value = -1;    // id; -1 for an output
  int node = -1;     // that makes the value
  int output = -1;   // index
  int step = 0;      // place of that node in the execution order
  int depth = 0;     // ops on the longest path from the inputs
  std::vector<int64_t> shape;
  std::string dtype;
  std::string aligned;  // none; mean: it was taken out of both, the norm does not notice it; beta: added to the second
  int batch = 0;        // the worst one; the figures are of it
  double max_abs = 0, max_rel = 0, mean_abs = 0, cosine = 1;
  std::vector<int64_t> worst_index;  // where they are farthest apart; empty: nowhere, or of a scalar
  double worst_a = 0, worst_b = 0;   // the elements there
  std::vector<int64_t> ulps;  // elements by distance: 0, 1, 2, 3-4, 5-8 ... units in the last place; empty: no floats
  double max_ulp = 0;
  std::optional<double> rounding;    // what the open model loses by the type alone: max_rel against its float64 copy
  std::optional<double> top1, top5;  // shares of agreement, over all batches; of outputs like logits
};
struct DiffResult {
  std::string dtype;
  std::string note;             // what the figures are about where that is not the type itself
  std::string error;            // why there are none in this type; the others may be done all the same
  std::vector<DiffRow> rows;    // norms and values by step, then outputs
  int batches = 0;              // that ran
  std::string norms_reason;     // why only outputs were compared
  std::string first_diverging;  // name of a LayerNorm; empty
};

// ---- tensor_pair: TensorPairParams -> TensorPair. A piece of both tensors of one row and of their difference.
// Seen as a matrix: the last axis across, all others down.
struct TensorTile {
  int64_t row = 0, rows = -1;  // negative: all that follow
  int64_t column = 0, columns = -1;
};
struct TensorPairParams {
  std::string against, dtype;  // as in DiffParams
  int64_t seed = 1;
  int batch = 0;
  std::string kind;  // as in DiffRow, which tells the next two as well
  int value = -1, output = -1;
  TensorTile tile;
};
struct TensorPair {
  std::string name, dtype, aligned;
  std::vector<int64_t> shape;
  int64_t rows = 0, columns = 0;  // of the whole matrix
  TensorTile tile;                // what of it is shown
  int heat_rows = 0, heat_columns = 0;
  std::vector<double> a, b;        // means of the cells, row by row
  std::vector<double> difference;  // the largest |a - b| in each cell
  double low = 0, high = 0;        // of the cells of a and b
  double most = 0;                 // the largest finite difference
};

#define NORMLENS_FIELD(name) \
  Field { #name, &M::name }

template <>
struct FieldsOf<DiffParams> {
  using M = DiffParams;
  static constexpr std::tuple list{NORMLENS_FIELD(against), NORMLENS_FIELD(dtype), NORMLENS_FIELD(batches),
                                   NORMLENS_FIELD(seed), NORMLENS_FIELD(values)};
};

template <>
struct FieldsOf<DiffRow> {
  using M = DiffRow;
  static constexpr std::tuple list{
      NORMLENS_FIELD(kind),        NORMLENS_FIELD(name),     NORMLENS_FIELD(norm),     NORMLENS_FIELD(value),
      NORMLENS_FIELD(node),        NORMLENS_FIELD(output),   NORMLENS_FIELD(step),     NORMLENS_FIELD(depth),
      NORMLENS_FIELD(shape),       NORMLENS_FIELD(dtype),    NORMLENS_FIELD(aligned),  NORMLENS_FIELD(batch),
      NORMLENS_FIELD(max_abs),     NORMLENS_FIELD(max_rel),  NORMLENS_FIELD(mean_abs), NORMLENS_FIELD(cosine),
      NORMLENS_FIELD(worst_index), NORMLENS_FIELD(worst_a),  NORMLENS_FIELD(worst_b),  NORMLENS_FIELD(ulps),
      NORMLENS_FIELD(max_ulp),     NORMLENS_FIELD(rounding), NORMLENS_FIELD(top1),     NORMLENS_FIELD(top5)};
};

template <>
struct FieldsOf<DiffResult> {
  using M = DiffResult;
  static constexpr std::tuple list{
      NORMLENS_FIELD(dtype),   NORMLENS_FIELD(note),         NORMLENS_FIELD(error),          NORMLENS_FIELD(rows),
      NORMLENS_FIELD(batches), NORMLENS_FIELD(norms_reason), NORMLENS_FIELD(first_diverging)};
};

template <>
struct FieldsOf<TensorTile> {
  using M = TensorTile;
  static constexpr std::tuple list{NORMLENS_FIELD(row), NORMLENS_FIELD(rows), NORMLENS_FIELD(column),
                                   NORMLENS_FIELD(columns)};
};

template <>
struct FieldsOf<TensorPairParams> {
  using M = TensorPairParams;
  static constexpr std::tuple list{NORMLENS_FIELD(against), NORMLENS_FIELD(dtype), NORMLENS_FIELD(seed),
                                   NORMLENS_FIELD(batch),   NORMLENS_FIELD(kind),  NORMLENS_FIELD(value),
                                   NORMLENS_FIELD(output),  NORMLENS_FIELD(tile)};
};

template <>
struct FieldsOf<TensorPair> {
  using M = TensorPair;
  static constexpr std::tuple list{NORMLENS_FIELD(name),  NORMLENS_FIELD(dtype),     NORMLENS_FIELD(aligned),
                                   NORMLENS_FIELD(shape), NORMLENS_FIELD(rows),      NORMLENS_FIELD(columns),
                                   NORMLENS_FIELD(tile),  NORMLENS_FIELD(heat_rows), NORMLENS_FIELD(heat_columns),
                                   NORMLENS_FIELD(a),     NORMLENS_FIELD(b),         NORMLENS_FIELD(difference),
                                   NORMLENS_FIELD(low),   NORMLENS_FIELD(high),      NORMLENS_FIELD(most)};
};

#undef NORMLENS_FIELD

}  // namespace normlens::protocol

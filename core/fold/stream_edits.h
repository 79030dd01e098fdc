// The edits that make a zero-mean stream of d channels narrower: the last channel is minus the sum of the others, so
// it need not be kept. Source: paper 003 (Pre-CRMSNorm), sections 2.3 and 3.2; docs/method.md 9.
//
// They rely on the edits of a fold that make every value of the stream zero-mean, come after those, and hold only all
// together. Thread: value types.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"

namespace normlens::fold {

// d channels of which the first d - 1 are kept, with zeros behind them up to `width`.
struct Channels {
  int64_t full = 0;   // d, at least 2
  int64_t width = 0;  // The narrow stream's: d - 1, or more where it is padded.

  [[nodiscard]] int64_t kept() const { return full - 1; }
  bool operator==(const Channels&) const = default;
};

// A tensor of the stream, or that makes one (rows of a linear's weight, columns of a table), for these reads.
struct NarrowConstant {
  graph::ConstantId constant = graph::kNone;
  int dim = 0;  // axis of the constant that the channels are
  graph::Uses uses;
  Channels channels;
};

// These reads of a zero-mean value see its kept channels; or, of a narrow one, all d of them.
struct RewriteReads {
  graph::ValueId value = graph::kNoValue;
  int axis = 0;  // The value's axis that the channels lie along.
  graph::Uses uses;
  Channels channels;
  bool restores = false;
};

// A view or broadcast whose result is narrow along that axis; or a size query of a narrow value, which returns d.
struct ResizeAxis {
  graph::NodeId node = graph::kNone;
  int axis = 0;
  Channels channels;
};

// A linear that reads the norm of a narrow stream: W'[.., i] = W[.., i] gamma_i - W[.., d] gamma_d.
struct ReadNarrow {
  graph::ConstantId weight = graph::kNone;
  int inputDim = 0;  // axis of the weight that is summed
  graph::Uses uses;
  graph::Use gamma;  // the norm's read of it; no node: there is none
  Channels channels;
};

// The norm is y = x / sqrt((sum(x^2) + sum(x)^2) / d + eps) of the narrow x, without gamma and beta.
struct NarrowNorm {
  int norm = 0;  // index in analysis::Analysis::norms; no ReplaceNorm of the plan has it
  Channels channels;
};

// Lists what is narrow after all of them: for who looks at the result.
struct NarrowValue {
  graph::ValueId value = graph::kNoValue;
  int axis = 0;
  Channels channels;
};

struct StreamEdits {
  std::vector<NarrowConstant> constants;
  std::vector<RewriteReads> reads;
  std::vector<ResizeAxis> sizes;
  std::vector<ReadNarrow> readers;
  std::vector<NarrowNorm> norms;
  std::vector<NarrowValue> values;  // The stream's, and those from narrow norms to the linears that read them.

  [[nodiscard]] bool empty() const { return constants.empty() && reads.empty() && norms.empty(); }
};

}  // namespace normlens::fold

// The edits that make a zero-mean stream x of d channels narrower. In an orthonormal basis whose last vector is 1/√d
// the last coordinate of x is 0 and is not kept. The basis is that of the Householder reflection H = I - 2 u uᵀ / uᵀu
// with u = 1/√d - e_d, which is its own transpose:
//   (H x)_i = x_i + shift,  shift = x_d / √d - (x_1 + ... + x_{d-1}) / (d - √d),  i < d
// The narrow stream is z = s H x without the last, s = sqrt(width / d): the mean square of z over `width` numbers is
// that of x over d, so that LayerNorm(x) is H RMSNorm(z) / s with the same eps. Source: paper 003 (Pre-CRMSNorm),
// sections 2.3 and 3.2, in another basis; docs/method.md 9.
//
// They rely on the edits of a fold that make every value of the stream zero-mean, come after those, and hold only all
// together. Thread: value types.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/graph/graph.h"

namespace normlens::fold {

// d channels of which d - 1 coordinates are kept, with zeros behind them up to `width`.
struct Channels {
  int64_t full = 0;   // d, at least 2
  int64_t width = 0;  // The narrow stream's: d - 1, or more where it is padded.

  [[nodiscard]] int64_t kept() const { return full - 1; }
  [[nodiscard]] double scale() const { return std::sqrt(static_cast<double>(width) / static_cast<double>(full)); }
  // The factors of `shift`: of the last channel, and of the sum of the others.
  [[nodiscard]] double ofLast() const { return 1 / std::sqrt(static_cast<double>(full)); }
  [[nodiscard]] double ofOthers() const { return ofLast() / (1 - std::sqrt(static_cast<double>(full))); }
  bool operator==(const Channels&) const = default;
};

// A tensor for these reads. One of the stream, or that makes one (rows of a linear's weight, columns of a table), is
// multiplied by s H; it need not be zero-mean: H takes the mean to the coordinate that goes. The weight of a linear
// that reads a norm of the stream is multiplied by diag(gamma) H / s.
struct NarrowConstant {
  graph::ConstantId constant = graph::kNone;
  int dim = 0;  // axis of the constant that the channels are
  graph::Uses uses;
  Channels channels;
  bool readsNorm = false;
  graph::Use gamma{};  // the norm's read of it; no node: there is none
};

// These reads of a zero-mean value see z; or, of a z, all d channels of x.
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

// The norm is an RMSNorm of `width` numbers with the same eps, without gamma and beta.
struct NarrowNorm {
  int norm = 0;  // index in analysis::Analysis::norms
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
  std::vector<NarrowNorm> norms;
  std::vector<NarrowValue> values;  // The stream's, and those from narrow norms to the linears that read them.

  [[nodiscard]] bool empty() const { return constants.empty() && reads.empty() && norms.empty(); }
};

}  // namespace normlens::fold

// The verb fuse: norms that are written out in several ops, and residual adds with the norms behind them, as one op
// each, with nothing folded.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/formats/model.h"
#include "core/protocol/messages.h"

namespace normlens::service {

struct Fusing {
  int norms = 0;                          // LayerNorms and RMSNorms of the model
  std::vector<std::string> joined;        // names of those that were written out in several ops and are one now
  std::vector<std::string> fused;         // names of those that took their add in
  std::unique_ptr<formats::Model> model;  // nullptr where nothing was fused
  std::optional<protocol::VerifyResult> verify;
  bool ok = false;     // proved, or not to be verified
  std::string reason;  // why not
  double fuse_ms = 0;
};

// `model` has been probed with `inputs`. Proved as a fold is: in float64, and in the file's own type. Thread: one.
// Errors: Unsupported where the format has no such op, or it cannot be called here.
[[nodiscard]] Result<Fusing> fuseNorms(const formats::Model& model, const formats::Tensors& inputs, bool verify,
                                       const Task& task);

}  // namespace normlens::service

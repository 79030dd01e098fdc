// Does what a format can beside folding: writes a norm that is written out in several ops as one op, and a residual add
// and the norm behind it as one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/base/result.h"
#include "core/base/task.h"

namespace normlens::formats {

class Model;

struct FusedModel {
  std::unique_ptr<Model> model;    // may be null where nothing was done
  std::vector<std::string> fused;  // names of the norms that it was done to; empty: the model is as it was
};

// Implemented by the models of a format that has such ops. LayerNorms and RMSNorms stay what they are, and keep their
// names. `norms`: analysis::findNorms of the model's graph, after its probe, or some of them. Errors: Unsupported where
// the ops cannot be called here. Thread: as Model's functions.
class NormFuser {
 public:
  virtual ~NormFuser() = default;

  // Norms that are written out become one op each. What cannot is left alone.
  [[nodiscard]] virtual Result<FusedModel> joinNorms(const analysis::Norms& norms, const Task& task) const = 0;
  // Norms that are one op take the residual add before them in.
  [[nodiscard]] virtual Result<FusedModel> fuseNorms(const analysis::Norms& norms, const Task& task) const = 0;
};

}  // namespace normlens::formats

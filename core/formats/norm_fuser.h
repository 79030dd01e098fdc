// What a format can do beside folding: write a residual add and the norm behind it as one op.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/analysis/norms.h"
#include "core/base/result.h"
#include "core/base/task.h"

namespace normlens::formats {

class Model;

struct FusedModel {
  std::unique_ptr<Model> model;
  std::vector<std::string> fused;  // names of the norms that took their add in; empty: the model is as it was
};

// Implemented by the models of a format that has such an op.
class NormFuser {
 public:
  virtual ~NormFuser() = default;

  // LayerNorms and RMSNorms stay what they are. `norms`: analysis::findNorms of the model's graph, after its probe.
  // Errors: Unsupported where the op cannot be called here. Thread: as Model's functions.
  [[nodiscard]] virtual Result<FusedModel> fuseNorms(const analysis::Norms& norms, const Task& task) const = 0;
};

}  // namespace normlens::formats

// The geometry probe: one model on sets of inputs, and of each of its LayerNorms and RMSNorms where the vectors that
// go in and come out point. Paper 002; what is measured of a vector: core/base/geometry, over the rows:
// norm_geometry.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/base/task.h"
#include "core/formats/model.h"
#include "core/run/geometry/norm_geometry.h"

namespace normlens::run {

struct NormGeometry {
  std::string name, title;  // title: to be read, see analysis::LayerNorm
  bool layerNorm = true;    // false: an RMSNorm
  int index = -1;           // The LayerNorm's.
  graph::NodeId node = graph::kNone;
  std::vector<int64_t> axes;  // Of its input (by groups) that it is taken over; empty: not known.
  std::string reason;      // why there are no figures: these inputs do not come by it, no floats ...; empty: there are
  InputGeometry input;     // Describes the input, over the norm's axes.
  SideGeometry output;     // gamma and beta in it, also where they are ops of their own right behind it
  std::string swapReason;  // a LayerNorm's, where input.swap could not be computed
};

// Lists the norms without any figures, in execution order.
[[nodiscard]] std::vector<NormGeometry> listNorms(const graph::Graph& graph,
                                                  const std::vector<analysis::LayerNorm>& norms);

struct ProbeOptions {
  uint64_t seed = 0;  // Draws the control vectors.
  // The norms of the model that this one is a fold of. Nobody has run a fold for its shapes: where there are as many
  // norms, each has the axes of the one that it replaces.
  const std::vector<NormGeometry>* foldOf = nullptr;
};
// The same with figures, over as many sets of inputs as there are: each is run, its rows are counted, and nothing of it
// is kept. A norm inside a larger op, whose own input nobody sees, has a reason and no figures. `norms`: the model's
// LayerNorms as they were found after its probe. The model outlives the probe. Thread: one per model.
class NormProbe {
 public:
  NormProbe(const formats::Model& model, const std::vector<analysis::LayerNorm>& norms, const ProbeOptions& options);
  ~NormProbe();
  NormProbe(const NormProbe&) = delete;
  NormProbe& operator=(const NormProbe&) = delete;
  // Errors: the model fails, Cancelled; the probe is of no use then.
  [[nodiscard]] Status add(const formats::Tensors& inputs, const Task& task);
  [[nodiscard]] std::vector<NormGeometry> take() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace normlens::run

// Which norms get an input that is zero-mean for every input of the model, with its weights as they are: what a fold
// has to leave behind, whoever made it. The same claims as of a plan; those on weights hold where their means are zero.
//
// Thread: pure function.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/analysis/claims/claims.h"

namespace normlens::analysis {

struct HeldMean {
  bool isZero = false;
  std::string reason;                       // why not, in words: of the claim that the rest follows from
  std::vector<graph::ConstantId> centered;  // Lists the weights that the zero mean rests on.
};

struct HeldMeans {
  Claims claims;
  std::vector<HeldMean> norms;
};

// `norms`: RMSNorms of the graph, which has shapes. tolerance: what a mean may be of the mean magnitude in its group,
// in a weight of this type. Errors: Cancelled, Unsupported.
[[nodiscard]] Result<HeldMeans> heldMeans(const graph::Graph& graph, const std::vector<NormParts>& norms,
                                          const std::function<double(graph::DType)>& tolerance, const Task& task);

}  // namespace normlens::analysis

// Places of one model that can be compared with another one: the inputs and outputs of its LayerNorms, and any value.
//
// A fold changes some of them on purpose: what flows into a folded norm differs by a mean over the norm's axes, which
// the norm does not notice, and a norm whose gamma and beta moved into the layers behind it lacks these. So a pair of
// tensors is compared as it is, and where that is much worse, with the mean taken out of both, or with beta, or both
// gamma and beta, given to the second: Alignment records which. Thread: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/run/compare/capture.h"
#include "core/run/compare/diff.h"

namespace normlens::run {

using normlens::Alignment;
using normlens::SiteKind;

struct Site {
  SiteKind kind = SiteKind::Value;
  std::string name;  // Names the norm, or the value.
  int norm = -1;     // index of the LayerNorm, of its input and output
  graph::ValueId value = graph::kNoValue;
  int step = 0;                          // place of the value's producer in the execution order; 0: none has it
  int depth = 0;                         // ops on the longest path from the model's inputs to the value
  std::vector<int64_t> axes;             // over which a mean may be taken out; empty: none may
  int64_t groups = 1;                    // equal parts of the elements along them, each with a mean of its own
  graph::TensorView gamma, beta;         // that may have moved; no data: there is none
  std::vector<graph::ValueId> partners;  // values of the other model that may correspond to it
};

// A norm's partner is the value of the same name, else the norm (LayerNorm or RMSNorm, written out or not) of the same
// rank where both graphs have equally many; where beta was split off, the sum that adds it counts as the norm's output,
// and where gamma was a multiplication behind it, the product. A value's partner has its name. A name that is a number,
// or of several values, counts only where the same op made both. Sites without a partner are left out. In execution
// order.
[[nodiscard]] std::vector<Site> normSites(const graph::Graph& a, const std::vector<analysis::LayerNorm>& norms,
                                          const graph::Graph& b);
[[nodiscard]] std::vector<Site> valueSites(const graph::Graph& a, const std::vector<graph::ValueId>& values,
                                           const graph::Graph& b);

// Returns sites of these values of `a`: outputs of its norms as normSites() has them, all others as valueSites() has
// them.
[[nodiscard]] std::vector<Site> sitesOf(const graph::Graph& a, const std::vector<analysis::LayerNorm>& norms,
                                        const std::vector<graph::ValueId>& values, const graph::Graph& b);

// The site's tensors, made comparable.
struct SitePair {
  graph::TensorView a, b;
  Alignment alignment = Alignment::None;
  TensorDiff diff;
};
// The best partner; nullopt: it was not reached on both sides, or nothing fits it.
[[nodiscard]] std::optional<SitePair> bestPair(const Site& site, const Captured& ofA, const Captured& ofB);

// Returns what another run of the first model made of the site, aligned like the first tensor of such a pair; nullopt:
// it was not reached.
[[nodiscard]] std::optional<graph::TensorView> comparable(const Site& site, const Captured& ofA, Alignment alignment);

}  // namespace normlens::run

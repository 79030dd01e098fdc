// From claims to edits: which tensors to center, where a run-time centering pays, which norms then fold.
//
// One minimum cut decides for the whole model at once. Two nodes for each claim c: raw(c) "the value as it is made" and
// tol(c) "the value as its tolerant readers see it". Source = not zero-mean.
//    source -> raw(c)          uncuttable, where nothing promises c (or its edit would be noticed)
//    raw(c) -> tol(c)          the price of a run-time centering, or of a copy of a constant; to drop c costs nothing
//    tol(n) or raw(n) -> raw(c) uncuttable, for each need n of c, by whether the reader is tolerant
//    tol(root) -> norm -> sink  what folding the norm saves
// The flow is the proof that no other set of edits is better. docs/method.md 7.
//
// Prices are per element. Unless measured ones are given, folding a norm over n elements saves n and a centering of n
// costs a shade more: verdicts are made of these, so that they do not move from machine to machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/analysis/claims/claims.h"
#include "core/analysis/norms/norms.h"
#include "core/base/index_ranges.h"
#include "core/fold/plan.h"
#include "core/graph/graph.h"

namespace normlens::analysis {

// Minimum s-t cut with integer capacities; Boost's Boykov-Kolmogorov maximum flow underneath.
class FlowNetwork {
 public:
  // Larger than any sum of finite capacities used here.
  static constexpr int64_t kUncuttable = int64_t{1} << 56;

  explicit FlowNetwork(int nodes) : nodes_(nodes) {}
  // Its index among the edges.
  size_t connect(int from, int to, int64_t capacity) {
    edges_.push_back({static_cast<uint32_t>(from), static_cast<uint32_t>(to), capacity});
    return edges_.size() - 1;
  }

  struct Cut {
    int64_t flow = 0;              // = capacity of the cut: the proof that it is minimal
    std::vector<bool> onSinkSide;  // the least sink side: on a tie a node stays with the source
    std::vector<int64_t> flows;    // One for each edge.
  };
  [[nodiscard]] Cut solve(int source, int sink) const;

 private:
  struct Edge {
    uint32_t from, to;
    int64_t capacity;
  };
  int nodes_;
  std::vector<Edge> edges_;
};

using normlens::Policy;

// Prices one element of a norm's input at run time, in any unit. centering > folding > 0: a centering for a single norm
// never pays, and a fold that needs none is always taken.
struct ElementPrices {
  int64_t folding = 1000;
  int64_t centering = 1001;
  bool inPicoseconds = false;
};
// Converts measured times in microseconds, for tensors of as many elements, to picoseconds for each.
[[nodiscard]] ElementPrices elementPrices(double layerNorm, double rmsNorm, double centering, int64_t elements);

struct PlanOptions {
  Policy policy = Policy::Balanced;
  double maxGrowthPercent = 10;              // Relates to the constants' bytes; Balanced only.
  std::vector<graph::ValueId> centerValues;  // the user wants these centered at run time: they cost nothing more
  std::vector<int> keepNorms;                // not to be folded
  ElementPrices prices{};                    // Balanced only
  bool moveShifts = true;                    // makePlan: false where the norm that replaces LN adds beta for nothing
  bool foldGains = false;                    // makePlan: the gamma of each RMSNorm goes into the linears behind it
  bool carryMeans = false;                   // makePlan: streams may keep their mean beside them, carried_means.h
  // Constants that get a centered copy wherever one frees a norm: it costs nothing, and no growth is counted for it.
  std::vector<graph::ValueId> copyValues = {};
  // Not to be edited: a constant stays as it is, for all its readers (unless copyValues names it, too: a copy leaves
  // the original alone); any other value is neither centered at run time nor dropped. What needs it may be centered
  // behind.
  std::vector<graph::ValueId> keepValues = {};
  // Takes for zero-mean what nothing makes so: norms fold against their verdicts, and the model's outputs change. To
  // measure by how much.
  bool trusting = false;
};

[[nodiscard]] int64_t bytesOfConstants(const graph::Graph& graph);

// Names what a claim's cut means.
enum class CutKind : uint8_t { None, Centering, Copy, Drop };

// The edits that one claim stands for, and who needs them.
struct PlannedEdit {
  fold::Edit edit;
  ClaimId claim = graph::kNone;
  IndexRanges frees;       // norms
  int64_t bytes = 0;       // Counts the tensors that are rewritten.
  int64_t bytesGrown = 0;  // By copies.
};

struct Plan {
  Policy policy = Policy::Balanced;
  std::vector<PlannedEdit> edits;  // in the order in which they are applied
  std::vector<int> folded;
  int64_t bytesGrown = 0;
  int centerings = 0;
  // Saved elements by which the best plan could still be better; 0: proved best.
  double gap = 0;
};

// Shows what the minimum cut of a plan is made of, as far as run-time centerings decide; amounts as prices have them.
struct CutPicture {
  // A value whose mean could be taken away at run time, and which norms that mean reaches.
  struct Centering {
    graph::ValueId value = graph::kNoValue;
    int64_t price = 0, flow = 0;
    bool cut = false;
    IndexRanges norms;  // listed for the first `described` centerings by their flow
  };
  struct Saving {
    int norm = 0;
    int64_t saving = 0, flow = 0;
    bool freed = false;
  };
  std::vector<Centering> centerings;  // where a mean comes in that nothing centers in the file, and where the cut goes
  std::vector<Saving> savings;        // Norms that only such a mean keeps from folding, or would.
};

class Planner {
 public:
  // All three outlive the planner. `scales` are the edits of absorbScales(), on whose graph the claims were built.
  Planner(const graph::Graph& graph, const std::vector<LayerNorm>& norms, const Claims& claims,
          const std::vector<fold::AbsorbScale>& scales);

  [[nodiscard]] Plan plan(const PlanOptions& options) const;
  // Shows the cut that plan(wanted) makes, with the copies that it makes there already.
  [[nodiscard]] CutPicture cutPicture(const PlanOptions& wanted, size_t described) const;
  // Norms of which something is claimed: no plan folds more.
  [[nodiscard]] size_t candidates() const;

 private:
  struct Prices {
    int64_t perCenteredElement = 0;  // 0: centering is not to be had
    int64_t perCopiedByte = 0;
    int64_t perFoldedElement = 0;
  };
  struct Network {
    FlowNetwork flow;
    int source = 0, sink = 0;
    std::vector<int64_t> prices;  // by claim, of raw(c) -> tol(c)
    // Indices of edges: by claim raw(c) -> tol(c), by norm that to the sink; nullopt: no plan folds it.
    std::vector<size_t> cutEdges;
    std::vector<std::optional<size_t>> normEdges;
    int64_t possible = 0;  // All norms together save it.
  };
  struct Solution {
    std::vector<CutKind> cuts;  // by claim
    std::vector<bool> good;     // by claim: raw(c) is zero-mean after the edits
    std::vector<bool> folded;   // by norm
    int64_t flow = 0;
    int64_t bytesGrown = 0;
    int64_t value = 0;  // saved minus spent, copies not counted
  };

  [[nodiscard]] static Prices pricesOf(const PlanOptions& options);
  [[nodiscard]] CutKind cutKindOf(const Claim& claim) const;
  [[nodiscard]] CutKind cutKind(ClaimId id) const { return cutKinds_[static_cast<size_t>(id)]; }
  [[nodiscard]] int64_t cutPrice(ClaimId id, const Prices& prices, const PlanOptions& options) const;
  [[nodiscard]] int64_t constantBytes(const Claim& claim) const;
  [[nodiscard]] int64_t copyPrice(const Claim& claim, const Prices& prices, const PlanOptions& options) const;
  // Nothing makes the value itself zero-mean; a cut may for its tolerant readers.
  [[nodiscard]] static bool staysAsMade(const Claim& claim, const PlanOptions& options);
  [[nodiscard]] Network networkOf(const Prices& prices, const PlanOptions& options) const;
  [[nodiscard]] Solution solve(const Prices& prices, const PlanOptions& options) const;
  [[nodiscard]] Solution solutionOf(const Network& network, const FlowNetwork::Cut& cut,
                                    const PlanOptions& options) const;
  [[nodiscard]] Solution solveWithinGrowth(const PlanOptions& options, double& gap) const;
  void propagate(Solution& solution, const PlanOptions& options) const;
  [[nodiscard]] bool holds(const Solution& solution, int norm) const;
  [[nodiscard]] int64_t unaffordableByte(const Prices& prices) const;
  void collectScaled();
  [[nodiscard]] PlanOptions keepingWhatIsScaledTogether(PlanOptions options) const;
  struct Decision {
    PlanOptions options;  // with the norms that others' edits would spoil kept
    Solution solution;
    Plan plan;
  };
  [[nodiscard]] Decision decide(const PlanOptions& options) const;
  [[nodiscard]] Plan assemble(const Solution& solution) const;
  [[nodiscard]] std::vector<IndexRanges> neededBy(const Solution& solution) const;

  const graph::Graph& graph_;
  const std::vector<LayerNorm>& norms_;
  const Claims& claims_;
  const std::vector<fold::AbsorbScale>& scales_;
  // These values lie between an absorbed scale and the tensors that take it in.
  std::set<graph::ValueId> scaled_;
  std::vector<int64_t> elements_;  // by norm: of its input
  std::vector<CutKind> cutKinds_;  // by claim: what can be done for its tolerant readers alone
};

}  // namespace normlens::analysis

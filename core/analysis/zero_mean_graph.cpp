#include <algorithm>
#include <map>
#include <set>

#include "core/analysis/explain.h"

namespace normlens::analysis {

using graph::Graph;
using graph::kNone;
using graph::NodeId;
using graph::ValueId;

namespace {

class Builder {
 public:
  Builder(const Analysis& analysis, int norm) : analysis_(analysis), graph_(analysis.scales.graph()), norm_(norm) {
    for (const size_t index : analysis.verdicts[static_cast<size_t>(norm)].centerings) {
      centered_.insert(analysis.best.edits[index].claim);
    }
    for (const PlannedEdit& planned : analysis.best.edits) {
      const bool drops = std::holds_alternative<fold::DropAddend>(planned.edit);
      if (drops && planned.frees.contains(norm)) dropped_.insert(planned.claim);
    }
  }

  ZeroMeanGraph run() {
    const LayerNorm& norm = analysis_.norms.layerNorms[static_cast<size_t>(norm_)];
    vertex(norm.node, 'N', "the norm");
    values_.insert(norm.input);
    const ClaimId root = analysis_.claims.root(norm_);
    if (root != kNone) {
      std::vector<ClaimId> queue{root};
      std::set<ClaimId> seen{root};
      while (!queue.empty()) {
        const ClaimId id = queue.back();
        queue.pop_back();
        for (const ClaimId next : visit(id)) {
          if (seen.insert(next).second) queue.push_back(next);
        }
      }
    }
    // The layer that could be centered, and may not, notes why.
    const auto& blocker = analysis_.verdicts[static_cast<size_t>(norm_)].blocker;
    for (ZeroMeanVertex& at : out_.vertices) {
      if (blocker && at.node == blocker->node && at.vertexClass != 'O') at.note = blocker->reason;
    }
    out_.values.assign(values_.begin(), values_.end());
    return std::move(out_);
  }

 private:
  // Returns the claims to go on with.
  std::vector<ClaimId> visit(ClaimId id) {
    const Claim& claim = analysis_.claims[id];
    const auto& value = graph_.value(claim.value);
    if (value.constant == kNone) values_.insert(claim.value);
    if (centered_.contains(id)) {
      if (value.producer != kNone) vertex(value.producer, 'A', "centered at run time");
      leaf(describeValue(graph_, claim.value) + ": centered at run time");
      return {};
    }
    if (dropped_.contains(id)) {
      if (value.producer != kNone) vertex(value.producer, 'Z', "constant along the channels: dropped");
      leaf(describeValue(graph_, claim.value) + ": dropped");
      return {};
    }
    switch (claim.kind) {
      case Claim::Kind::Constant:
      case Claim::Kind::Joint:
        leaf(graph_.constant(value.constant).name + (claim.tolerated() ? ": centered" : ": a centered copy"));
        return {};
      case Claim::Kind::Refused:
        if (value.producer != kNone) vertex(value.producer, 'O', "not zero-mean: " + claim.reason);
        leaf(describeValue(graph_, claim.value) + ": " + claim.reason);
        return {};
      case Claim::Kind::Proven:
        if (value.producer != kNone) vertex(value.producer, 'Z', "zero-mean already");
        return {};
      case Claim::Kind::Derived:
        break;
    }
    derived(claim);
    std::vector<ClaimId> next;
    for (const Need& need : claim.needs) next.push_back(need.claim);
    return next;
  }

  void derived(const Claim& claim) {
    const auto& value = graph_.value(claim.value);
    if (value.producer == kNone) return;
    const auto& node = graph_.node(value.producer);
    // A linear whose own weight is centered is a leaf; one that passes zero-mean values on is on the way.
    const bool byWeight = std::any_of(claim.needs.begin(), claim.needs.end(),
                                      [&](const Need& need) { return isWeight(analysis_.claims[need.claim].value); });
    char letter = static_cast<char>(ops::opRow(node.kind).vertexClass);
    if (letter == 'R' && byWeight) letter = 'S';  // adding a bias is no residual sum
    vertex(value.producer, letter, byWeight ? "its constants are centered" : "passes zero-mean values on");
  }

  [[nodiscard]] bool isWeight(ValueId id) const {
    for (int step = 0; step < 8; ++step) {
      const auto& value = graph_.value(id);
      if (value.constant != kNone) return true;
      if (value.producer == kNone || graph_.node(value.producer).kind != graph::OpKind::Permute) return false;
      id = graph_.node(value.producer).operands.at(0);
    }
    return false;
  }

  void vertex(NodeId node, char letter, std::string note) {
    if (seen_.insert(node).second) out_.vertices.push_back({node, letter, std::move(note)});
  }
  void leaf(std::string text) {
    if (std::find(out_.leaves.begin(), out_.leaves.end(), text) == out_.leaves.end())
      out_.leaves.push_back(std::move(text));
  }

  const Analysis& analysis_;
  const Graph& graph_;
  int norm_;
  std::set<ClaimId> centered_, dropped_;
  std::set<NodeId> seen_;
  std::set<ValueId> values_;
  ZeroMeanGraph out_;
};

}  // namespace

ZeroMeanGraph zeroMeanGraph(const Analysis& analysis, int norm) { return Builder(analysis, norm).run(); }

}  // namespace normlens::analysis

#include "core/analysis/claims/paper_criteria.h"

#include <algorithm>
#include <map>

#include "core/analysis/claims/reached.h"
#include "core/analysis/graph_names.h"

namespace normlens::analysis {

using ops::Pattern;

namespace {

// A claim on the way back from a norm, and the claims that it rests on.
struct Step {
  struct Next {
    int step;
    const graph::Uses* reads;  // They read the next claim's value, between the two.
  };
  ClaimId claim = kNone;
  SmallVector<Next, 2> next;
  bool leaf = false;
  bool opaque = false;             // Set for a leaf only.
  std::vector<ClaimId> constants;  // Set for a linear leaf only.
};

bool passesThrough(OpKind kind) {
  switch (kind) {
    case OpKind::Identity:
    case OpKind::Cast:
    case OpKind::Neg:
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Div:
    case OpKind::MaskedFill:
    case OpKind::Reshape:
    case OpKind::Permute:
    case OpKind::Rearrange:
    case OpKind::Expand:
    case OpKind::Slice:
    case OpKind::Select:
    case OpKind::Roll:
    case OpKind::Pad:
      return true;
    default:
      return false;
  }
}

// The zero-mean graphs of all norms in one, as the papers see them: part of the graph of claims.
class PaperBacktrack {
 public:
  PaperBacktrack(const Graph& graph, const Claims& claims)
      : graph_(graph), claims_(claims), stepOf_(claims.all().size(), kNone) {}

  // The step of a norm's input; everything behind it is there afterwards.
  int from(ClaimId root) {
    const int first = stepOf(root);
    for (; expanded_ < steps_.size(); ++expanded_) expand(expanded_);
    return first;
  }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] const Claim& claimOf(size_t step) const { return claims_[steps_[step].claim]; }

 private:
  int stepOf(ClaimId claim) {
    int& step = stepOf_[static_cast<size_t>(claim)];
    if (step != kNone) return step;
    step = static_cast<int>(steps_.size());
    steps_.push_back({claim, {}, false, false, {}});
    return step;
  }

  void leaf(size_t step, bool opaque, std::vector<ClaimId> constants = {}) {
    steps_[step].leaf = true;
    steps_[step].opaque = opaque;
    steps_[step].constants = std::move(constants);
  }

  void expand(size_t step) {
    const Claim& claim = claimOf(step);
    const auto& value = graph_.value(claim.value);
    if (value.literal) {
      if (*value.literal != 0) leaf(step, true);
      return;
    }
    if (value.producer == kNone || !value.opaqueReason.empty()) return leaf(step, true);
    const Node& node = graph_.node(value.producer);
    if (node.kind == OpKind::LayerNorm && value.output == 0) return;  // taken as zero-mean
    if (claim.kind == Claim::Kind::Proven) return;
    if (claim.kind == Claim::Kind::Refused || restsOnJointConstants(claim)) return leaf(step, true);
    if (auto constants = linearConstants(node, claim)) return leaf(step, false, std::move(*constants));
    if (auto constants = biasedLinearConstants(node, claim)) return leaf(step, false, std::move(*constants));
    if (!passesThrough(node.kind)) return leaf(step, true);
    for (const Need& need : claim.needs) {
      const int next = stepOf(need.claim);  // may move the steps
      steps_[step].next.push_back({next, &need.through});
    }
  }

  [[nodiscard]] bool restsOnJointConstants(const Claim& claim) const {
    return std::any_of(claim.needs.begin(), claim.needs.end(),
                       [this](const Need& need) { return !claims_[need.claim].joint().empty(); });
  }

  // A general linear layer: its weight and bias are constants, reached through permutations at most.
  [[nodiscard]] std::optional<std::vector<ClaimId>> linearConstants(const Node& node, const Claim& claim) const {
    switch (node.kind) {
      case OpKind::Linear:
      case OpKind::MatMul:
      case OpKind::AddMatMul:
      case OpKind::Einsum:
      case OpKind::Conv:
        break;
      default:
        return std::nullopt;
    }
    std::vector<ClaimId> out;
    out.reserve(claim.needs.size());
    for (const Need& need : claim.needs) {
      const ClaimId constant = constantBehindViews(need.claim);
      if (constant == kNone) return std::nullopt;
      out.push_back(constant);
    }
    return out;
  }

  // A constant that is added to what a general linear layer gives is its bias (000 A.2): so exporters to ONNX write it.
  [[nodiscard]] std::optional<std::vector<ClaimId>> biasedLinearConstants(const Node& node, const Claim& claim) const {
    if (node.kind != OpKind::Add || claim.needs.size() != 2) return std::nullopt;
    for (size_t i = 0; i < 2; ++i) {
      const ClaimId bias = constantBehindViews(claim.needs[i].claim);
      const Claim& sum = claims_[claim.needs[1 - i].claim];
      const auto& value = graph_.value(sum.value);
      if (bias == kNone || !isBias(bias) || value.producer == kNone || value.constant != kNone) continue;
      auto constants = linearConstants(graph_.node(value.producer), sum);
      if (!constants) continue;
      constants->push_back(bias);
      return constants;
    }
    return std::nullopt;
  }

  // A table of positions has more than one axis.
  [[nodiscard]] bool isBias(ClaimId constant) const {
    const auto& shape = graph_.value(claims_[constant].value).shape;
    return shape && std::ranges::count_if(*shape, [](int64_t size) { return size != 1; }) <= 1;
  }

  [[nodiscard]] ClaimId constantBehindViews(ClaimId id) const {
    while (graph_.value(claims_[id].value).constant == kNone) {
      const auto& value = graph_.value(claims_[id].value);
      if (value.producer == kNone || claims_[id].needs.size() != 1) return kNone;
      const OpKind kind = graph_.node(value.producer).kind;
      if (kind != OpKind::Permute && kind != OpKind::Identity && kind != OpKind::Reshape) return kNone;
      id = claims_[id].needs.front().claim;
    }
    return id;
  }

  const Graph& graph_;
  const Claims& claims_;
  std::vector<Step> steps_;
  std::vector<int> stepOf_;  // by claim
  size_t expanded_ = 0;
};

// Lists who rests on a step.
Grouped<int> readersOf(const std::vector<Step>& steps) {
  std::vector<std::pair<int, int>> members;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const Step::Next& next : steps[i].next) members.emplace_back(next.step, static_cast<int>(i));
  }
  return {steps.size(), members};
}

// The steps from which a leaf of this kind is reached.
template <class IsBad>
std::vector<bool> reaching(const std::vector<Step>& steps, const Grouped<int>& readers, IsBad isBad) {
  std::vector<int> bad;
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    if (steps[static_cast<size_t>(i)].leaf && isBad(i)) bad.push_back(i);
  }
  return reachedFrom(std::move(bad), readers, steps.size());
}

// The edits of the practical criterion: what lies behind the norms that it holds for.
class PaperEdits {
 public:
  PaperEdits(const Graph& graph, const Claims& claims, const PaperBacktrack& backtrack)
      : graph_(graph),
        claims_(claims),
        backtrack_(backtrack),
        steps_(backtrack.steps()),
        seen_(steps_.size()),
        centered_(claims.all().size()) {}

  void add(const LayerNorm& norm, int first) {
    const graph::Uses reads = readsOfInput(graph_, norm);
    visit({first, &reads});
    while (!queue_.empty()) {
      const int at = queue_.back();
      queue_.pop_back();
      for (const Step::Next& next : steps_[static_cast<size_t>(at)].next) visit(next);
    }
    replaced_.push_back(norm.index);
  }

  [[nodiscard]] std::vector<fold::Edit> take() {
    std::sort(constants_.begin(), constants_.end(), [this](ClaimId a, ClaimId b) { return keyLess(a, b); });
    std::vector<fold::Edit> edits;
    edits.reserve(constants_.size() + centerings_.size() + replaced_.size());
    for (const ClaimId id : constants_) {
      const auto& value = graph_.value(claims_[id].value);
      edits.emplace_back(fold::CenterConstant{{{value.constant, claims_[id].pattern}}, value.uses, false});
    }
    for (const auto& [key, uses] : centerings_) edits.emplace_back(fold::InsertCentering{key.first, key.second, uses});
    for (const int norm : replaced_) edits.emplace_back(fold::ReplaceNorm{norm});
    return edits;
  }

 private:
  [[nodiscard]] bool keyLess(ClaimId a, ClaimId b) const {
    const Claim &first = claims_[a], &second = claims_[b];
    return first.value != second.value ? first.value < second.value : first.pattern < second.pattern;
  }

  void visit(const Step::Next& next) {
    const auto index = static_cast<size_t>(next.step);
    const Step& step = steps_[index];
    for (const ClaimId constant : step.constants) {
      if (!centered_[static_cast<size_t>(constant)]) constants_.push_back(constant);
      centered_[static_cast<size_t>(constant)] = true;
    }
    if (step.leaf && step.opaque) {
      const Claim& claim = backtrack_.claimOf(index);
      const std::pair<ValueId, Pattern> key{claim.value, claim.pattern};
      auto& uses = centerings_[key];
      for (const Use& use : *next.reads) {
        if (std::find(uses.begin(), uses.end(), use) == uses.end()) uses.push_back(use);
      }
    }
    if (!seen_[index]) queue_.push_back(next.step);
    seen_[index] = true;
  }

  const Graph& graph_;
  const Claims& claims_;
  const PaperBacktrack& backtrack_;
  const std::vector<Step>& steps_;
  std::vector<bool> seen_;
  std::vector<bool> centered_;  // by claim: it is among the constants
  std::vector<int> queue_;
  std::vector<ClaimId> constants_;
  std::map<std::pair<ValueId, Pattern>, graph::Uses> centerings_;
  std::vector<int> replaced_;
};

}  // namespace

PaperCriteria paperCriteria(const Graph& graph, const std::vector<LayerNorm>& norms, const Claims& claims) {
  PaperBacktrack backtrack(graph, claims);
  std::vector<int> roots;
  roots.reserve(norms.size());
  for (int n = 0; n < static_cast<int>(norms.size()); ++n) {
    roots.push_back(claims.root(n) == kNone ? kNone : backtrack.from(claims.root(n)));
  }
  const std::vector<Step>& steps = backtrack.steps();
  const auto at = [&](int step) -> const Step& { return steps[static_cast<size_t>(step)]; };
  const Grouped<int> readers = readersOf(steps);
  const auto isHarmful = [&](int step) { return !backtrack.claimOf(static_cast<size_t>(step)).tolerated(); };
  const auto opaque = reaching(steps, readers, [&](int step) { return at(step).opaque; });
  const auto noticed = reaching(steps, readers, isHarmful);
  const auto both = reaching(steps, readers, [&](int step) { return at(step).opaque && isHarmful(step); });

  PaperCriteria out;
  PaperEdits edits(graph, claims, backtrack);
  for (size_t n = 0; n < norms.size(); ++n) {
    PaperVerdict verdict;
    if (roots[n] != kNone) {
      const auto root = static_cast<size_t>(roots[n]);
      verdict.paper = !opaque[root];
      verdict.strict = verdict.paper && !noticed[root];
      verdict.practical = !both[root];
      if (verdict.practical) edits.add(norms[n], roots[n]);
    }
    out.verdicts.push_back(verdict);
  }
  out.edits = edits.take();
  return out;
}

}  // namespace normlens::analysis

// The second half of Planner: from a solution of the cut to the edits, and which norms need each.
#include <algorithm>
#include <map>
#include <queue>

#include "core/analysis/plan/planner.h"

namespace normlens::analysis {

using fold::AbsorbScale;
using fold::CenterConstant;
using fold::DropAddend;
using fold::InsertCentering;
using fold::ReplaceNorm;
using graph::kNone;

// For each claim that stands for an edit: the norms whose proof goes through it.
std::vector<IndexRanges> Planner::neededBy(const Solution& solution) const {
  const size_t count = claims_.all().size();
  std::vector<IndexRanges> norms(count);
  std::vector<bool> waiting(count, false);
  // Values that are made last come first: outside of loops every claim is then visited once, with all its norms.
  std::priority_queue<std::pair<graph::NodeId, ClaimId>> queue;
  const auto enqueue = [&](ClaimId id) {
    if (waiting[static_cast<size_t>(id)]) return;
    waiting[static_cast<size_t>(id)] = true;
    queue.emplace(graph_.value(claims_[id].value).producer, id);
  };
  for (int n = 0; n < static_cast<int>(norms_.size()); ++n) {
    if (!solution.folded[static_cast<size_t>(n)]) continue;
    norms[static_cast<size_t>(claims_.root(n))].add(n);
    enqueue(claims_.root(n));
  }
  while (!queue.empty()) {
    const ClaimId id = queue.top().second;
    queue.pop();
    waiting[static_cast<size_t>(id)] = false;
    if (!solution.good[static_cast<size_t>(id)]) continue;  // its cut serves the reader
    for (const Need& need : claims_[id].needs) {
      if (norms[static_cast<size_t>(need.claim)].merge(norms[static_cast<size_t>(id)])) enqueue(need.claim);
    }
  }
  for (size_t c = 0; c < count; ++c) {
    const Claim::Kind kind = claims_.all()[c].kind;
    const bool edit = kind == Claim::Kind::Constant || kind == Claim::Kind::Joint || !solution.good[c];
    if (!edit) norms[c] = {};
  }
  return norms;
}

namespace {

// Joint claims come one per constant; the edit is made once, from the first.
bool firstOfJoint(const Claims& claims, ClaimId id) {
  const Claim& claim = claims[id];
  return claim.joint.front().value == claim.value && claim.joint.front().pattern == claim.pattern;
}

CenterConstant centerEdit(const graph::Graph& graph, const Claim& claim) {
  CenterConstant edit;
  if (claim.kind == Claim::Kind::Joint) {
    for (const auto& member : claim.joint) {
      edit.parts.push_back({graph.value(member.value).constant, member.pattern});
      const auto& uses = graph.value(member.value).uses;
      edit.uses.insert(edit.uses.end(), uses.begin(), uses.end());
    }
    return edit;
  }
  edit.parts.push_back({graph.value(claim.value).constant, claim.pattern});
  edit.uses = claim.tolerantUses;
  edit.split = !claim.tolerated();
  return edit;
}

// Order of application: scales first, then constants from coarse to fine, centerings, drops; norms come behind all of
// them.
int rank(const fold::Edit& edit) { return static_cast<int>(edit.index()); }

int64_t coarseness(const fold::Edit& edit) {
  if (const auto* insert = std::get_if<InsertCentering>(&edit)) return insert->pattern.groupSize();
  const auto* center = std::get_if<CenterConstant>(&edit);
  return center == nullptr ? 0 : center->parts.front().pattern.groupSize();
}

}  // namespace

Plan Planner::assemble(const Solution& solution) const {
  Plan plan;
  const auto needed = neededBy(solution);
  std::map<graph::ConstantId, IndexRanges> centered;
  for (ClaimId id = 0; id < static_cast<ClaimId>(needed.size()); ++id) {
    const auto& frees = needed[static_cast<size_t>(id)];
    const Claim& claim = claims_[id];
    if (frees.empty() || claim.kind == Claim::Kind::Proven) continue;
    const bool good = solution.good[static_cast<size_t>(id)];
    PlannedEdit planned;
    planned.claim = id;
    planned.frees = frees;
    if (claim.kind == Claim::Kind::Constant || (claim.kind == Claim::Kind::Joint && firstOfJoint(claims_, id))) {
      CenterConstant edit = centerEdit(graph_, claim);
      if (!scales_.empty()) {
        for (const auto& part : edit.parts) centered[part.constant].merge(frees);
      }
      planned.edit = std::move(edit);
    } else if (!good && solution.cuts[static_cast<size_t>(id)] == CutKind::Centering) {
      planned.edit = InsertCentering{claim.value, claim.pattern, claim.tolerantUses};
      ++plan.centerings;
    } else if (!good && solution.cuts[static_cast<size_t>(id)] == CutKind::Drop) {
      planned.edit = DropAddend{claim.value, claim.tolerantUses};
    } else {
      continue;
    }
    plan.edits.push_back(std::move(planned));
  }
  for (const AbsorbScale& scale : scales_) {
    PlannedEdit planned{scale, kNone, {}, 0, 0};
    for (const auto& part : scale.parts) {
      const auto at = centered.find(part.constant);
      if (at != centered.end()) planned.frees.merge(at->second);
    }
    if (!planned.frees.empty()) plan.edits.push_back(std::move(planned));
  }
  std::stable_sort(plan.edits.begin(), plan.edits.end(), [](const PlannedEdit& a, const PlannedEdit& b) {
    if (rank(a.edit) != rank(b.edit)) return rank(a.edit) < rank(b.edit);
    return coarseness(a.edit) > coarseness(b.edit);
  });
  for (int n = 0; n < static_cast<int>(norms_.size()); ++n) {
    if (!solution.folded[static_cast<size_t>(n)]) continue;
    plan.folded.push_back(n);
    plan.edits.push_back({ReplaceNorm{n}, claims_.root(n), {n}, 0, 0});
  }
  return plan;
}

}  // namespace normlens::analysis

#include "core/analysis/plan/plan_conflicts.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "core/analysis/claims/reached.h"
#include "core/graph/contains.h"
#include "core/ops/rules.h"

namespace normlens::analysis {

using graph::Graph;
using graph::kNone;
using graph::Use;
using graph::ValueId;

namespace {

// One centering of one value, in the order of the plan.
struct Centering {
  ops::Pattern pattern;
  graph::Uses uses;
  bool joint = false;
  bool dropped = false;  // 0 is left, which is zero-mean over any pattern
};

class Checker {
 public:
  Checker(const Graph& graph, const std::vector<LayerNorm>& norms, const Claims& claims, const std::vector<bool>& good,
          const Plan& plan)
      : graph_(graph), norms_(norms), claims_(claims), good_(good) {
    for (const PlannedEdit& planned : plan.edits) {
      if (const auto* insert = std::get_if<fold::InsertCentering>(&planned.edit)) {
        centerings_[insert->value].push_back({insert->pattern, insert->uses, false});
      } else if (const auto* drop = std::get_if<fold::DropAddend>(&planned.edit)) {
        centerings_[drop->value].push_back({{}, drop->uses, false, true});
      } else if (const auto* center = std::get_if<fold::CenterConstant>(&planned.edit)) {
        addConstants(claims_[planned.claim], *center);
      }
    }
    findSpoiled();
  }

  // Every claim on the way to the norm's leaves still holds where it is read.
  bool holds(int norm) const {
    const ClaimId root = claims_.root(norm);
    return holdsAt({root, claims_.rootTolerant(norm), readsOfInput(graph_, norms_[static_cast<size_t>(norm)])}) &&
           !spoiled_[static_cast<size_t>(root)];
  }

 private:
  // A claim that is good by what it needs is spoiled where a need does not hold, or is spoiled itself.
  void findSpoiled() {
    const size_t count = claims_.all().size();
    std::vector<std::pair<int, ClaimId>> reads;
    std::vector<ClaimId> spoiled;
    for (ClaimId id = 0; id < static_cast<ClaimId>(count); ++id) {
      if (!good_[static_cast<size_t>(id)]) continue;
      const auto& needs = claims_[id].needs;
      for (const Need& need : needs) reads.emplace_back(need.claim, id);
      if (!std::ranges::all_of(needs, [this](const Need& need) { return holdsAt(need); })) spoiled.push_back(id);
    }
    spoiled_ = reachedFrom(std::move(spoiled), {count, reads}, count);
  }

  void addConstants(const Claim& claim, const fold::CenterConstant& edit) {
    if (edit.parts.size() == 1) {
      centerings_[claim.value].push_back({claim.pattern, edit.uses, false});
      return;
    }
    for (const auto& member : claim.joint) centerings_[member.value].push_back({member.pattern, edit.uses, true});
  }

  bool holdsAt(const Need& need) const {
    const Claim& claim = claims_[need.claim];
    if (claim.kind == Claim::Kind::Proven && !meanIsTheInputs(claim)) return false;
    const auto at = centerings_.find(claim.value);
    if (at == centerings_.end()) return true;
    const auto& value = graph_.value(claim.value);
    // A constant that is 0 stays 0.
    if (claim.kind == Claim::Kind::Proven && (value.constant != kNone || value.literal)) return true;
    return std::all_of(need.through.begin(), need.through.end(),
                       [&](const Use& use) { return holdsFor(claim, need.claim, use, at->second); });
  }

  bool holdsFor(const Claim& claim, ClaimId id, const Use& use, const std::vector<Centering>& centerings) const {
    const bool joint = claim.kind == Claim::Kind::Joint;
    bool zero = good_[static_cast<size_t>(id)] && claim.kind != Claim::Kind::Constant && !joint;
    for (const Centering& centering : centerings) {
      if (!contains(centering.uses, use)) continue;
      if (centering.dropped || (centering.joint == joint && centering.pattern == claim.pattern)) {
        zero = true;
      } else {
        zero = zero && !joint && !centering.joint && centering.pattern.centeringKeeps(claim.pattern);
      }
    }
    return zero;
  }

  // x - mean(x): both read the same x, and nothing was taken from the mean alone.
  bool meanIsTheInputs(const Claim& claim) const {
    const auto& value = graph_.value(claim.value);
    if (value.producer == kNone) return true;
    const auto centering = ops::explicitCentering(graph_, graph_.node(value.producer));
    if (!centering) return true;
    const ValueId mean = graph_.node(value.producer).operands[1];
    const Use asData{value.producer, 0, kNone};
    const Use asMean{graph_.value(mean).producer, 0, kNone};
    const auto ofInput = centerings_.find(centering->input);
    const bool together = ofInput == centerings_.end() ||
                          std::all_of(ofInput->second.begin(), ofInput->second.end(), [&](const Centering& each) {
                            return contains(each.uses, asData) == contains(each.uses, asMean);
                          });
    const auto ofMean = centerings_.find(mean);
    return together && (ofMean == centerings_.end() ||
                        std::none_of(ofMean->second.begin(), ofMean->second.end(), [&](const Centering& each) {
                          return contains(each.uses, Use{value.producer, 1, kNone});
                        }));
  }

  const Graph& graph_;
  const std::vector<LayerNorm>& norms_;
  const Claims& claims_;
  const std::vector<bool>& good_;
  std::unordered_map<ValueId, std::vector<Centering>> centerings_;
  std::vector<bool> spoiled_;  // by claim
};

}  // namespace

std::vector<int> conflictingNorms(const Graph& graph, const std::vector<LayerNorm>& norms, const Claims& claims,
                                  const std::vector<bool>& good, const Plan& plan) {
  const Checker checker(graph, norms, claims, good, plan);
  std::vector<int> out;
  std::copy_if(plan.folded.begin(), plan.folded.end(), std::back_inserter(out),
               [&](int norm) { return !checker.holds(norm); });
  return out;
}

}  // namespace normlens::analysis

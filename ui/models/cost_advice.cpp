#include "ui/models/cost_advice.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/protocol/messages.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

using Costs = std::map<int, NormCost>;  // by norm
using Edits = std::vector<protocol::EditInfo>;

// All prices of a model are scaled from the same measurements, so the ends of their intervals add up.
void addSaving(Advice& advice, const NormCost& cost) {
  advice.gain.us += cost.saves.us;
  advice.gain.low += cost.saves.low;
  advice.gain.high += cost.saves.high;
}

void addCentering(Advice& advice, const NormCost& cost, const QString& subject) {
  advice.centerings << subject;
  advice.gain.us -= cost.centers.us;
  advice.gain.low -= cost.centers.high;
  advice.gain.high -= cost.centers.low;
}

// Returns for each norm the number of its group: norms that a centering frees together, 0 for those that need none.
std::map<int, int> groupsOf(const Costs& costs, const Edits& edits) {
  std::map<int, int> groups;
  for (const auto& [norm, cost] : costs) groups[norm] = 0;
  int last = 0;
  for (const protocol::EditInfo& edit : edits) {
    if (edit.kind != EditKind::InsertCentering) continue;
    std::set<int> joined;
    for (const auto& [norm, group] : groups) {
      if (group != 0 && edit.frees.contains(norm)) joined.insert(group);
    }
    ++last;
    for (auto& [norm, group] : groups) {
      if (joined.contains(group) || edit.frees.contains(norm)) group = last;
    }
  }
  return groups;
}

void addGroups(std::vector<Advice>& all, const Costs& costs, const Edits& edits, bool inPlan) {
  const std::map<int, int> groups = groupsOf(costs, edits);
  std::map<int, Advice> advice;
  for (const auto& [norm, cost] : costs) {
    Advice& group = advice[groups.at(norm)];
    group.norms.push_back(norm);
    group.inPlan = inPlan;
    addSaving(group, cost);
  }
  for (const protocol::EditInfo& edit : edits) {
    if (edit.kind != EditKind::InsertCentering) continue;
    const auto first = std::ranges::find_if(costs, [&](const auto& cost) { return edit.frees.contains(cost.first); });
    if (first != costs.end()) addCentering(advice[groups.at(first->first)], first->second, text(edit.subject));
  }
  for (auto& [group, made] : advice) all.push_back(std::move(made));
}

double shownGain(const Advice& advice) { return advice.gain.isClear() ? advice.gain.us : 0; }

}  // namespace

std::vector<Advice> adviceByGain(const protocol::Analysis& analysis, const protocol::PlanInfo& plan,
                                 const std::function<std::optional<NormCost>(int norm)>& costOf) {
  IndexRanges carried;
  for (const protocol::EditInfo& edit : plan.edits) {
    if (edit.kind == EditKind::RestoreMean) carried.merge(edit.frees);
  }
  Costs planned, left;
  std::vector<Advice> all;
  for (const protocol::NormInfo& norm : analysis.norms) {
    const auto cost = costOf(norm.index);
    if (!cost || carried.contains(norm.index)) continue;
    if (std::ranges::find(plan.folded, norm.index) != plan.folded.end()) {
      planned[norm.index] = *cost;
    } else if (folds(norm.verdict)) {
      left[norm.index] = *cost;
    } else if (norm.verdict == Verdict::Blocked) {  // it folds with a centering of its own
      Advice& own = all.emplace_back(Advice{.norms = {norm.index}});
      addSaving(own, *cost);
      addCentering(own, *cost, {});
    }
  }
  addGroups(all, planned, plan.edits, true);
  addGroups(all, left, analysis.edits, false);
  std::ranges::stable_sort(all, std::ranges::greater(), shownGain);
  return all;
}

}  // namespace normlens::ui

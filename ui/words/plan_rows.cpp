#include "ui/words/plan_rows.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace normlens::ui {

namespace {

auto keyOf(const protocol::EditInfo& edit) { return std::tie(edit.kind, edit.node, edit.values, edit.text); }

struct ByKey {
  bool operator()(const protocol::EditInfo* a, const protocol::EditInfo* b) const { return keyOf(*a) < keyOf(*b); }
};

}  // namespace

bool sameEdit(const protocol::EditInfo& a, const protocol::EditInfo& b) { return keyOf(a) == keyOf(b); }

std::vector<PlanRow> planRows(const protocol::PlanInfo& offered, const protocol::PlanInfo& plan) {
  std::multiset<const protocol::EditInfo*, ByKey> left;
  for (const protocol::EditInfo& edit : plan.edits) left.insert(&edit);
  std::vector<PlanRow> rows;
  rows.reserve(std::max(offered.edits.size(), plan.edits.size()));
  for (const protocol::EditInfo& edit : offered.edits) {
    const auto found = left.find(&edit);
    rows.push_back({edit, found != left.end()});
    if (found != left.end()) left.erase(found);
  }
  for (const protocol::EditInfo& edit : plan.edits) {
    const auto [begin, end] = left.equal_range(&edit);
    if (std::find(begin, end, &edit) != end) rows.push_back({edit, true});
  }
  return rows;
}

protocol::PlanParams toggled(protocol::PlanParams params, const protocol::EditInfo& edit, bool on) {
  const bool byNorm = edit.kind == EditKind::ReplaceNorm || edit.values.empty();
  for (const int value : edit.values) std::erase(params.keep_values, value);
  if (!on) {
    for (const int value : edit.values) std::erase(params.copy_values, value);  // wanted before
  }
  if (!byNorm && !on) params.keep_values.insert(params.keep_values.end(), edit.values.begin(), edit.values.end());
  // On again, its norms are to be folded again; off, they may still be by another way.
  if (on || byNorm) std::erase_if(params.keep_norms, [&](int norm) { return edit.frees.contains(norm); });
  if (!on && byNorm) {
    const std::vector<int> norms = edit.frees.indices();
    params.keep_norms.insert(params.keep_norms.end(), norms.begin(), norms.end());
  }
  std::sort(params.keep_norms.begin(), params.keep_norms.end());
  return params;
}

protocol::PlanParams nothingKept(protocol::PlanParams params) {
  params.keep_norms.clear();
  params.keep_values.clear();
  return params;
}

bool samePlan(const protocol::PlanParams& a, const protocol::PlanParams& b) {
  const auto all = [](const protocol::PlanParams& p) {
    return std::tie(p.policy, p.center_values, p.copy_values, p.keep_values, p.keep_norms, p.max_growth_percent,
                    p.prices, p.carry_means);
  };
  return all(a) == all(b);
}

}  // namespace normlens::ui

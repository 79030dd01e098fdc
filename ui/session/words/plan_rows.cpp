#include "ui/session/words/plan_rows.h"

#include <algorithm>
#include <map>

namespace normlens::ui {

namespace {

using Key = std::pair<std::string, std::string>;

Key keyOf(const protocol::EditInfo& edit) { return {edit.kind, edit.text}; }

}  // namespace

std::vector<PlanRow> planRows(const protocol::PlanInfo& offered, const protocol::PlanInfo& plan) {
  std::multimap<Key, const protocol::EditInfo*> left;
  for (const protocol::EditInfo& edit : plan.edits) left.emplace(keyOf(edit), &edit);
  std::vector<PlanRow> rows;
  rows.reserve(std::max(offered.edits.size(), plan.edits.size()));
  for (const protocol::EditInfo& edit : offered.edits) {
    const auto found = left.find(keyOf(edit));
    rows.push_back({edit, found != left.end()});
    if (found != left.end()) left.erase(found);
  }
  for (const protocol::EditInfo& edit : plan.edits) {
    const auto [begin, end] = left.equal_range(keyOf(edit));
    if (std::any_of(begin, end, [&](const auto& entry) { return entry.second == &edit; })) rows.push_back({edit, true});
  }
  return rows;
}

protocol::PlanParams toggled(protocol::PlanParams params, const protocol::EditInfo& edit, bool on) {
  const std::vector<int> norms = edit.frees.indices();
  std::erase_if(params.keep_norms, [&](int norm) { return edit.frees.contains(norm); });
  if (!on) params.keep_norms.insert(params.keep_norms.end(), norms.begin(), norms.end());
  std::sort(params.keep_norms.begin(), params.keep_norms.end());
  return params;
}

bool sameOffer(const protocol::PlanParams& a, const protocol::PlanParams& b) {
  return a.policy == b.policy && a.center_values == b.center_values && a.max_growth_percent == b.max_growth_percent &&
         a.prices == b.prices;
}

}  // namespace normlens::ui

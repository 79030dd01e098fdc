// Lists what would save time: the folds of the plan and those that it leaves out, grouped by the centerings that they
// share, each with what it saves per run. Thread: value types, pure functions.
#pragma once

#include <QStringList>
#include <functional>
#include <optional>
#include <vector>

#include "ui/session/norm_costs.h"

namespace normlens::ui {

struct Advice {
  std::vector<int> norms;       // that fold, in execution order
  QStringList centerings = {};  // subjects of the run-time centerings that the folds rest on; empty: of a norm's own
  bool inPlan = false;
  Price gain = {};  // Per run: the folds' savings less the cost of the centerings. Negative: slower.
};

// Lists the largest gain first; where the interval contains zero the gain counts as zero. Norms without a cost, and
// those of streams that carry a mean, which has no price, are left out.
[[nodiscard]] std::vector<Advice> adviceByGain(const protocol::Analysis& analysis, const protocol::PlanInfo& plan,
                                               const std::function<std::optional<NormCost>(int norm)>& costOf);

}  // namespace normlens::ui

// The plan that is shown, and the one that would be if no norm were kept, which holds the edits that can be turned on
// again. Each with the parameters that it was made by. Thread: GUI thread.
#pragma once

#include <optional>

#include "core/protocol/messages.h"
#include "ui/words/plan_rows.h"

namespace normlens::ui {

class ShownPlan final {
 public:
  [[nodiscard]] const std::optional<protocol::PlanInfo>& plan() const { return plan_; }
  [[nodiscard]] bool isFor(const protocol::PlanParams& params) const { return plan_ && samePlan(madeBy_, params); }
  [[nodiscard]] bool hasOfferFor(const protocol::PlanParams& params) const {
    return offered_ && samePlan(offeredBy_, nothingKept(params));
  }
  [[nodiscard]] std::vector<PlanRow> rows() const {
    return plan_ ? planRows(offered_ ? *offered_ : *plan_, *plan_) : std::vector<PlanRow>();
  }

  void take(const protocol::PlanInfo& plan, const protocol::PlanParams& params) {
    plan_ = plan;
    madeBy_ = params;
    if (samePlan(params, nothingKept(params))) takeOffer(plan, params);
  }
  void takeFolded(const protocol::PlanInfo& plan) { plan_ = plan; }  // the same plan, as the fold carried it out
  void takeOffer(const protocol::PlanInfo& offered, const protocol::PlanParams& params) {
    offered_ = offered;
    offeredBy_ = params;
  }
  void dropPlan() { plan_.reset(); }  // its parameters changed: what was offered may stay
  void dropOffer() { offered_.reset(); }
  void clear() { *this = {}; }

 private:
  std::optional<protocol::PlanInfo> plan_, offered_;
  protocol::PlanParams madeBy_, offeredBy_;
};

}  // namespace normlens::ui

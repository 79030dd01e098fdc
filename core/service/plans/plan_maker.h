// The plans of an analyzed model, as the protocol's methods want them: the planner's own, or one from a file.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "core/analysis/analysis.h"
#include "core/base/task.h"
#include "core/fold/plan.h"
#include "core/formats/model.h"
#include "core/protocol/messages.h"

namespace normlens::service {

[[nodiscard]] fold::FoldPlan toFoldPlan(const analysis::Plan& plan);

struct PricedPlan {
  analysis::Plan plan;
  protocol::NormPrices prices;                   // as they were measured; without rows where they were not
  std::optional<analysis::PlanOptions> options;  // nullopt: it came from a file, or nothing can be folded
  std::string nothingFolds{};                    // why, where a fold could not be proved; empty: nothing is in the way
};

// Thread: one. Both outlive it.
class PlanMaker {
 public:
  PlanMaker(const formats::Model& model, const analysis::Analysis& analysis) : model_(model), analysis_(analysis) {}

  // From now on every plan is this one.
  void use(fold::FoldPlan plan) { fromFile_ = std::move(plan); }
  [[nodiscard]] bool isFromFile() const { return fromFile_.has_value(); }
  // From now on no plan moves a shift: one did not fit the type of a bias. False where that changes nothing.
  bool leaveShifts() { return std::exchange(moveShifts_, false); }

  // Returns the options of make() for the planner's own plans, whatever came from a file. Errors: as make().
  [[nodiscard]] Result<analysis::PlanOptions> options(const protocol::PlanParams& params, formats::NormFlavour norm,
                                                      const Task& task);
  // Errors: Usage; those of timeNorms() where prices are to be measured.
  [[nodiscard]] Result<PricedPlan> make(const protocol::PlanParams& params, formats::NormFlavour norm,
                                        const Task& task);
  // Returns the times of norms and centerings on a device: "cpu", "cuda"; measured once a flavour. Errors: those of
  // timeNorms().
  [[nodiscard]] Result<protocol::NormPrices> timesOf(formats::NormFlavour norm, const std::string& device,
                                                     const Task& task);

 private:
  [[nodiscard]] Result<analysis::PlanOptions> optionsFor(const protocol::PlanParams& params) const;

  const formats::Model& model_;
  const analysis::Analysis& analysis_;
  std::optional<fold::FoldPlan> fromFile_;
  bool moveShifts_ = true;
  std::map<std::pair<formats::NormFlavour, std::string>, protocol::NormPrices> times_;  // by device, too
};

}  // namespace normlens::service

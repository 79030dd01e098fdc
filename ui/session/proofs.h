// The folds of the open model that were proved, each with the plan and the norm flavour that it is of. They hold for
// the inputs that they were proved with. Thread: GUI thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::ui {

struct Proof {
  protocol::PlanParams params;
  std::string flavour;
  protocol::FoldResult result;
  std::optional<protocol::ExportResult> exported;
  std::optional<protocol::BenchResult> measured = {};
};

class Proofs final {
 public:
  void keep(Proof proof, const protocol::InputsParams& inputs);  // in the place of an older one of the same plan
  [[nodiscard]] Proof* of(const protocol::PlanParams& params, const std::string& flavour);  // nullptr: none
  [[nodiscard]] bool has(const protocol::PlanParams& params, const std::string& flavour) const;
  [[nodiscard]] bool areOf(const protocol::InputsParams& inputs) const;
  [[nodiscard]] bool empty() const { return proofs_.empty(); }
  void clear() { proofs_.clear(); }

 private:
  std::vector<Proof> proofs_;  // the newest last
  protocol::InputsParams provedWith_;
};

[[nodiscard]] bool sameEdits(const protocol::PlanInfo& a, const protocol::PlanInfo& b);

}  // namespace normlens::ui

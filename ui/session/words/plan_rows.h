// The edits that the plan has, and those that the user turned off, as one list.
//
// An edit cannot be taken out alone: it is there because norms need it. So it is off when all norms that need it are
// kept as LayerNorms, and the engine plans anew for the rest. Thread: value types, pure functions.
#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::ui {

struct PlanRow {
  protocol::EditInfo edit;
  bool on = true;
};

// `offered`: the plan if no norm were kept. Its edits in its order, on where the plan has the same edit; then what the
// plan has besides, which stands in for an edit that only kept norms needed.
[[nodiscard]] std::vector<PlanRow> planRows(const protocol::PlanInfo& offered, const protocol::PlanInfo& plan);

// `params` with the edit turned on or off.
[[nodiscard]] protocol::PlanParams toggled(protocol::PlanParams params, const protocol::EditInfo& edit, bool on);

// Whether both ask for the same plan but for the norms kept.
[[nodiscard]] bool sameOffer(const protocol::PlanParams& a, const protocol::PlanParams& b);

}  // namespace normlens::ui

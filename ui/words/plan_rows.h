// The edits that the plan has, and those that the user turned off, as one list.
//
// A value that is left alone leaves the norms that need it to whatever still pays: a copy, a centering, or to stay. An
// edit that names none is off when all norms that need it are kept as LayerNorms. The engine then plans anew. Thread:
// value types, pure functions.
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

// Identified by what it changes: two tensors may have one name, and their edits then have one text.
[[nodiscard]] bool sameEdit(const protocol::EditInfo& a, const protocol::EditInfo& b);

// `offered`: the plan if no norm were kept. Its edits in its order, on where the plan has the same edit; then what the
// plan has besides, which replaces an edit that only kept norms needed.
[[nodiscard]] std::vector<PlanRow> planRows(const protocol::PlanInfo& offered, const protocol::PlanInfo& plan);

// `params` with the edit turned on or off.
[[nodiscard]] protocol::PlanParams toggled(protocol::PlanParams params, const protocol::EditInfo& edit, bool on);
// `params` with nothing kept as it is: what could be turned on.
[[nodiscard]] protocol::PlanParams nothingKept(protocol::PlanParams params);

[[nodiscard]] bool samePlan(const protocol::PlanParams& a, const protocol::PlanParams& b);
// Whether both request the same plan but for what is kept.
[[nodiscard]] inline bool sameOffer(const protocol::PlanParams& a, const protocol::PlanParams& b) {
  return samePlan(nothingKept(a), nothingKept(b));
}

}  // namespace normlens::ui

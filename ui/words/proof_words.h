// A proof in words. Thread: pure functions.
#pragma once

#include <QString>

#include <string>

namespace normlens::ui {

// "Nov 30, 2026, 10:12", here, of a time in UTC; empty: that is none.
[[nodiscard]] QString provedAt(const std::string& utc);
// Which steps can bring a proof back: of the plan that is shown, whose fold was taken back, or of another.
[[nodiscard]] QString keptProof(bool samePlan, bool canUndo, bool canRedo);

}  // namespace normlens::ui

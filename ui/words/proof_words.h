// A proof in words. Thread: pure functions.
#pragma once

#include <QString>

#include <string>

namespace normlens::ui {

// "Nov 30, 2026, 10:12", here, of a time in UTC; empty: that is none.
[[nodiscard]] QString provedAt(const std::string& utc);
// Which steps can lead to the plan that was proved, where the one shown was not.
[[nodiscard]] QString otherProof(bool canUndo, bool canRedo);

}  // namespace normlens::ui

// A proof in words. Thread: pure functions.
#pragma once

#include <QString>

#include "core/protocol/messages.h"

namespace normlens::ui {

// "Nov 30, 2026, 10:12", here; empty: it was not proved.
[[nodiscard]] QString provedAt(const protocol::FoldResult& fold);
// Which steps can lead to the plan that was proved, where the one shown was not.
[[nodiscard]] QString otherProof(bool canUndo, bool canRedo);

}  // namespace normlens::ui

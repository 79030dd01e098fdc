// A proof in words. Thread: pure functions.
#pragma once

#include <QString>

#include "core/protocol/messages.h"

namespace normlens::ui {

// "Exact in float64 and bfloat16 · 1 not run": names the types in which only rounding differs.
[[nodiscard]] QString proofTitle(const protocol::VerifyResult& proof);
// The fold is off by more than rounding in the file's type, and by more than the original itself.
[[nodiscard]] bool losesPrecision(const protocol::VerifyResult& proof);
// A sentence with both errors where an exact fold is off by more than rounding in the file's type; else empty.
[[nodiscard]] QString proofCaution(const protocol::VerifyResult& proof);
// "2e-1 = 6 × a few roundings of bfloat16": the limit in the file's type.
[[nodiscard]] QString allowedInFile(const protocol::VerifyResult& proof);
// Which steps can lead to the plan that was proved, where the one shown was not.
[[nodiscard]] QString otherProof(bool canUndo, bool canRedo);

}  // namespace normlens::ui

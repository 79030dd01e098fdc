// A proof in words, as the window, the command line and the report print it. Thread: pure functions.
#pragma once

#include <string>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::protocol {

// "Exact in float64 and bfloat16 · 1 not run": names the types in which only rounding differs.
[[nodiscard]] std::string proofTitle(const VerifyResult& proof);
// The fold is off by more than rounding in the file's type, and by more than the original itself.
[[nodiscard]] bool losesPrecision(const VerifyResult& proof);
// A sentence with both errors where an exact fold is off by more than rounding in the file's type; else empty.
[[nodiscard]] std::string proofCaution(const VerifyResult& proof);
// "6 × a few roundings in bfloat16": what the limit in the file's type rests on; empty in float64.
[[nodiscard]] std::string limitBasis(const VerifyResult& proof);
// "0.19 = 6 × a few roundings in bfloat16"
[[nodiscard]] std::string allowedInFile(const VerifyResult& proof);
// How it was proved, in sentences, where that is not the usual way.
[[nodiscard]] std::vector<std::string> howProved(const VerifyResult& proof);
// Sentences on what the title and the figures leave out, how it was proved first.
[[nodiscard]] std::vector<std::string> proofDetails(const VerifyResult& proof);

}  // namespace normlens::protocol

// Turns a verification into lines for a person: its outcome with the figures, then what else is worth a line.
#pragma once

#include <string>
#include <vector>

#include "app/engine/console.h"
#include "core/protocol/messages.h"

namespace normlens::engine {

// Thread: pure.
[[nodiscard]] std::vector<std::string> verifyLines(const protocol::VerifyResult& verify);

void printVerify(const protocol::VerifyResult& verify, Console& console);

}  // namespace normlens::engine

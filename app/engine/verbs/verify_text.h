// What a verification is told as on the console.
#pragma once

#include "app/engine/console.h"
#include "core/protocol/messages.h"

namespace normlens::engine {

void printVerify(const protocol::VerifyResult& verify, Console& console);

}  // namespace normlens::engine

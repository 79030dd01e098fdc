// What this engine is and runs on.
#pragma once

#include "core/protocol/messages.h"

namespace normlens::service {

[[nodiscard]] protocol::EngineInfo engineInfo();

}  // namespace normlens::service

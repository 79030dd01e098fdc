// The engine's methods: one line per method of the protocol.
#pragma once

#include "core/confine/walls.h"
#include "core/protocol/dispatcher.h"
#include "core/service/service.h"

namespace normlens::engine {

// `service` must outlive the dispatcher's serve().
void bindMethods(protocol::Dispatcher& to, service::Service& service, confine::Confinement level);

}  // namespace normlens::engine

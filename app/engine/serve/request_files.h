// Which files a client's request names: what the process that answers it may be handed.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/confine/grants.h"

namespace normlens::engine {

void grantFilesOf(std::string_view method, const nlohmann::json& params, confine::Grants& grants);

}  // namespace normlens::engine

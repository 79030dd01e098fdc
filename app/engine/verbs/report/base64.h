// Bytes as text for a data link (RFC 4648, section 4). Thread: pure function.
#pragma once

#include <string>
#include <string_view>

namespace normlens::engine::report {

[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace normlens::engine::report

// Bytes as text, RFC 4648, section 4. Thread: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace normlens {

[[nodiscard]] std::string base64(std::string_view bytes);
// nullopt: the text is not what base64() makes of any bytes.
[[nodiscard]] std::optional<std::string> bytesOfBase64(std::string_view text);

}  // namespace normlens

#include "core/base/result.h"

#include <array>

namespace normlens {

const char* errorCodeName(ErrorCode code) {
  static constexpr std::array kNames = {"usage",        "unreadable", "unsupported", "bad_input", "run_failed",
                                        "write_failed", "refused",    "cancelled",   "internal"};
  static_assert(kNames.size() == static_cast<size_t>(ErrorCode::Internal) + 1);
  return kNames.at(static_cast<size_t>(code));
}

}  // namespace normlens

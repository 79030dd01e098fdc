// Thrown inside a format while a model is edited; what edits one turns it into an Error at its border.
#pragma once

#include <stdexcept>
#include <string>

#include "core/base/result.h"

namespace normlens::formats {

// The edit cannot be done exactly; what() is the sentence for the user.
struct EditRefused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The exception that a catch (...) has just caught, as an error: Refused where an edit was, Internal otherwise.
// `failed`: what could not be done, "the plan cannot be applied". Throws on what is not a std::exception.
[[nodiscard]] Error editError(const std::string& failed);

}  // namespace normlens::formats

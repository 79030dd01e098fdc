// Thrown inside a format while a plan is applied; apply() turns it into an Error.
#pragma once

#include <stdexcept>

namespace normlens::formats {

// The plan asks for something that cannot be done exactly; what() is the sentence for the user.
struct EditRefused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace normlens::formats

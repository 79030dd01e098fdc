// Checks of options that are numbers. CLI11's own would print the largest number there is, digit by digit.
#pragma once

#include <CLI/CLI.hpp>

namespace normlens::engine {

[[nodiscard]] CLI::Validator wholeFrom(int least);
[[nodiscard]] CLI::Validator notNegative();

}  // namespace normlens::engine

// Figures as the window, the command line and the report print them, and what they say of doubtful ones. Thread: pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "core/protocol/bench_messages.h"

namespace normlens::protocol {

// "3e-7", "0.31", "0": one digit below 0.01, else two.
[[nodiscard]] std::string errorText(double value);
// "1.05×"
[[nodiscard]] std::string ratioText(double ratio);
// "1.03–1.07"
[[nodiscard]] std::string intervalText(double low, double high);
// The interval touches 1.00 as it is printed: there is no clear gain and no clear loss.
[[nodiscard]] bool touchesOne(double low, double high);

// Sentences on what makes the figures of a point doubtful; empty: nothing does.
[[nodiscard]] std::vector<std::string> cautions(const BenchPoint& point);

}  // namespace normlens::protocol

// The records of one network, and figures over them. Thread: pure functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/run_record.h"

namespace normlens::lab {

using Series = std::vector<const RunRecord*>;

// Returns epochs of one member, in order; those from `from` on.
[[nodiscard]] Series seriesOf(const RunResult& result, const RunMember& member, int from = 0);
[[nodiscard]] bool diverged(const RunResult& result, const RunMember& member);

// nullopt: no record has it.
[[nodiscard]] std::optional<double> largest(const Series& series,
                                            const std::function<std::optional<double>(const RunRecord&)>& of);
// Compares two members at the same epochs.
[[nodiscard]] std::optional<double> largestLossDifference(const Series& one, const Series& other);
// (largest - smallest) / |mean| of a figure over the epochs; nullopt for fewer than two records.
[[nodiscard]] std::optional<double> relativeRange(const Series& series,
                                                  const std::function<double(const RunRecord&)>& of);

// Mean and standard deviation of a figure over the seeds.
struct Summary {
  double mean = 0, deviation = 0;
  size_t count = 0;
};
[[nodiscard]] Summary summaryOf(const std::vector<double>& values);

[[nodiscard]] std::string titleOf(NormUse network);            // at the beginning of a sentence
[[nodiscard]] std::string shortNumber(double value);           // three digits: "1.9e-06", "0.31"
[[nodiscard]] std::string inPercent(double share);             // "84.2 %"
[[nodiscard]] std::string inPercent(const Summary& shares);    // "84.2 ± 0.8 %"; of one seed "84.2 %"
[[nodiscard]] std::string shortNumber(const Summary& values);  // "0.31 ± 0.02", or "0.31"

}  // namespace normlens::lab

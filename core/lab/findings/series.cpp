#include "core/lab/findings/series.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/formatted.h"

namespace normlens::lab {

Series seriesOf(const RunResult& result, const RunMember& member, int from) {
  Series series;
  for (const RunRecord& record : result.records) {
    if (record.event == RunEvent::Epoch && record.member == member && record.epoch >= from) series.push_back(&record);
  }
  return series;
}

bool diverged(const RunResult& result, const RunMember& member) {
  return std::ranges::any_of(result.records, [&](const RunRecord& record) {
    return record.event == RunEvent::Diverged && record.member == member;
  });
}

std::optional<double> largest(const Series& series, const std::function<std::optional<double>(const RunRecord&)>& of) {
  std::optional<double> most;
  for (const RunRecord* record : series) {
    if (const auto value = of(*record)) most = std::max(most.value_or(*value), *value);
  }
  return most;
}

std::optional<double> largestLossDifference(const Series& one, const Series& other) {
  std::optional<double> most;
  for (const RunRecord* a : one) {
    const auto b = std::ranges::find(other, a->epoch, [](const RunRecord* record) { return record->epoch; });
    if (b == other.end() || !a->train_loss || !(*b)->train_loss) continue;
    most = std::max(most.value_or(0), std::abs(*a->train_loss - *(*b)->train_loss));
  }
  return most;
}

std::optional<double> relativeRange(const Series& series, const std::function<double(const RunRecord&)>& of) {
  if (series.size() < 2) return std::nullopt;
  double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0;
  for (const RunRecord* record : series) {
    const double value = of(*record);
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
  }
  const double mean = std::abs(sum / static_cast<double>(series.size()));
  if (!(mean > 0) || !std::isfinite(most - least)) return std::nullopt;
  return (most - least) / mean;
}

Summary summaryOf(const std::vector<double>& values) {
  Summary summary{.count = values.size()};
  for (const double value : values) summary.mean += value / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - summary.mean) * (value - summary.mean);
  if (values.size() > 1) summary.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return summary;
}

std::string titleOf(NormUse network) {
  if (network == NormUse::LayerNorm) return "LayerNorm";
  if (network == NormUse::CbwcRmsNorm) return "CBWC + RMSNorm";
  if (network == NormUse::CrmsNorm) return "CRMSNorm";
  return network == NormUse::RmsNorm ? "RMSNorm alone" : "No norm";
}
std::string shortNumber(double value) { return formatted("%.3g", value); }
std::string inPercent(double share) { return formatted("%.1f%%", share * 100); }
std::string inPercent(const Summary& shares) {
  if (shares.count < 2) return inPercent(shares.mean);
  return formatted("%.1f ± %.1f%%", shares.mean * 100, shares.deviation * 100);
}
std::string shortNumber(const Summary& values) {
  return shortNumber(values.mean) + (values.count < 2 ? "" : " ± " + formatted("%.2g", values.deviation));
}

}  // namespace normlens::lab

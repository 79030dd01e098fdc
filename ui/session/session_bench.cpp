// Session: what was measured, and what was measured before.
#include <utility>

#include "ui/session/session.h"

namespace normlens::ui {

void Session::setDevice(const QString& device) {
  if (device == device_) return;
  device_ = device;
  protocol::BenchParams params = benchParams_;
  params.device = device.toStdString();
  setBenchParams(params);
}

// A fold is there once one was made; all else can be made from the open model.
bool Session::hasSides() const {
  const bool folds = protocol::flavourOfFold(benchParams_.a) || protocol::flavourOfFold(benchParams_.b);
  return !folds || (fold_ && !fold_->plan.folded.empty());
}

void Session::setBenchParams(const protocol::BenchParams& params) {
  benchParams_ = params;
  Q_EMIT benchParamsChanged();
}

// The measurement under way is over, one way or another: what it told is the result where none came.
void Session::benchEnded(std::optional<protocol::BenchResult> result) {
  if (!result) result = benchLive_.result();
  benchLive_.clear();
  if (!result) return Q_EMIT benchProgressed();
  keepRun();
  bench_ = std::move(result);
  Q_EMIT benchChanged();
}

// The last measurement becomes an earlier one.
void Session::keepRun() {
  if (!bench_) return;
  benchRuns_.insert(benchRuns_.begin(), *std::exchange(bench_, std::nullopt));
  if (benchRuns_.size() > kMostRuns) benchRuns_.resize(kMostRuns);
}

}  // namespace normlens::ui

#include "ui/words/remaining_time.h"

#include <QCoreApplication>
#include <cmath>

namespace normlens::ui {

namespace {

constexpr qint64 kLeastMs = 1000;
constexpr double kLeastGrowth = 0.04;

}  // namespace

void RemainingTime::begin(qint64 nowMs) {
  *this = {};
  beganMs_ = nowMs;
}

void RemainingTime::report(const QString& stage, double fraction, qint64 nowMs) {
  if (stage != stage_ || fraction < last_ || fraction < 0) {
    stage_ = stage;
    first_ = fraction < 0 ? 0 : fraction;
    beganMs_ = nowMs;
    remainingMs_ = -1;
  }
  last_ = fraction;
  const qint64 passed = nowMs - beganMs_;
  const double growth = fraction - first_;
  if (passed < kLeastMs || growth < kLeastGrowth) return;
  remainingMs_ = std::llround(static_cast<double>(passed) * (1 - fraction) / growth);
}

QString remainingWords(qint64 milliseconds) {
  if (milliseconds < 1000) return {};
  const qint64 seconds = (milliseconds + 500) / 1000;
  return seconds < 100 ? QCoreApplication::translate("Remaining", "about %1 s left").arg(seconds)
                       : QCoreApplication::translate("Remaining", "about %1 min left").arg((seconds + 30) / 60);
}

}  // namespace normlens::ui

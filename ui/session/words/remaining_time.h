// How long a job will still take, by how fast its fraction grew.
//
// Fractions belong to a stage; a new stage, or a fraction that goes back, begins anew. Nothing is said before there is
// something to go by. Thread: value type.
#pragma once

#include <QString>

namespace normlens::ui {

class RemainingTime {
 public:
  void begin(qint64 nowMs);
  void report(const QString& stage, double fraction, qint64 nowMs);
  [[nodiscard]] qint64 milliseconds() const { return remainingMs_; }  // -1: not known

 private:
  QString stage_;
  double first_ = 0, last_ = 0;
  qint64 beganMs_ = 0;
  qint64 remainingMs_ = -1;
};

// "about 12 s left", "about 3 min left"; empty where it is not known or below a second.
[[nodiscard]] QString remainingWords(qint64 milliseconds);

}  // namespace normlens::ui

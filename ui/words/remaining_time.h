// Estimates how long a job will still take, by how fast its fraction grew.
//
// Fractions belong to a stage; a new stage, or a fraction that goes back, begins anew. There is no estimate before it
// has something to go by. Thread: value type.
#pragma once

#include <QString>

namespace normlens::ui {

class RemainingTime {
 public:
  void begin(qint64 nowMs);
  void report(const QString& stage, double fraction, qint64 nowMs);
  [[nodiscard]] qint64 milliseconds() const { return remainingMs_; }  // -1: no estimate

 private:
  QString stage_;
  double first_ = 0, last_ = 0;
  qint64 beganMs_ = 0;
  qint64 remainingMs_ = -1;
};

// "about 12 s left", "about 3 min left"; empty where there is no estimate or it is below a second.
[[nodiscard]] QString remainingWords(qint64 milliseconds);

}  // namespace normlens::ui

// Shows that something is being written, how far it is, and a button to stop it. Hidden while nothing is written.
#pragma once

#include <QFrame>

class QProgressBar;

namespace normlens::ui {

class ElidedLabel;

class WritingBar : public QFrame {
  Q_OBJECT

 public:
  explicit WritingBar(QWidget* parent);

 Q_SIGNALS:
  void stopWanted();

 protected:
  void begin(const QString& words);
  void progress(double fraction);  // negative: unknown

 private:
  ElidedLabel* label_;
  QProgressBar* progress_;
};

}  // namespace normlens::ui

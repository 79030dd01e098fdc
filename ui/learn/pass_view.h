// One norm going over a row: the numbers, which one is read or written, the registers, and what it has cost so far.
#pragma once

#include <QWidget>

#include "ui/learn/norm_passes.h"

namespace normlens::ui {

class PassView final : public QWidget {
  Q_OBJECT

 public:
  PassView(QString title, QString claim, QWidget* parent);

  void setPasses(NormPasses passes, const Vector& x);
  void setTime(int steps);  // so many steps are done, of all that the longest norm takes
  void setFactor(double factor);
  [[nodiscard]] const NormPasses& passes() const { return passes_; }
  [[nodiscard]] QSize sizeHint() const override { return {360, 132}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {240, 104}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paintRow(QPainter& painter, const QRectF& area) const;
  void paintFacts(QPainter& painter, const QRectF& area) const;
  [[nodiscard]] QString passWords() const;
  [[nodiscard]] QString registersOf(const NormPassStep& at) const;
  [[nodiscard]] const NormPassStep* current() const;  // nullptr before the first

  QString title_, claim_;
  NormPasses passes_;
  Vector x_;
  int time_ = 0;
  double factor_ = 1;
};

}  // namespace normlens::ui

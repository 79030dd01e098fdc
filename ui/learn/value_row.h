// A vector as a row of numbers with bars: one may be hidden, one marked.
#pragma once

#include <QWidget>

#include "ui/learn/norm_geometry.h"

namespace normlens::ui {

class ValueRow final : public QWidget {
  Q_OBJECT

 public:
  ValueRow(QString title, QString claim, QWidget* parent);

  // cells: how many there is room for; more than the vector has: they are empty. marked: -1, none.
  void setValues(const Vector& values, size_t cells, int marked);
  void setFactor(double factor);
  [[nodiscard]] QSize sizeHint() const override { return {480, 96}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {240, 72}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString title_, claim_;
  Vector values_;
  size_t cells_ = 0;
  int marked_ = -1;
  double factor_ = 1;
};

}  // namespace normlens::ui

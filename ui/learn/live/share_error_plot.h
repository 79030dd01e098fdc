// The error of a model's outputs by how much of a mean was taken away, on a logarithmic axis, over the noise of
// rounding.
#pragma once

#include <map>

#include "ui/learn/live/scaled_plot.h"

namespace normlens::ui {

class ShareErrorPlot final : public ScaledPlot {
  Q_OBJECT

 public:
  explicit ShareErrorPlot(QWidget* parent);

  void setErrors(const std::map<double, double>& errors, double limit);  // by share; six times the noise floor
  void setShare(double share);
  void setWords(const QString& type, const QString& trouble);  // trouble: why there is nothing to draw; empty: there is
  [[nodiscard]] QSize minimumSizeHint() const override { return {220, 140}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paintAxis(QPainter& painter, const QRectF& plot) const;
  [[nodiscard]] QPointF at(const QRectF& plot, double share, double error) const;

  std::map<double, double> errors_;
  double limit_ = 0, share_ = 0;
  int low_ = -8, high_ = 0;  // powers of ten
  QString type_, trouble_;
};

}  // namespace normlens::ui

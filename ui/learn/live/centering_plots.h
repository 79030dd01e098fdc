// The plots of the centering figure.
#pragma once

#include <map>
#include <vector>

#include "ui/learn/live/scaled_plot.h"

namespace normlens::ui {

// Plots the means of a norm's input on one axis: now as bars, and as they were before as a dashed outline.
class MeanSpreadPlot final : public ScaledPlot {
  Q_OBJECT

 public:
  explicit MeanSpreadPlot(QWidget* parent);

  void setCaption(const QString& caption);           // "h.3.ln_2, 512 rows"
  void setBefore(const std::vector<double>& means);  // the axis reaches as far as these
  void setNow(const std::vector<double>& means, const QString& words);
  [[nodiscard]] QSize minimumSizeHint() const override { return {220, 140}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  [[nodiscard]] std::vector<double> binned(const std::vector<double>& means) const;  // shares of the rows

  QString caption_, words_;
  std::vector<double> before_, now_;
  double reach_ = 1;
};

// Returns how far from zero they are on average.
[[nodiscard]] double meanSize(const std::vector<double>& means);

// The error of a model's outputs by how much of a mean was taken away, on a logarithmic axis, over the noise of
// rounding.
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

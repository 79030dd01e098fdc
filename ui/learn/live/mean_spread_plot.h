// Plots the means of a norm's input on one axis: now as bars, and as they were before as a dashed outline.
#pragma once

#include <vector>

#include "ui/learn/live/scaled_plot.h"

namespace normlens::ui {

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

}  // namespace normlens::ui

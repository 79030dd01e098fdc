// Plots what the best plan saves, after paying, by the price of a centering; a region for each number of norms that
// are freed.
#pragma once

#include <vector>

#include "core/protocol/lesson_messages.h"
#include "ui/learn/live/scaled_plot.h"

namespace normlens::ui {

class PriceCurve final : public ScaledPlot {
  Q_OBJECT

 public:
  explicit PriceCurve(QWidget* parent);

  void setCurve(const std::vector<protocol::CutPoint>& points, bool measured);
  void setPrice(double factor);
  [[nodiscard]] QSize minimumSizeHint() const override { return {260, 150}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paintRegions(QPainter& painter, const QRectF& plot) const;

  std::vector<protocol::CutPoint> points_;
  bool measured_ = false;
  double price_ = 1;
};

}  // namespace normlens::ui

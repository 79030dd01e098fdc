// Histograms of angles about 90 degrees, as coarse as their rows are few: bars, a dashed line, and a spike where all
// rows have one angle. Each covers the same area, whatever the number of rows. Thread: GUI thread.
#pragma once

#include <QWidget>
#include <optional>

#include "core/protocol/probe_messages.h"

namespace normlens::ui {

struct AngleView {
  protocol::AngleCounts input;   // bars; no counts: none
  protocol::AngleCounts random;  // a dashed line
  protocol::AngleCounts output;  // a green line, behind gamma and beta; no counts: it is not shown
  std::optional<double> spike;   // The output's before gamma and beta, in degrees.
};

class AnglePlot final : public QWidget {
  Q_OBJECT

 public:
  explicit AnglePlot(QWidget* parent);

  void setAngles(AngleView view);
  void setFactor(double factor);  // Scales text and lines.
  // From 90 - reach to 90 + reach is shown: a multiple of 5.
  [[nodiscard]] double reach() const { return reach_; }
  [[nodiscard]] QPointF placeOf(double angle, double share) const;  // share of the height, from the foot
  [[nodiscard]] QSize sizeHint() const override { return {420, 150}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {180, 90}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  [[nodiscard]] QRectF plotArea() const;
  void paintAxis(QPainter& painter) const;
  void paintBars(QPainter& painter) const;
  void paintLine(QPainter& painter, const protocol::AngleCounts& angles, const QPen& pen) const;
  void paintSpike(QPainter& painter) const;

  AngleView view_;
  double factor_ = 1;
  double reach_ = 5, most_ = 1;  // degrees; rows per row and degree
};

}  // namespace normlens::ui

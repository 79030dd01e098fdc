// An error in each floating type beside what rounding alone explains there, on one logarithmic axis.
#pragma once

#include <QStringList>
#include <vector>

#include "core/protocol/difference_messages.h"
#include "ui/learn/live/scaled_plot.h"

namespace normlens::ui {

class ErrorBars final : public ScaledPlot {
  Q_OBJECT

 public:
  explicit ErrorBars(QWidget* parent);

  // `waiting`: of the types that are still to come.
  void setErrors(const std::vector<protocol::ForcedError>& errors, const QStringList& waiting);
  [[nodiscard]] QSize minimumSizeHint() const override { return {260, 150}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paintRow(QPainter& painter, const QRectF& row, const protocol::ForcedError& error) const;
  [[nodiscard]] double share(double error) const;  // of the axis

  std::vector<protocol::ForcedError> errors_;
  QStringList waiting_;
  int low_ = -16, high_ = 0;
};

}  // namespace normlens::ui

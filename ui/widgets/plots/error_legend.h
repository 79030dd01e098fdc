// The logarithmic colour scale of errors with its ends.
#pragma once

#include <QWidget>

namespace normlens::ui {

class ErrorLegend final : public QWidget {
  Q_OBJECT

 public:
  explicit ErrorLegend(QWidget* parent = nullptr);
  [[nodiscard]] QSize sizeHint() const override { return {236, 16}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {120, 16}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace normlens::ui

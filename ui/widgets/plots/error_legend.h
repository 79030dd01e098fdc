// Explains the colors and lines of errors: the calm color and the line of the noise floor, and where there is room the
// logarithmic scale with its ends.
#pragma once

#include <QWidget>

namespace normlens::ui {

class ErrorLegend final : public QWidget {
  Q_OBJECT

 public:
  explicit ErrorLegend(QWidget* parent = nullptr);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;  // without the scale

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace normlens::ui

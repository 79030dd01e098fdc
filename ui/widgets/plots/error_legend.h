// The logarithmic colour scale of errors with its ends.
#pragma once

#include <QWidget>

namespace normlens::ui {

class ErrorLegend final : public QWidget {
  Q_OBJECT

 public:
  explicit ErrorLegend(QWidget* parent = nullptr);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return {sizeHint().width() - kGives, sizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  static constexpr int kGives = 100;  // pixels of the scale
};

}  // namespace normlens::ui

// Plots where a tensor's numbers lie: bars of equal width between two numbers, the tallest full height.
#pragma once

#include <QWidget>
#include <optional>
#include <vector>

namespace normlens::ui {

class HistogramPlot final : public QWidget {
  Q_OBJECT

 public:
  explicit HistogramPlot(QWidget* parent = nullptr);

  void setBins(const std::vector<int64_t>& bins, double low, double high);
  // A dashed line where all numbers would have to be, with what that would do; the bars show that they are elsewhere.
  void setAim(double at, const QString& words);
  [[nodiscard]] QSize sizeHint() const override { return {280, 84}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;  // a tooltip for the bar under the mouse

 private:
  [[nodiscard]] QRectF plotArea() const;

  std::vector<int64_t> bins_;
  int64_t most_ = 0;
  double low_ = 0, high_ = 0;
  std::optional<double> aim_;
  QString aimWords_;
};

}  // namespace normlens::ui

// A tensor as a picture: means of cells, blue below zero, orange above, the ground color at zero.
#pragma once

#include <QImage>
#include <QWidget>
#include <vector>

namespace normlens::ui {

class HeatMap final : public QWidget {
  Q_OBJECT

 public:
  explicit HeatMap(QWidget* parent = nullptr);

  // reach: the absolute value with the full color; cells beyond it take it too. rows * columns cells, row by row.
  void setCells(const std::vector<double>& cells, int rows, int columns, double reach);
  void setMeaning(const QString& words) { meaning_ = words; }  // A cell's tooltip; %1: its number.
  [[nodiscard]] QSize sizeHint() const override { return {280, 96}; }

 Q_SIGNALS:
  void cellClicked(int row, int column);

 protected:
  void mousePressEvent(QMouseEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;  // a tooltip for the cell under the mouse

 private:
  void colour();
  [[nodiscard]] QPoint cellAt(const QPoint& position) const;  // x: column, y: row

  std::vector<double> cells_;
  int rows_ = 0, columns_ = 0;
  double reach_ = 0;
  QImage image_;  // one pixel a cell
  QString meaning_ = tr("Mean of this cell: %1. Axis 0 runs down, the other axes across.");
};

}  // namespace normlens::ui

// Draws the means that centering takes from a weight as thin bars about zero, a bar for each input.
#pragma once

#include <QWidget>
#include <vector>

namespace normlens::ui {

class ColumnPlot final : public QWidget {
  Q_OBJECT

 public:
  explicit ColumnPlot(QWidget* parent = nullptr);

  void setMeans(const std::vector<double>& means);
  void setLeft(
      double share);  // A centering in part leaves that share of each, in the line's place; 0: nothing, 1: all.
  void setBare() { bare_ = true; }  // the bars alone: for a room, where the words would be too small
  [[nodiscard]] QSize sizeHint() const override { return {280, bare_ ? 56 : 96}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::vector<double> means_;
  double left_ = 0;
  bool bare_ = false;
  double reach_ = 0;  // the axis goes from -reach_ to reach_; a round number
};

// The smallest of 1, 2, 5 times a power of ten that is not below `value`; 0 for 0.
[[nodiscard]] double roundUp(double value);

}  // namespace normlens::ui

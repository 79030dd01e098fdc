// Explains the lines of the overlay, with numbers, in a corner of the graph.
#pragma once

#include <QWidget>

#include "ui/graphview/marks/mean_states.h"

namespace normlens::graphview {

class MeanLegend : public QWidget {
  Q_OBJECT

 public:
  explicit MeanLegend(QWidget* parent);

  void setStates(const MeanStates& states);
  [[nodiscard]] QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Row {
    MeanState state = MeanState::Unknown;
    QString text;
  };
  [[nodiscard]] std::vector<Row> rows() const;

  MeanStates states_;
};

}  // namespace normlens::graphview

// One constant looked at: figures, histogram, heat map, what centering takes away from its columns; as it is in the
// file, or as the plan leaves it. The numbers stay in the engine: it counts, draws and saves them.
#pragma once

#include <QWidget>
#include <optional>

#include "ui/client/question.h"

class QLabel;

namespace normlens::ui {

class ColumnPlot;
class ElidedLabel;
class HeatMap;
class HistogramPlot;
class PropertyList;
class Segmented;
class Session;

class WeightView final : public QWidget {
  Q_OBJECT

 public:
  WeightView(Session* session, QWidget* parent);  // session: not owned

  void showConstant(int value);  // requests its figures; -1 hides the view
  [[nodiscard]] int constant() const { return value_; }

 private:
  void build();
  QWidget* makeButtons();
  void showReading();
  void showStats();
  void showFigures();
  void save();  // opens a file dialog

  Session* session_;  // Not owned.
  int value_ = -1;
  Question question_;
  std::optional<protocol::TensorStats> stats_;
  ElidedLabel* title_;
  QLabel* shape_;
  QLabel* state_;  // reading, or why it cannot be read
  QWidget* body_;
  Segmented* when_;
  QLabel* columnsTitle_;
  ColumnPlot* columns_;
  HistogramPlot* histogram_;
  HeatMap* heat_;
  PropertyList* facts_;
};

}  // namespace normlens::ui

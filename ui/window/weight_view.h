// One constant looked at: what centering takes away from its columns, and its range.
#pragma once

#include <QWidget>

class QLabel;

namespace normlens::ui {

class ColumnPlot;
class PropertyList;
class Session;

class WeightView final : public QWidget {
  Q_OBJECT

 public:
  WeightView(Session* session, QWidget* parent);  // session: not owned

  void showConstant(int value);  // asks the engine; -1 hides the view
  [[nodiscard]] int constant() const { return value_; }

 private:
  Session* session_;  // Not owned.
  int value_ = -1;
  QLabel* title_;
  QLabel* shape_;
  QLabel* note_;
  ColumnPlot* plot_;
  PropertyList* facts_;
};

}  // namespace normlens::ui

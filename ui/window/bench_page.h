// Latency of the original against the folded model.
#pragma once

#include <QWidget>

class QLabel;

namespace normlens::ui {

class LatencyPlot;
class PropertyList;
class Session;

class BenchPage final : public QWidget {
  Q_OBJECT

 public:
  BenchPage(Session* session, QWidget* parent);  // session: not owned

 private:
  void showResult();

  Session* session_;  // Not owned.
  QWidget* filled_;
  QLabel* empty_;
  LatencyPlot* plot_;
  PropertyList* table_;
  QLabel* note_;
};

}  // namespace normlens::ui

// The geometry probe by depth, as four charts: angles, energy along the uniform vector, lengths, and what the outputs
// lose where LayerNorms become RMSNorms. Thread: GUI thread.
#pragma once

#include <QWidget>
#include <vector>

#include "ui/models/probe_table.h"

class QLabel;

namespace normlens::ui {

class DepthChart;
class PushButton;

// Describes what the charts show besides the rows.
struct ProbeView {
  bool showsControl = true;  // the random vectors
  bool isFold = false;       // the rows are those of the fold: there is nothing to swap
  const protocol::ProbeSwaps* swaps = nullptr;
  bool measuring = false;  // the swaps
};

class ProbeCharts final : public QWidget {
  Q_OBJECT

 public:
  explicit ProbeCharts(QWidget* parent);

  void show(const std::vector<ProbeFigures>& rows, const ProbeView& view);
  void allowMeasuring(bool allowed);        // the engine is free
  void showProgress(const QString& words);  // while measuring
  void setChosen(int row);
  void paintPicture(QPainter& painter);  // the charts as they are shown, of the size of this widget

 Q_SIGNALS:
  void chosen(int row);  // by the user
  void measureWanted();  // the swaps
  void measureUnwanted();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  DepthChart* addChart(const QString& title, const QString& caption);
  void makeSwapNote();
  void placeSwapNote();
  void showAngles(const std::vector<ProbeFigures>& rows, bool showsControl);
  void showShares(const std::vector<ProbeFigures>& rows, bool showsControl);
  void showLengths(const std::vector<ProbeFigures>& rows);
  void showErrors(const std::vector<ProbeFigures>& rows, const ProbeView& view);

  DepthChart *angles_, *shares_, *lengths_, *errors_;
  std::vector<DepthChart*> charts_;
  QWidget* note_ = nullptr;  // over the chart of errors while there is nothing in it
  QLabel* says_ = nullptr;
  PushButton* measure_ = nullptr;
  bool measuring_ = false;
};

}  // namespace normlens::ui

// The charts of the networks that are looked at, and what the run's numbers mean for the papers' claims.
// Thread: GUI thread.
#pragma once

#include <QWidget>
#include <map>
#include <memory>

#include "ui/charts/lab_charts.h"

class QGridLayout;
class QLabel;

namespace normlens::ui {

class ChartView;
class ElidedLabel;

class LabFigures final : public QWidget {
  Q_OBJECT

 public:
  explicit LabFigures(QWidget* parent);

  // runs: all that are kept; shown: the network in whose run the reader is.
  void show(const std::vector<KeptRun>& runs, const LabPlace& shown, const std::vector<LabPlace>& ticked);
  [[nodiscard]] ChartView* chart(LabChart kind) const { return charts_.at(kind).view; }

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Card {
    QWidget* frame;
    ChartView* view;
  };
  Card makeChartCard(LabChart kind);
  void arrange(int columns);
  QWidget* makeLegend();
  void makeSays();
  // Lists in the legend what is drawn weaker.
  void showPaler(const LabPicture& picture);

  QGridLayout* grid_ = nullptr;
  int columns_ = 0;
  std::map<LabChart, Card> charts_;
  std::map<lab::NormUse, QWidget*> legend_;
  ElidedLabel* paler_ = nullptr;
  QWidget* saysFrame_ = nullptr;
  QLabel* says_ = nullptr;
};

}  // namespace normlens::ui

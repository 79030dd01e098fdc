// The charts of the networks that are looked at: one for each kind of claim, with what the run's numbers mean for the
// papers' claims below it, and the others once they are asked for.
// Thread: GUI thread.
#pragma once

#include <QWidget>
#include <map>
#include <memory>

#include "ui/charts/lab_charts.h"

class QGridLayout;
class QLabel;
class QPushButton;
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
    QLabel* says;  // the claims that can be seen in it
  };
  Card makeChartCard(LabChart kind);
  void arrange();
  void showCards();
  [[nodiscard]] bool isClaimed(LabChart chart) const;
  QWidget* makeLegend();
  void showFindings(const KeptRun* run);
  // Lists in the legend what is drawn weaker.
  void showPaler(const LabPicture& picture);

  QGridLayout* grid_ = nullptr;
  int columns_ = 2;
  std::vector<LabChart> claimed_;  // what the run's claims can be seen in, after the loss
  bool costs_ = false;             // steps were timed
  std::map<LabChart, Card> charts_;
  std::map<lab::NormUse, QWidget*> legend_;
  ElidedLabel* paler_ = nullptr;
  QPushButton* others_ = nullptr;
};

}  // namespace normlens::ui

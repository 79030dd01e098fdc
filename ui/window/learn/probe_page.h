// The geometry probe (paper 002): where the vectors that go into the open model's norms point, and what comes out; by
// depth as charts, as a table, and in sentences. Runs when it is first seen; what swaps do to the outputs is measured
// on demand.
#pragma once

#include "ui/window/learn/figures_page.h"

class QCheckBox;
class QLabel;
class QSpinBox;

namespace normlens::ui {

class ProbeCharts;
class ProbeRun;
class ProbeTable;
class PushButton;
class Segmented;
class SwapRun;

class ProbePage final : public FiguresPage {
  Q_OBJECT

 public:
  ProbePage(Session* session, QWidget* parent);  // not owned

  void run();
  void stop();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* makeControls(QWidget* side);
  QWidget* makeFoot(QWidget* side);
  QWidget* makeFigures();
  void showFigures();
  void showProgress();
  void refresh();
  [[nodiscard]] QString findings() const;
  [[nodiscard]] QString inputsWords() const;
  void choose(int row);
  void showOnGraph();
  void showProblem(const QString& problem) override;
  void leave() override;

  ProbeRun* probe_;
  SwapRun* swaps_;
  ProbeTable* table_;
  Segmented* model_ = nullptr;
  QCheckBox* control_ = nullptr;
  QSpinBox* seed_ = nullptr;
  QLabel *inputs_ = nullptr, *says_ = nullptr;
  PushButton *run_ = nullptr, *csv_ = nullptr, *picture_ = nullptr;
  ProbeCharts* charts_ = nullptr;
};

}  // namespace normlens::ui

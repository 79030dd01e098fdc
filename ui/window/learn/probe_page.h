// The geometry probe (paper 002): where the vectors that go into the open model's norms point, and what comes out; by
// depth as charts, as a table, and in sentences. Runs when it is first seen.
#pragma once

#include <QWidget>
#include <vector>

class QLabel;
class QSpinBox;
class QTableView;

namespace normlens::ui {

class DepthChart;
class LearnBar;
class ProbeRun;
class ProbeTable;
class PushButton;
class Segmented;
class Session;
enum class LearnPageKind;

class ProbePage final : public QWidget {
  Q_OBJECT

 public:
  ProbePage(Session* session, QWidget* parent);  // not owned

  void run();

 Q_SIGNALS:
  void closed();
  void pageWanted(normlens::ui::LearnPageKind page);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* makeSide();
  QWidget* makeFigures();
  DepthChart* addChart(const QString& title, const QString& caption);
  void refresh();
  void showCharts();
  void choose(int row);
  void saveCsv();

  Session* session_;
  ProbeRun* probe_;
  ProbeTable* table_;
  LearnBar* bar_;
  Segmented* model_ = nullptr;
  QSpinBox* seed_ = nullptr;
  QLabel* says_ = nullptr;
  PushButton *run_ = nullptr, *csv_ = nullptr;
  DepthChart *angles_ = nullptr, *shares_ = nullptr, *lengths_ = nullptr, *errors_ = nullptr;
  std::vector<DepthChart*> charts_;
  QTableView* view_ = nullptr;
};

}  // namespace normlens::ui

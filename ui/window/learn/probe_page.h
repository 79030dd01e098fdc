// The geometry probe (paper 002): where the vectors that go into the open model's norms point, and what comes out; by
// depth as charts, as a table, and in sentences. Runs when it is first seen; what swaps do to the outputs is measured
// on demand.
#pragma once

#include <QWidget>
#include <functional>

class QCheckBox;
class QLabel;
class QSpinBox;
class QTableView;

namespace normlens::ui {

class LearnBar;
class ProbeCharts;
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
  void saveCsv();
  void savePicture();
  void save(const char* name, const QString& title, const QStringList& filters,
            const std::function<bool(const QString& path)>& write);

  Session* session_;
  ProbeRun* probe_;
  ProbeTable* table_;
  LearnBar* bar_;
  Segmented* model_ = nullptr;
  QCheckBox* control_ = nullptr;
  QSpinBox* seed_ = nullptr;
  QLabel *inputs_ = nullptr, *says_ = nullptr;
  PushButton *run_ = nullptr, *csv_ = nullptr, *picture_ = nullptr;
  ProbeCharts* charts_ = nullptr;
  QTableView* view_ = nullptr;
};

}  // namespace normlens::ui

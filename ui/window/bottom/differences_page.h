// Shows how far two models are apart, by place and by precision: a table, a heat map with a chart of error by depth,
// the figures of the heat map as a table, and the tensors behind a row; and, beside that, by how much each LayerNorm
// would change the outputs if it were folded against its verdict.
#pragma once

#include <QWidget>
#include <string>

class QBoxLayout;
class QComboBox;
class QLabel;
class QStackedWidget;
class QTableView;

namespace normlens::ui {

class DepthPlot;
class DifferenceBar;
class DifferenceMatrix;
class DifferenceRun;
class DifferenceTable;
class ElidedLabel;
class PrecisionMap;
class RecordSorter;
class Session;
class Segmented;
class TensorPairView;

class DifferencesPage final : public QWidget {
  Q_OBJECT

 public:
  DifferencesPage(Session* session, QWidget* parent);  // session: not owned

  // Adds the value as a row and compares anew where that is possible.
  void compareValue(int value);

 Q_SIGNALS:
  void inputsWanted();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  [[nodiscard]] QWidget* makeRows();
  [[nodiscard]] QWidget* makeViews();
  void showResult();
  void showPage();
  void showType();
  void choose(int place, int type);
  void rowChosen(const QModelIndex& index);
  void followSelection();
  void showTensors();
  [[nodiscard]] int shownType() const;  // index among the columns that have rows; -1
  [[nodiscard]] QString emptyWords() const;

  Session* session_;  // Not owned.
  DifferenceRun* run_;
  DifferenceTable* rows_;
  RecordSorter* sorter_;
  DifferenceMatrix* matrix_;
  DifferenceBar* bar_;
  Segmented* subject_;  // two models, or folded anyway
  QBoxLayout* head_;    // the choice of the subject and its bar
  QWidget* forcedBar_;
  QStackedWidget* stack_;
  QLabel* empty_;
  QComboBox* type_;
  ElidedLabel* agreement_;
  QTableView* table_;
  QTableView* figures_;
  PrecisionMap* map_;
  DepthPlot* plot_;
  TensorPairView* pair_;
  bool following_ = false;  // the table follows the selection, it does not make one
};

}  // namespace normlens::ui

// The LayerNorms as a table: sort by any column, filter by words, group by verdict, copy, fold or keep the chosen ones.
#pragma once

#include <QWidget>
#include <vector>

class QCheckBox;
class QLabel;
class QLineEdit;
class QTableView;

namespace normlens::ui {

class NormSorter;
class NormTable;
class Session;

class NormTablePage final : public QWidget {
  Q_OBJECT

 public:
  NormTablePage(Session* session, QWidget* parent);  // session: not owned

 private:
  void buildBar();
  void buildTable();
  void fill();
  void showPlan();
  void showCount();
  void followSelection();
  void showMenu(const QPoint& position);
  [[nodiscard]] std::vector<int> chosenNorms() const;

  Session* session_;  // Not owned.
  NormTable* model_;
  NormSorter* sorter_;
  QLineEdit* filter_;
  QCheckBox* grouped_;
  QLabel* count_;
  QTableView* table_;
  bool following_ = false;  // the table follows the selection, it does not make one
};

}  // namespace normlens::ui

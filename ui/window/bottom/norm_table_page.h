// The LayerNorms as a table: sort by any column, filter by words, group by verdict, copy, fold or keep the chosen ones.
#pragma once

#include <QWidget>

class QLabel;
class QLayout;
class QMenu;
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
  QLayout* buildBar();
  void buildTable();
  void fill();
  void showPlan();
  void showCount();
  void followSelection();
  void extendMenu(QMenu* menu);  // by what can be done with the chosen norms

  Session* session_;  // Not owned.
  NormTable* model_;
  NormSorter* sorter_;
  QLabel* count_;
  QTableView* table_;
  bool following_ = false;  // the table follows the selection, it does not make one
};

}  // namespace normlens::ui

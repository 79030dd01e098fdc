// The plan as a table of edits; a click shows where in the graph.
#pragma once

#include <QWidget>

class QLabel;
class QTableView;

namespace normlens::ui {

class EditModel;
class Session;

class PlanPage final : public QWidget {
  Q_OBJECT

 public:
  PlanPage(Session* session, QWidget* parent);  // session: not owned

 Q_SIGNALS:
  void nodeChosen(int node);

 private:
  void showPlan();

  Session* session_;  // Not owned.
  EditModel* model_;
  QTableView* table_;
  QLabel* empty_;
};

}  // namespace normlens::ui

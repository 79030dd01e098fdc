// The plan as a table of edits: a click shows where in the graph, a tick turns an edit on or off.
#pragma once

#include <QWidget>

class QLabel;
class QMenu;
class QModelIndex;
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

 protected:
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void buildTable();
  void fitColumns();
  void consider(const QModelIndex& index);  // previews what would be lost with that edit
  void showPlan();
  void showState();
  void extendMenu(QMenu* menu, const QModelIndex& at);

  Session* session_;  // Not owned.
  EditModel* model_;
  QTableView* table_;
  QLabel* empty_;
  bool ticked_ = false;  // the click under way was on a tick
};

}  // namespace normlens::ui

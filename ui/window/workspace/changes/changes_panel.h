// The list of changes beside the two graphs: narrowed by kind, exported, and the chosen one shown in a few lines.
// Thread: GUI thread.
#pragma once

#include <QWidget>
#include <vector>

#include "ui/window/workspace/changes/change_table.h"

class QLabel;
class QTableView;

namespace normlens::ui {

class ElidedLabel;
class PropertyList;
class RecordSorter;
class Segmented;
class Session;

class ChangesPanel final : public QWidget {
  Q_OBJECT

 public:
  ChangesPanel(Session* session, QWidget* parent);  // session: not owned

  // The chosen change stays chosen where it is still there.
  void show(ComparedGraphs graphs, std::vector<graphview::Change> changes);
  void setFigures(const std::vector<ChangeTable::Weights>& weights, const std::vector<protocol::WeightChange>& changes);
  [[nodiscard]] const ChangeTable& changes() const { return *rows_; }
  // The next row of those that are shown, or the one before; wraps around.
  void step(bool forward);
  // Chooses the first change at a node, if there is one; nothing is emitted. place: in the document's nodes.
  void follow(bool other, int place);

 Q_SIGNALS:
  void chosen(int a, int b);  // places of nodes; -1 on a side that has none

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void build();
  QWidget* makeHeader();
  QWidget* makeDetails();
  void showCounts();
  void showNothing();  // why the list is empty
  void fitLargest();
  void showChosen();
  void foldFilter();
  void save();                           // opens a file dialog
  [[nodiscard]] int currentRow() const;  // Indexes rows_; -1.
  void chooseQuietly(int row);

  Session* session_;  // Not owned.
  ChangeTable* rows_;
  RecordSorter* shown_;
  Segmented* filter_ = nullptr;
  QTableView* table_ = nullptr;
  QLabel* nothing_ = nullptr;
  QWidget* details_ = nullptr;
  ElidedLabel* title_ = nullptr;
  QLabel* place_ = nullptr;  // "6 of 34"
  PropertyList* facts_ = nullptr;
  bool quiet_ = false;  // The user did not choose the current row.
};

}  // namespace normlens::ui

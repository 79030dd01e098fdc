// The page of an opened model: left dock, graph, bottom dock, inspector, with movable borders.
#pragma once

#include <QWidget>
#include <array>

#include "ui/window/export/export_sheet.h"

class QSplitter;

namespace normlens::ui {

class Actions;
class BottomPanel;
class GraphPane;
class Inspector;
class NormPanel;
class Session;

class Workspace final : public QWidget {
  Q_OBJECT

 public:
  Workspace(Session* session, Actions* actions, QWidget* parent);  // session, actions: not owned

  [[nodiscard]] NormPanel* norms() const { return norms_; }
  [[nodiscard]] GraphPane* graph() const { return graph_; }
  [[nodiscard]] Inspector* inspector() const { return inspector_; }
  [[nodiscard]] BottomPanel* bottom() const { return bottom_; }
  [[nodiscard]] ExportSheet* sheet() const { return sheet_; }
  // The sheet takes the place of all but the list of norms, which stays as it is.
  void showSheet(ExportSheet::Kind kind = ExportSheet::Kind::Target);
  void hideSheet();
  void saveSizes() const;  // to QSettings
  void restoreSizes();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void arrange();
  [[nodiscard]] std::array<std::pair<QString, QSplitter*>, 3> splitters() const;  // with their keys in QSettings

  QSplitter* across_;  // everything but the inspector, inspector
  QSplitter* down_;    // left and graph, bottom
  QSplitter* upper_;   // left, graph or sheet
  NormPanel* norms_;
  GraphPane* graph_;
  BottomPanel* bottom_;
  Inspector* inspector_;
  Actions* actions_;  // Not owned.
  ExportSheet* sheet_;
  bool arranged_ = false;  // the user moved a border, now or another time
};

}  // namespace normlens::ui

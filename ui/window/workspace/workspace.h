// The page of an opened model: left dock, graph, bottom dock, inspector, with movable borders. A place may stand where
// the graph is: the export sheet, the table of norms, the inputs. The words of F1 stand where the inspector is.
#pragma once

#include <QWidget>
#include <array>

#include "ui/window/export/export_sheet.h"

class QSplitter;
class QStackedWidget;

namespace normlens::ui {

class Actions;
class BottomPanel;
class GraphPane;
class Inspector;
class LearnPage;
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
  [[nodiscard]] LearnPage* words() const { return words_; }
  enum class Place { Graph, Norms, Inputs, Export };
  void showPlace(Place place);
  [[nodiscard]] Place place() const { return place_; }
  void showSheet(ExportSheet::Kind kind = ExportSheet::Kind::Target);
  void showWords(const QString& name);  // see LearnPage::showLesson()
  void hideWords();
  void setGraphOnly(bool only);  // without the panels around it
  [[nodiscard]] bool graphOnly() const { return graphOnly_; }
  bool stepBack();         // Closes one of these; false: none is open.
  void saveSizes() const;  // to QSettings
  void restoreSizes();

 Q_SIGNALS:
  void arranged();  // another place, or graphOnly()

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void arrange();
  void showParts();
  [[nodiscard]] QWidget* makePlace(const QString& title, QWidget* content);
  [[nodiscard]] std::array<std::pair<QString, QSplitter*>, 3> splitters() const;  // with their keys in QSettings

  QSplitter* across_;  // everything but the inspector, inspector, words
  QSplitter* down_;    // left and graph, bottom
  QSplitter* upper_;   // left, graph or another place
  NormPanel* norms_;
  GraphPane* graph_;
  BottomPanel* bottom_;
  Inspector* inspector_;
  Actions* actions_;        // Not owned.
  QStackedWidget* places_;  // by Place, without the graph
  ExportSheet* sheet_;
  LearnPage* words_;
  QWidget* wordsFrame_;
  Place place_ = Place::Graph;
  int leftWidth_ = 0, sideWidth_ = 0;  // of the list, and of the inspector or the words, while last shown
  bool wordsShown_ = false, graphOnly_ = false;
  bool arranged_ = false;  // the user moved a border, now or another time
};

}  // namespace normlens::ui

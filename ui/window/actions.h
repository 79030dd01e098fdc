// Everything that can be done from a menu, a button, a shortcut or the search box, as QActions.
#pragma once

#include <QAction>
#include <QActionGroup>
#include <QMenu>
#include <QObject>
#include <span>

#include "ui/words/plan_mark.h"

namespace normlens::ui {

class Session;

[[nodiscard]] std::span<const NamedWay> normFlavours();  // first: the default; words of the context "Flavour"

// Checks the action of the group that has this data.
void setChosen(const QActionGroup& group, const QString& data);

// The places of the window that an action leads to.
enum class ActionPanel { NormList, Modules, Plan, NormTable, Inputs, Proof, Differences, Benchmark, Learn, Log };

// Owned by the window; the names are those of what they do.
class Actions final : public QObject {
  Q_OBJECT

 public:
  explicit Actions(QWidget* window);

  static constexpr QKeyCombination kFoldKeys = Qt::CTRL | Qt::Key_Return;  // the export sheet's while it is shown

  QAction* open;  // a model or a project
  QAction* saveProject;
  QAction* saveProjectAs;
  QAction* fold;
  QAction* verify;
  QAction* measure;
  QAction* exportModel;  // opens the sheet
  QAction* exportReport;
  QAction* undo;
  QAction* redo;
  QAction* suggestBest;
  QAction* foldAll;
  QAction* resetPlan;
  QAction* foldNorm;    // the selected one: folds it, or keeps it as it is
  QAction* centerHere;  // at the selection
  QAction* compareFolded;
  QAction* compareWith;
  QAction* find;
  QAction* findNext;
  QAction* findPrevious;
  QAction* command;
  QAction* explain;  // the page of what is under the pointer
  QAction* lessons;
  QAction* laboratory;
  QAction* probe;
  QAction* atlas;
  QAction* stop;
  QAction* escape;  // one step back, the window's own
  QAction* graphOnly;
  QAction* restartEngine;
  QAction* closeModel;
  QAction* quit;
  QAction* toggleInspector;
  QAction* toggleBottom;
  QAction* preferences;
  QAction* about;
  QVector<QAction*> panels;   // data(): what they show, an ActionPanel
  QActionGroup* policyGroup;  // data(): name of the policy
  QActionGroup* themeGroup;   // data(): light, dark, system
  QMenu* foldMenu;            // policies
  QMenu* fileMenu;
  QMenu* editMenu;  // undo, redo by name, changes of the plan
  QMenu* viewMenu;
  QMenu* helpMenu;
  QMenu* themeMenu;

  // Enables the actions that make sense in the session's state and disables the rest.
  void update(Session& session);
  [[nodiscard]] QList<QAction*> searchable() const;  // all of them

 private:
  void addModelActions();
  void addViewActions();
  void addPlanActions();
  void addPanels();
  void addMenus(QWidget* window);
  void updatePlan(Session& session, bool alive);
  QAction* add(const char* name, const QString& text, const QKeySequence& keys, const QString& tip);
  // A menu and its group, of which one action is checked.
  std::pair<QMenu*, QActionGroup*> addWays(const QString& title, const QString& section, const char* context,
                                           std::span<const NamedWay> ways);

  QList<QAction*> all_;  // in the order in which they were made
};

}  // namespace normlens::ui

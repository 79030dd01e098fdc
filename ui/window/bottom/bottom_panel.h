// The bottom dock: Plan, LayerNorms, Inputs, Proof, Differences, Benchmark, Learn, Log.
#pragma once

#include <QFrame>

class QPlainTextEdit;
class QStackedWidget;
class QTabBar;

namespace normlens::ui {

class Actions;
class DifferencesPage;
class ElidedLabel;
class IconButton;
class LearnPage;
class RoomSteps;
class Session;

class BottomPanel final : public QFrame {
  Q_OBJECT

 public:
  enum Tab { Plan, Norms, Inputs, Proof, Differences, Benchmark, Learn, Log };

  BottomPanel(Session* session, Actions* actions, QWidget* parent);  // session, actions: not owned

  void showTab(Tab tab);
  void focusTab();  // the keyboard goes to what the tab shows
  [[nodiscard]] Tab tab() const;
  void showLesson(const QString& name);  // see LearnPage
  void log(const QString& line);         // The engine or the window reported it; the time is added.
  [[nodiscard]] DifferencesPage* differences() const { return differences_; }

 Q_SIGNALS:
  void nodeChosen(int node);
  void exportAnywayClicked();
  void lessonWanted(const QString& link);  // see LessonWalk::goTo()

 private:
  [[nodiscard]] QWidget* makeHeader(Actions* actions);  // the tabs, the summary of the shown one, buttons
  void addPages();
  [[nodiscard]] QWidget* makePlanButtons(Actions* actions);
  [[nodiscard]] QPlainTextEdit* makeLog();
  void showSummary();
  void showPlanButtons();

  Session* session_;  // Not owned.
  QTabBar* tabs_;
  QStackedWidget* pages_;
  QWidget* planButtons_;
  IconButton* planMore_ = nullptr;  // the same where there is no room for them
  bool planButtonsFold_ = false;
  ElidedLabel* summary_;
  RoomSteps* room_ = nullptr;
  DifferencesPage* differences_;
  LearnPage* learn_;
  QPlainTextEdit* log_;
};

}  // namespace normlens::ui

// The bottom dock: Plan, Proof, Differences, Benchmark.
#pragma once

#include <QFrame>

class QStackedWidget;
class QTabBar;

namespace normlens::ui {

class Actions;
class DifferencesPage;
class ElidedLabel;
class IconButton;
class RoomSteps;
class Segmented;
class Session;
struct VariantRow;

class BottomPanel final : public QFrame {
  Q_OBJECT

 public:
  enum Tab { Plan, Proof, Differences, Benchmark };

  BottomPanel(Session* session, Actions* actions, QWidget* parent);  // session, actions: not owned

  void showTab(Tab tab);
  void focusTab();  // the keyboard goes to what the tab shows
  [[nodiscard]] Tab tab() const;
  [[nodiscard]] DifferencesPage* differences() const { return differences_; }

 Q_SIGNALS:
  void nodeChosen(int node);
  void exportAnywayClicked();
  void inputsWanted();
  void comparisonWanted(const normlens::ui::VariantRow& a, const normlens::ui::VariantRow& b);

 private:
  [[nodiscard]] QWidget* makeHeader(Actions* actions);  // the tabs, the summary of the shown one, buttons
  void addPages();
  [[nodiscard]] QWidget* makePlanButtons(Actions* actions);
  void showTitles();
  void showSummary();
  void showPlanButtons();

  Session* session_;  // Not owned.
  QTabBar* tabs_;
  QStackedWidget* pages_;
  Segmented* planView_;  // edits or variants
  QWidget* planButtons_;
  IconButton* planMore_ = nullptr;  // the same where there is no room for them
  bool planButtonsFold_ = false;
  ElidedLabel* summary_;
  RoomSteps* room_ = nullptr;
  DifferencesPage* differences_;
};

}  // namespace normlens::ui

// The bottom dock: Plan, Proof, Benchmark, Log.
#pragma once

#include <QFrame>

class QLabel;
class QStackedWidget;
class QTabBar;

namespace normlens::ui {

class LogPage;
class Session;

class BottomPanel final : public QFrame {
  Q_OBJECT

 public:
  enum Tab { Plan, Proof, Benchmark, Log };

  BottomPanel(Session* session, QWidget* parent);  // session: not owned

  void showTab(Tab tab);
  [[nodiscard]] Tab tab() const;
  [[nodiscard]] LogPage* log() const { return log_; }

 Q_SIGNALS:
  void nodeChosen(int node);
  void exportAnywayClicked();

 private:
  void showSummary();

  Session* session_;  // Not owned.
  QTabBar* tabs_;
  QStackedWidget* pages_;
  QLabel* summary_;
  LogPage* log_;
};

}  // namespace normlens::ui

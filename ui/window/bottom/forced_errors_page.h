// All LayerNorms, each folded alone against its verdict: what that does to the model's outputs, norm by type. Measured
// when the user starts it.
#pragma once

#include <QWidget>

class QPushButton;
class QTableView;

namespace normlens::ui {

class ElidedLabel;
class ForcedErrors;
class ForcedErrorTable;
class Session;

class ForcedErrorsPage final : public QWidget {
  Q_OBJECT

 public:
  ForcedErrorsPage(Session* session, QWidget* parent);  // session: not owned

  // Returns the bar with what is measured and the button; not in the page's own layout: whoever shows the page has a
  // place for it.
  [[nodiscard]] QWidget* bar() const { return bar_; }

 private:
  void go();  // measures, or stops
  void showFigures();
  void followSelection();

  Session* session_;      // Not owned.
  ForcedErrors* errors_;  // Not owned: of the session.
  ForcedErrorTable* rows_;
  QWidget* bar_;
  QTableView* table_;
  ElidedLabel* words_;
  QPushButton* go_;
  bool following_ = false;  // the table follows the selection, it does not make one
};

}  // namespace normlens::ui

// Shows what can be done with a LayerNorm and what the plan does with it, as two marks, with the plan's reason; and the
// ways to choose from where a copy of a weight and a run-time centering compete.
#pragma once

#include <QWidget>

#include "ui/words/plan_mark.h"

class QLabel;
class QVBoxLayout;

namespace normlens::ui {

class Badge;
class Session;

class PlanCard final : public QWidget {
  Q_OBJECT

 public:
  PlanCard(Session* session, QWidget* parent);  // session: not owned

  void showNorm(int norm);  // again when plan or proof changed

 private:
  void showWays(const protocol::NormState* state);

  Session* session_;  // Not owned.
  Badge *verdict_, *plan_;
  QLabel* because_;
  QWidget* ways_;
  QVBoxLayout* wayList_;
};

}  // namespace normlens::ui

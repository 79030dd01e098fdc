// A LayerNorm that cannot fold: what is in its way, on the graph, and what would become of the outputs if it were
// folded all the same, in each floating type, run by the engine.
//
// State: "norm", an index; without it the first one that is blocked.
// Numbers: "verdict", 1 where it folds; "overLimit" in float32, how many times the error is of what rounding explains;
// "float64" and so on: the error there; "path", the ops from the norm to what is in its way.
#pragma once

#include <memory>
#include <vector>

#include "ui/client/question.h"
#include "ui/learn/figure.h"

class QComboBox;
class QLabel;

namespace normlens::graphview {
class GraphView;
}

namespace normlens::ui {

class ErrorBars;

class ForcedFigure final : public Figure {
  Q_OBJECT

 public:
  explicit ForcedFigure(QWidget* parent);

  void showState(const QJsonObject& state, Motion motion) override;
  [[nodiscard]] bool wantsModel() const override { return true; }
  void showModel(const OpenModel& model) override;
  [[nodiscard]] std::optional<double> number(const QString& name) const override;
  [[nodiscard]] bool isSettled() const override;

 protected:
  void enlarge(double factor) override;

 private:
  QWidget* makeControls();
  void chooseNorm(int index);
  void askNext();
  void show();
  [[nodiscard]] const protocol::NormInfo* norm() const;

  OpenModel model_;
  int wanted_ = -1;                            // that the lesson names; -1: the first that is blocked
  std::vector<protocol::ForcedError> errors_;  // of the types so far
  std::unique_ptr<Question> graphQuestion_, errorQuestion_;
  QComboBox* norms_ = nullptr;
  graphview::GraphView* view_ = nullptr;
  QLabel *title_ = nullptr, *reason_ = nullptr, *facts_ = nullptr;
  ErrorBars* bars_ = nullptr;
};

}  // namespace normlens::ui

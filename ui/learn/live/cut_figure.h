// Where a mean has to be taken away at run time: the planner's own network, its minimum cut, and what becomes of it as
// a centering costs more or less. Solved by the engine for each price. docs/method.md 7; the maximum flow is
// the proof: no set of centerings is better.
//
// State: "price", times what a centering costs; "measured": true requests this machine's times; "graph": true shows the
// cut on the model.
// Numbers: "price" of the cut that is shown; "freed", norms; "values" that are centered; "paid", "saved", "net", "cut",
// "cutRounded", "flow".
#pragma once

#include <memory>
#include <optional>

#include "core/protocol/lesson_messages.h"
#include "ui/client/question.h"
#include "ui/learn/figure.h"

class QLabel;
class QStackedWidget;

namespace normlens::graphview {
class GraphView;
}

namespace normlens::ui {

class CutView;
class PriceCurve;
class Segmented;
class ValueSlider;

class CutFigure final : public Figure {
  Q_OBJECT

 public:
  explicit CutFigure(QWidget* parent);

  void showState(const QJsonObject& state, Motion motion) override;
  [[nodiscard]] bool wantsModel() const override { return true; }
  void showModel(const OpenModel& model) override;
  [[nodiscard]] std::optional<double> number(const QString& name) const override;
  [[nodiscard]] bool isSettled() const override;

 protected:
  void enlarge(double factor) override;

 private:
  QWidget* makeBar();
  QWidget* makePlanCard();
  QWidget* makeControls();
  void ask();  // the newest price; the one before is answered first
  void take(const Reply<protocol::CenteringCut>& reply);
  void show();
  void showOnModel();
  void showPlan();
  [[nodiscard]] QString nameOf(int norm) const;

  OpenModel model_;
  double price_ = 1;
  std::optional<protocol::CenteringCut> cut_;
  double solved_ = 1;            // the price that it is of
  std::optional<double> asked_;  // the price that the engine is at
  bool curveKnown_ = false;
  QString trouble_;
  std::unique_ptr<Question> question_;
  QWidget *bar_ = nullptr, *planCard_ = nullptr;
  QLabel *name_ = nullptr, *sums_ = nullptr, *stays_ = nullptr, *proof_ = nullptr;
  Segmented *prices_ = nullptr, *way_ = nullptr;
  QStackedWidget* pictures_ = nullptr;
  CutView* reduced_ = nullptr;
  graphview::GraphView* graph_ = nullptr;
  PriceCurve* curve_ = nullptr;
  ValueSlider* slider_ = nullptr;
};

}  // namespace normlens::ui

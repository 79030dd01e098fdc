// The zero-mean graph of a LayerNorm of the open model, vertex by vertex: the rule at work, in the engine's own words,
// and the layers that would be centered so far. Source: paper 000, Algorithm 1, with the exact rules in place of its
// own.
//
// State: "norm", an index; "at", a share of the way; "play"; "backward".
// Numbers: "pace", vertices a second; "setSize", the layers of the whole walk; "at", a share; "norms" and "folds" of
// the model, "paper": how many the paper's own rules fold.
#pragma once

#include <QTimer>
#include <vector>

#include "ui/client/question.h"
#include "ui/learn/figure.h"

class QComboBox;
class QFrame;
class QLabel;

namespace normlens::graphview {
class GraphView;
}

namespace normlens::ui {

class IconButton;
class Segmented;
class ValueSlider;

class GraphWalkFigure final : public Figure {
  Q_OBJECT

 public:
  explicit GraphWalkFigure(QWidget* parent);

  void showState(const QJsonObject& state, Motion motion) override;
  [[nodiscard]] bool wantsModel() const override { return true; }
  void showModel(const OpenModel& model) override;
  [[nodiscard]] std::optional<double> number(const QString& name) const override;
  bool togglePlay() override;
  [[nodiscard]] Film film() const override;
  void showTime(int ms) override;
  [[nodiscard]] bool isSettled() const override;

 protected:
  void enlarge(double factor) override;

 private:
  QWidget* makeBar();
  QWidget* makeSide();
  QWidget* makeCallout();
  QWidget* makeControls();
  void chooseNorm(int index);
  void showGraph(const protocol::ZeroMeanGraph& graph);
  void goTo(int step);
  void show();
  void walkOn();
  [[nodiscard]] int tick() const;  // ms a vertex
  void jump(QChar vertexClass);    // to the next one of it
  [[nodiscard]] int steps() const { return static_cast<int>(graph_.vertices.size()); }
  // The vertex of a step, as the direction has it.
  [[nodiscard]] const protocol::ZeroMeanVertex& vertexAt(int step) const;
  [[nodiscard]] QString nameOf(int node) const;
  [[nodiscard]] std::vector<int> layersUpTo(int step) const;  // nodes
  [[nodiscard]] protocol::ZeroMeanGraph visited() const;

  OpenModel model_;
  protocol::ZeroMeanGraph graph_;  // in the order of execution
  bool awaited_ = false;           // a graph was wanted and is not there yet
  int step_ = 0;
  double wanted_ = 0;  // share of the way that the lesson sets, until there is a graph
  QWidget* bar_ = nullptr;
  QFrame* side_ = nullptr;
  size_t shownLayers_;
  QComboBox *norms_ = nullptr, *speed_ = nullptr;
  Segmented* direction_ = nullptr;
  graphview::GraphView* view_ = nullptr;
  QLabel *rule_ = nullptr, *why_ = nullptr, *setTitle_ = nullptr, *set_ = nullptr, *totals_ = nullptr;
  IconButton* play_ = nullptr;
  ValueSlider* slider_ = nullptr;
  QTimer clock_;
  std::unique_ptr<Question> question_;  // of the engine that has the model
};

}  // namespace normlens::ui

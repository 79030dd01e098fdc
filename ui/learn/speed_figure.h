// LayerNorm in two passes and in one, and RMSNorm, over the same row at the same pace; below, what the open model's
// norms take where the engine runs, measured when the reader wants it.
//
// State: "time", a share of the whole; "play": true plays from there.
// Numbers: "readsBeforeWriting" of LayerNorm in two passes, for each number; "operations" of it, for each number;
// "rmsNormOperations"; "time".
#pragma once

#include <QVariantAnimation>
#include <vector>

#include "ui/client/question.h"
#include "ui/learn/figure.h"

class QLabel;

namespace normlens::ui {

class IconButton;
class PassView;
class PushButton;
class ValueSlider;

class SpeedFigure final : public Figure {
  Q_OBJECT

 public:
  explicit SpeedFigure(QWidget* parent);

  void showState(const QJsonObject& state, Motion motion) override;
  [[nodiscard]] std::optional<double> number(const QString& name) const override;
  bool togglePlay() override;
  [[nodiscard]] Film film() const override;
  void showTime(int ms) override;
  [[nodiscard]] bool wantsModel() const override { return true; }
  void showModel(const OpenModel& model) override;

 protected:
  void enlarge(double factor) override;

 private:
  QWidget* makeControls();
  QWidget* makeMeasured();
  void measure();
  void showTimes(const Reply<protocol::NormPrices>& reply);
  void setTime(double share);
  void play(double from);

  std::vector<PassView*> views_;  // by NormWay
  OpenModel model_;
  QLabel* measured_ = nullptr;
  PushButton* measure_ = nullptr;
  std::unique_ptr<Question> question_;
  IconButton* button_ = nullptr;
  ValueSlider* slider_ = nullptr;
  int longest_ = 1;  // steps
  double time_ = 0;  // share
  QVariantAnimation clock_;
};

}  // namespace normlens::ui

// LayerNorm in two passes and in one, and RMSNorm, over the same row at the same pace.
//
// State: "time", a share of the whole; "play": true plays from there.
// Numbers: "readsBeforeWriting" of LayerNorm in two passes, for each number; "operations" of it, for each number;
// "rmsNormOperations"; "time".
#pragma once

#include <QVariantAnimation>
#include <vector>

#include "ui/learn/figure.h"

namespace normlens::ui {

class IconButton;
class PassView;
class ValueSlider;

class SpeedFigure final : public Figure {
  Q_OBJECT

 public:
  explicit SpeedFigure(QWidget* parent);

  void showState(const QJsonObject& state, Motion motion) override;
  [[nodiscard]] std::optional<double> number(const QString& name) const override;
  bool togglePlay() override;

 protected:
  void enlarge(double factor) override;

 private:
  QWidget* makeControls();
  void setTime(double share);
  void play(double from);

  std::vector<PassView*> views_;  // by NormWay
  IconButton* button_ = nullptr;
  ValueSlider* slider_ = nullptr;
  int longest_ = 1;  // steps
  double time_ = 0;  // share
  QVariantAnimation clock_;
};

}  // namespace normlens::ui

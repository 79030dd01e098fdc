// A stream with mean zero and one number less: what is dropped, how it comes back, and that the norm does not miss it.
//
// State: "width" of the stream; "show": how many of the rows, from the top: the vector, its recentred form, the
// compressed one, the restored one, the two norms.
// Numbers: "dropped", rounded as it is drawn; "difference" of CRMSNorm and RMSNorm; "width"; "saved", percent.
#pragma once

#include "ui/learn/figure.h"
#include "ui/learn/norm_geometry.h"

class QLabel;

namespace normlens::ui {

class ValueRow;
class ValueSlider;

class CompressionFigure final : public Figure {
  Q_OBJECT

 public:
  explicit CompressionFigure(QWidget* parent);

  void showState(const QJsonObject& state, Motion motion) override;
  [[nodiscard]] std::optional<double> number(const QString& name) const override;

 protected:
  void enlarge(double factor) override;

 private:
  QWidget* makeControls();
  void setWidth(int width);

  Vector centered_;  // in tenths, so that what is drawn can be added up by hand
  std::vector<ValueRow*> rows_;
  ValueSlider* slider_ = nullptr;
  QLabel* finding_ = nullptr;
};

}  // namespace normlens::ui

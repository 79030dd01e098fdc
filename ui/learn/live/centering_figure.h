// A weight centered in part: as it is in the file, as it is now, and what becomes of a LayerNorm's input and of the
// model's outputs with an RMSNorm in its place. The engine runs the model for each point of the error.
//
// W' = (I - share 11^T/m) W (papers 000 and 001, CCWT; share 1 is the centering of a fold).
//
// State: "share"; "kind", a name of LayerKind; "biases", "others"; "play": true plays from there.
// Numbers: "share"; "error" of the outputs now and "limit", six times the noise floor; "errorShare", of the error at
// share 0; "mean", the average size of a row's mean; "kind".
#pragma once

#include <QVariantAnimation>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ui/client/question.h"
#include "ui/learn/figure.h"
#include "ui/learn/live/layer_kind.h"

class QCheckBox;
class QComboBox;

namespace normlens::ui {

class IconButton;
class MeanSpreadPlot;
class Segmented;
class ShareErrorPlot;
class ValueSlider;
class WeightCard;

class CenteringFigure final : public Figure {
  Q_OBJECT

 public:
  explicit CenteringFigure(QWidget* parent);

  void showState(const QJsonObject& state, Motion motion) override;
  [[nodiscard]] bool wantsModel() const override { return true; }
  void showModel(const OpenModel& model) override;
  [[nodiscard]] std::optional<double> number(const QString& name) const override;
  bool togglePlay() override;
  [[nodiscard]] Film film() const override { return {kWhole, kWhole / 50}; }
  void showTime(int ms) override;
  [[nodiscard]] bool isSettled() const override;

 protected:
  void enlarge(double factor) override;
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;  // the engine is wanted elsewhere

 private:
  static constexpr int kWhole = 4000;  // ms from 0 to 100 %

  QWidget* makeBar();
  QWidget* makeControls();
  void listLayers();
  void chooseKind(int kind);
  void chooseLayer(int index);
  void setShare(double share);
  void restart();  // another weight, or others centered with it
  void askWeight();
  void takeWeight(std::optional<protocol::TensorStats> weight);
  void askNext();  // the share that is wanted, then those that the curve lacks
  void take(double share, const Reply<protocol::PartialCentering>& reply);
  void showWeight();
  void showErrors();
  [[nodiscard]] const CenteredLayer* layer() const;
  [[nodiscard]] QString titleOf(const CenteredLayer& layer) const;

  OpenModel model_;
  std::vector<CenteredLayer> layers_;  // all
  std::vector<size_t> offered_;        // of the kind that is chosen
  int kind_ = 0;
  double share_ = 0;
  std::optional<std::pair<int, int>> shown_;  // value and norm of what is requested
  std::optional<protocol::TensorStats> weight_;
  std::map<double, protocol::PartialCentering> runs_;  // by share
  std::optional<double> running_;                      // the share that the engine is at
  QString trouble_;
  std::unique_ptr<Question> weightQuestion_, runQuestion_;
  QWidget* bar_ = nullptr;
  Segmented* kinds_ = nullptr;
  QComboBox* weights_ = nullptr;
  WeightCard *before_ = nullptr, *now_ = nullptr;
  QCheckBox *biases_ = nullptr, *others_ = nullptr;
  IconButton* play_ = nullptr;
  ValueSlider* slider_ = nullptr;
  MeanSpreadPlot* spread_ = nullptr;
  ShareErrorPlot* errors_ = nullptr;
  QVariantAnimation clock_;
};

}  // namespace normlens::ui

// LayerNorm and RMSNorm of a vector of width 3, side by side under one camera: what each throws away; below, the same
// of the open model's vectors, as angles.
//
// State: "mean" and "scale" of x, "show": of "meanPart", "projection", "length", "affine", "otherMeans"; "play": the
// move that is shown once when the step is entered, "projection", "length" or "affine"; "strip": the angles are shown;
// "scene": false: they alone. Numbers: "difference" of the two outputs, "layerNormMoved" and "rmsNormMoved" since mean
// 0, "mean"; those of AngleStrip.
#pragma once

#include <QFrame>
#include <QVariantAnimation>
#include <map>

#include "ui/learn/figure.h"
#include "ui/learn/vector_scene.h"

class QCheckBox;
class QHBoxLayout;
class QLabel;

namespace normlens::ui {

class AngleStrip;
class ValueSlider;

class ProjectionFigure final : public Figure {
  Q_OBJECT

 public:
  explicit ProjectionFigure(QWidget* parent);

  void showState(const QJsonObject& state, Motion motion) override;
  [[nodiscard]] std::optional<double> number(const QString& name) const override;
  [[nodiscard]] bool wantsModel() const override;
  void showModel(const OpenModel& model) override;
  bool togglePlay() override { return play(stepsMove_); }
  [[nodiscard]] Film film() const override { return {stepsMove_ ? kPlay : 0}; }
  void showTime(int ms) override;

 protected:
  void enlarge(double factor) override;

 private:
  static constexpr int kPlay = 900;  // ms
  enum Layer { MeanPart, Projection, Length, Affine, OtherMeans };

  // Holds the widgets of one of the two cards.
  struct Side {
    QFrame* card = nullptr;
    QLabel* title = nullptr;
    QLabel* claim = nullptr;
    VectorScene* scene = nullptr;
    QFrame* line = nullptr;
    QLabel* finding = nullptr;
  };

  QWidget* makeLayers();
  Side makeSide(const QString& title, const QString& claim);
  QWidget* makeControls();
  void moveTo(double mean, double scale, Motion motion);
  bool play(std::optional<Layer> move);  // false: there is none
  void draw();
  [[nodiscard]] Vector input(double mean) const;       // as the scale is
  [[nodiscard]] Vector finished(Vector normed) const;  // with γ and β where they are shown
  [[nodiscard]] SceneContent layerNormContent() const;
  [[nodiscard]] SceneContent rmsNormContent() const;
  void addOtherMeans(SceneContent& content, Vector (*norm)(std::span<const double>)) const;
  [[nodiscard]] bool shows(Layer layer) const;
  void showParts(bool scene, bool strip);

  Vector inPlane_;  // x without its mean, before it is scaled
  double mean_ = 1, scale_ = 1;
  std::map<Layer, QCheckBox*> layers_;
  QWidget* toggles_;
  Side layerNorm_, rmsNorm_;
  ValueSlider *meanSlider_ = nullptr, *scaleSlider_ = nullptr;
  QLabel *movedTitle_ = nullptr, *layerNormMoved_ = nullptr, *rmsNormMoved_ = nullptr;
  AngleStrip* strip_ = nullptr;
  bool presented_ = false;
  QVariantAnimation glide_, played_;
  std::optional<Layer> move_;       // that is played
  std::optional<Layer> stepsMove_;  // that of the lesson's step
};

}  // namespace normlens::ui

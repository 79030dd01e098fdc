#include <QCheckBox>
#include <QGridLayout>
#include <QJsonArray>
#include <QVariantAnimation>
#include <array>
#include <cmath>
#include <map>

#include "ui/learn/angles/angle_strip.h"
#include "ui/learn/figure.h"
#include "ui/learn/value_slider.h"
#include "ui/learn/vector_scene.h"
#include "ui/theme/theme.h"
#include "ui/widgets/frames.h"

namespace normlens::ui {
namespace {

constexpr int kSidesPlace = 1;  // in the column, below the toggles
constexpr int kGlide = 200;     // ms
constexpr double kMostMean = 2, kMostScale = 4;
constexpr std::array kOtherMeans = {-0.6, 0.3, 1.0, 1.8};  // beside that of x
const Vector kInPlane = {1.25, -0.35, -0.9};
const Vector kGamma = {1.4, 0.6, 1.0}, kBeta = {0.35, -0.25, 0.45};

struct LayerWords {
  const char* key;
  const char* word;
  const char* tip;
  SceneMark::Shape shape;
  Ink ink;
  Qt::PenStyle line = Qt::NoPen;  // it is a line, not a mark
};

constexpr std::array<LayerWords, 5> kLayers = {{
    {"meanPart", QT_TRANSLATE_NOOP("ProjectionFigure", "mean part"),
     QT_TRANSLATE_NOOP("ProjectionFigure", "μ1: the part of x along the uniform vector 1 = (1, 1, 1)."),
     SceneMark::Shape::Disc, Ink::MeanPart, Qt::DashLine},
    {"projection", QT_TRANSLATE_NOOP("ProjectionFigure", "projection"),
     QT_TRANSLATE_NOOP("ProjectionFigure", "x − μ1: the part of x in the plane of zero-mean vectors."),
     SceneMark::Shape::Disc, Ink::Projection, Qt::SolidLine},
    {"length", QT_TRANSLATE_NOOP("ProjectionFigure", "length √d"),
     QT_TRANSLATE_NOOP("ProjectionFigure", "The norm's output before γ and β: always √d long, here √3."),
     SceneMark::Shape::Diamond, Ink::Output},
    {"affine", QT_TRANSLATE_NOOP("ProjectionFigure", "γ and β"),
     QT_TRANSLATE_NOOP("ProjectionFigure", "The output after each number is multiplied by its γ and its β is added."),
     SceneMark::Shape::Square, Ink::Affine},
    {"otherMeans", QT_TRANSLATE_NOOP("ProjectionFigure", "other means"),
     QT_TRANSLATE_NOOP("ProjectionFigure", "Inputs that differ from x only in their mean, and their outputs."),
     SceneMark::Shape::Ring, Ink::Faint},
}};

QString meanWords(double mean) { return QString::number(std::abs(mean) < 5e-4 ? 0.0 : mean, 'f', 2); }
QString scaleWords(double power) { return QStringLiteral("%1×").arg(std::exp2(power), 0, 'f', 2); }

Vector between(const Vector& a, const Vector& b, double t) {
  Vector made(a.size());
  for (size_t i = 0; i < a.size(); ++i) made[i] = a[i] + (b[i] - a[i]) * t;
  return made;
}

// LayerNorm and RMSNorm, or BatchNorm, of a vector of width 3, side by side under one camera: what each throws away;
// below, the same of the open model's vectors, as angles. BatchNorm's batch is x and the vectors that differ from it by
// their mean; its γ and β are those that undo it (paper 002, equations 10 and 11).
//
// State: "mean" and "scale" of x, "beside": "batchNorm", or RMSNorm; "show": of "meanPart", "projection", "length",
// "affine", "otherMeans"; "play": the move that is shown once when the step is entered, "projection", "length" or
// "affine"; "strip": the angles are shown; "scene": false: they alone. Numbers: "difference" of LayerNorm's and
// RMSNorm's output, "layerNormMoved", "rmsNormMoved" and "batchNormMoved" since mean 0, "notGivenBack": how far
// BatchNorm's outputs are from its inputs at most; "mean"; those of AngleStrip.
class ProjectionFigure final : public Figure {
 public:
  explicit ProjectionFigure(QWidget* parent) : Figure(parent), inPlane_(kInPlane) {
    setObjectName(QStringLiteral("projectionFigure"));
    toggles_ = makeLayers();
    column()->addWidget(toggles_);
    auto* sides = makeRow(nullptr, 16);
    layerNorm_ = makeSide(tr("LayerNorm"));
    beside_ = makeSide({});
    sides->addWidget(layerNorm_.card);
    sides->addWidget(beside_.card);
    column()->addLayout(sides, 1);
    setControls(makeControls());
    strip_ = new AngleStrip(this);
    column()->addWidget(strip_);
    connect(strip_, &AngleStrip::changed, this, &Figure::changed);
    glide_.setDuration(kGlide);
    glide_.setEasingCurve(QEasingCurve::OutCubic);
    connect(&glide_, &QVariantAnimation::valueChanged, this, [this](const QVariant& at) {
      const auto [mean, scale] = at.toPointF();
      mean_ = mean;
      scale_ = scale;
      draw();
    });
    played_.setDuration(kPlay);
    played_.setStartValue(0.0);
    played_.setEndValue(1.0);
    connect(&played_, &QVariantAnimation::valueChanged, this, [this] { draw(); });
    connect(&played_, &QVariantAnimation::finished, this, [this] {
      move_.reset();
      draw();
    });
    draw();
  }

  void showState(const QJsonObject& state, Motion motion) override {
    const QJsonArray shown = state[QStringLiteral("show")].toArray();
    for (const auto& [layer, box] : layers_) {
      const QSignalBlocker quiet(box);
      box->setChecked(shown.contains(QLatin1String(kLayers[layer].key)));
    }
    strip_->showOutput(shows(Affine));
    showParts(state[QStringLiteral("scene")].toBool(true), state[QStringLiteral("strip")].toBool());
    inPlane_ = kInPlane;
    isBatchNorm_ = state[QStringLiteral("beside")].toString() == QLatin1String("batchNorm");
    move_.reset();
    played_.stop();
    moveTo(state[QStringLiteral("mean")].toDouble(1), state[QStringLiteral("scale")].toDouble(1), motion);
    const QString played = state[QStringLiteral("play")].toString();
    stepsMove_.reset();
    for (const Layer move : {Projection, Length, Affine}) {
      if (played == QLatin1String(kLayers[move].key)) stepsMove_ = move;
    }
    if (motion == Motion::Animated) play(stepsMove_);
  }
  [[nodiscard]] std::optional<double> number(const QString& name) const override {
    const Vector x = input(mean_), centered = input(0);
    if (name == QLatin1String("difference")) return distance(finished(layerNormOf(x)), finished(rmsNormOf(x)));
    if (name == QLatin1String("layerNormMoved"))
      return distance(finished(layerNormOf(x)), finished(layerNormOf(centered)));
    if (name == QLatin1String("rmsNormMoved")) return distance(finished(rmsNormOf(x)), finished(rmsNormOf(centered)));
    if (name == QLatin1String("batchNormMoved")) return distance(batchNormOf(x), batchNormOf(centered));
    if (name == QLatin1String("notGivenBack")) {
      double most = 0;
      for (const Vector& each : batch()) most = std::max(most, distance(batchNormOf(each), each));
      return most;
    }
    if (name == QLatin1String("mean")) return std::abs(meanOf(x));
    return strip_->number(name);
  }
  [[nodiscard]] bool wantsModel() const override { return !strip_->isHidden(); }
  void showModel(const OpenModel& model) override { strip_->showModel(model); }
  bool togglePlay() override { return play(stepsMove_); }
  [[nodiscard]] Film film() const override { return {stepsMove_ ? kPlay : 0}; }
  void showTime(int ms) override {
    played_.stop();
    move_ = stepsMove_;
    played_.setCurrentTime(ms);
    draw();
  }

 protected:
  void enlarge(double factor) override {
    presented_ = true;
    strip_->setFactor(factor * 0.8);  // a picture with a key, not one of two
    toggles_->hide();
    for (const Side& side : {layerNorm_, beside_}) {
      setKind(side.card, "bare");
      side.scene->setFactor(factor);
      side.claim->hide();
      side.line->hide();
      const auto set = [&](QLabel* label, int pixels) {
        label->setStyleSheet(QStringLiteral("font-size: %1px;").arg(static_cast<int>(pixels * factor)));
      };
      set(side.title, 20);
      set(side.finding, 16);
      side.finding->setFixedHeight(static_cast<int>(32 * factor));
    }
  }

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

  QWidget* makeLayers() {
    auto* bar = new QWidget(this);
    auto* row = makeRow(bar, 16);
    row->addWidget(makeLabel(tr("Show"), "soft", bar));
    for (size_t i = 0; i < kLayers.size(); ++i) {
      auto* box = new QCheckBox(tr(kLayers[i].word), bar);
      box->setObjectName(QLatin1String(kLayers[i].key));
      box->setToolTip(tr(kLayers[i].tip));
      layers_[static_cast<Layer>(i)] = box;
      row->addWidget(box);
      connect(box, &QCheckBox::toggled, this, &ProjectionFigure::draw);
      if (i == Affine) connect(box, &QCheckBox::toggled, this, [this](bool shown) { strip_->showOutput(shown); });
    }
    row->addStretch();
    return bar;
  }
  Side makeSide(const QString& title) {
    Side side;
    side.card = makeCard(this);
    auto* column = makeColumn(side.card, 2, {1, 12, 1, 0});
    const auto inset = [&](QLabel* label) {
      label->setContentsMargins(14, 0, 14, 0);
      return label;
    };
    side.title = inset(makeLabel(title, "title", side.card));
    side.claim = inset(makeLabel({}, "soft", side.card));
    side.claim->setWordWrap(true);
    side.scene = new VectorScene(side.card);
    side.scene->setToolTip(tr("Drag to turn; drag the tip of x to move it in the plane, with Shift along 1."));
    side.finding = inset(makeLabel({}, "name", side.card));
    side.finding->setFixedHeight(grown(40));
    column->addWidget(side.title);
    column->addWidget(side.claim);
    column->addWidget(side.scene, 1);
    side.line = makeLine(Qt::Horizontal, side.card);
    column->addWidget(side.line);
    column->addWidget(side.finding);
    connect(side.scene, &VectorScene::cameraTurned, this, [this](const VectorCamera& camera) {
      layerNorm_.scene->setCamera(camera);
      beside_.scene->setCamera(camera);
    });
    connect(side.scene, &VectorScene::tipDragged, this, [this](const Vector& x) {
      mean_ = std::clamp(meanOf(x) / scale_, -kMostMean, kMostMean);
      inPlane_ = withoutMean(x);
      for (double& each : inPlane_) each /= scale_;
      draw();
    });
    return side;
  }
  QWidget* makeControls() {
    auto* card = makeCard(this);
    auto* row = makeRow(card, 32, {16, 10, 16, 10});
    meanSlider_ = new ValueSlider(
        "meanSlider", {tr("Mean of x"), tr("Moves x along the uniform vector."), -kMostMean, kMostMean, 0.1, meanWords},
        card);
    scaleSlider_ = new ValueSlider("scaleSlider",
                                   {tr("Scale of x"), tr("Multiplies x, including its mean."), -std::log2(kMostScale),
                                    std::log2(kMostScale), 0.1, scaleWords},
                                   card);
    row->addWidget(meanSlider_, 3);
    row->addWidget(scaleSlider_, 3);
    row->addWidget(makeLine(Qt::Vertical, card));
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(16);
    grid->setVerticalSpacing(2);
    movedTitle_ = makeLabel({}, "soft", card);
    layerNormMoved_ = makeLabel({}, "mono", card);
    besideMoved_ = makeLabel({}, "mono", card);
    besideName_ = makeLabel({}, "fact", card);
    grid->addWidget(movedTitle_, 0, 0, 1, 2);
    grid->addWidget(makeLabel(tr("LayerNorm"), "fact", card), 1, 0);
    grid->addWidget(layerNormMoved_, 1, 1, Qt::AlignRight);
    grid->addWidget(besideName_, 2, 0);
    grid->addWidget(besideMoved_, 2, 1, Qt::AlignRight);
    row->addLayout(grid, 2);
    connect(meanSlider_, &ValueSlider::moved, this, [this](double mean) { moveTo(mean, scale_, Motion::Cut); });
    connect(scaleSlider_, &ValueSlider::moved, this,
            [this](double power) { moveTo(mean_, std::exp2(power), Motion::Cut); });
    return card;
  }
  void moveTo(double mean, double scale, Motion motion) {
    glide_.stop();
    if (motion == Motion::Cut) {
      mean_ = mean;
      scale_ = scale;
      return draw();
    }
    glide_.setStartValue(QPointF(mean_, scale_));
    glide_.setEndValue(QPointF(mean, scale));
    glide_.start();
    draw();  // where it is there already, no value changes
  }
  // false: there is none
  bool play(std::optional<Layer> move) {
    move_ = move;
    if (move) played_.start();
    return move.has_value();
  }
  void draw() {
    const Theme theme = themeOf(this);
    for (const auto& [layer, box] : layers_) {
      const LayerWords& words = kLayers[layer];
      box->setIcon(markIcon(words.shape, words.line, inkColor(words.ink, theme), theme.panel));
    }
    meanSlider_->setValue(mean_);
    scaleSlider_->setValue(std::log2(scale_));
    layerNorm_.scene->setContent(layerNormContent());
    const int inputs = static_cast<int>(kOtherMeans.size()) + 1;
    const double mean = meanOf(input(mean_)), after = meanOf(finished(layerNormOf(input(mean_))));
    layerNorm_.claim->setText(withAffine(tr("onto the plane of zero-mean vectors, then to radius √3")));
    layerNorm_.finding->setText(
        shows(OtherMeans) ? shows(Affine) ? tr("%1 inputs → 1 output, of mean %2").arg(inputs).arg(meanWords(after))
                                          : tr("%1 inputs → 1 output: the mean is gone").arg(inputs)
        : shows(Affine) ? tr("mean %1 → 0, then %2 by γ and β").arg(meanWords(mean), meanWords(after))
                          : tr("the mean %1 is removed").arg(mean, 0, 'f', 2));
    const QString beside = isBatchNorm_ ? tr("BatchNorm") : tr("RMSNorm");
    beside_.title->setText(beside);
    besideName_->setText(beside);
    isBatchNorm_ ? showBatchNorm(inputs) : showRmsNorm(inputs);
    movedTitle_->setText(tr("Raising the mean from 0 to %1 moves the output by").arg(meanWords(mean_)));
    layerNormMoved_->setText(QString::number(*number(QStringLiteral("layerNormMoved")), 'f', 2));
    besideMoved_->setText(QString::number(
        *number(isBatchNorm_ ? QStringLiteral("batchNormMoved") : QStringLiteral("rmsNormMoved")), 'f', 2));
    setAccessibleName(
        tr("LayerNorm's output moved by %1, %2's by %3").arg(layerNormMoved_->text(), beside, besideMoved_->text()) +
        (isBatchNorm_ ? QString() : tr("; they differ by %1").arg(*number(QStringLiteral("difference")), 0, 'f', 2)));
    Q_EMIT changed();
  }
  void showRmsNorm(int inputs) {
    beside_.claim->setText(withAffine(tr("onto the sphere of radius √3")));
    beside_.scene->setContent(rmsNormContent());
    const double mean = meanOf(input(mean_)), normed = meanOf(finished(rmsNormOf(input(mean_))));
    beside_.finding->setText(shows(OtherMeans) ? tr("%1 inputs → %1 outputs: the mean is still there").arg(inputs)
                                               : tr("mean %1 → %2").arg(mean, 0, 'f', 2).arg(normed, 0, 'f', 2));
  }
  void showBatchNorm(int inputs) {
    beside_.claim->setText(tr("each number by its own mean and deviation over the %1 inputs").arg(inputs));
    beside_.scene->setContent(batchNormContent());
    beside_.finding->setText(shows(Affine) ? tr("α, β give the %1 inputs back").arg(inputs)
                                           : tr("%1 inputs → %1 outputs: the mean is still there").arg(inputs));
  }
  [[nodiscard]] QString withAffine(const QString& claim) const {
    return shows(Affine) ? tr("%1; then γ and β").arg(claim) : claim;
  }
  // As the scale is.
  [[nodiscard]] Vector input(double mean) const {
    Vector x = inPlane_;
    for (double& each : x) each = scale_ * (each + mean);
    return x;
  }
  // With γ and β where they are shown.
  [[nodiscard]] Vector finished(Vector normed) const {
    return shows(Affine) ? scaledAndShifted(normed, kGamma, kBeta) : normed;
  }
  // x, and what differs from it by its mean alone.
  [[nodiscard]] std::vector<Vector> batch() const {
    std::vector<Vector> made{input(mean_)};
    for (const double mean : kOtherMeans) made.push_back(input(mean));
    return made;
  }
  [[nodiscard]] Vector batchNormOf(const Vector& x) const {
    const BatchStatistics statistics = statisticsOf(batch());
    const Vector normed = standardized(x, statistics);
    return shows(Affine) ? scaledAndShifted(normed, statistics.deviation, statistics.mean) : normed;
  }
  [[nodiscard]] SceneContent layerNormContent() const {
    SceneContent content;
    const Vector x = input(mean_), mean = meanPart(x), rest = withoutMean(x), normed = layerNormOf(x);
    addAxes(content);
    if (shows(Length)) {
      std::vector<Vector> circle = circleInPlane(std::sqrt(3.0));
      if (shows(Affine)) {
        for (Vector& at : circle) at = scaledAndShifted(at, kGamma, kBeta);
      }
      content.curves.push_back({std::move(circle), shows(Affine) ? Ink::Affine : Ink::Output, false});
    }
    if (shows(MeanPart)) {
      content.lines.push_back({mean, x, Ink::MeanPart, false, true, false, {}, 1});
      content.lines.push_back({Vector(3, 0), mean, Ink::MeanPart, true, true, true, QStringLiteral("μ1"), 0.6});
    }
    if (shows(Projection)) {
      content.lines.push_back({x, rest, Ink::Projection, false, true, false, {}, 1});
      content.lines.push_back({Vector(3, 0), rest, Ink::Projection, true, false, true, QStringLiteral("x − μ1"), 0.6});
    }
    addInput(content, x);
    addOtherMeans(content, layerNormOf);
    content.marks.push_back(
        {x, SceneMark::Shape::Disc, Ink::Input, QStringLiteral("x"), tr("x, of mean %1").arg(meanOf(x))});
    if (shows(Length)) {
      content.marks.push_back({normed, SceneMark::Shape::Diamond, Ink::Output, shows(Affine) ? QString() : tr("LN(x)"),
                               tr("the output before γ and β")});
    }
    if (shows(Affine))
      content.marks.push_back({finished(normed), SceneMark::Shape::Square, Ink::Affine, tr("LN(x)"), tr("the output")});
    if (move_) {
      const Vector& from = *move_ == Projection ? x : *move_ == Length ? rest : normed;
      const Vector& to = *move_ == Projection ? rest : *move_ == Length ? normed : finished(normed);
      content.marks.push_back({between(from, to, played_.currentValue().toDouble()),
                               SceneMark::Shape::Disc,
                               *move_ == Affine ? Ink::Affine : Ink::Output,
                               {},
                               {}});
    }
    return content;
  }
  [[nodiscard]] SceneContent rmsNormContent() const {
    SceneContent content;
    const Vector x = input(mean_), normed = rmsNormOf(x);
    content.sphere = std::sqrt(3.0);
    content.curves.push_back({circleInPlane(std::sqrt(3.0)), Ink::Output, false});
    addAxes(content);
    addInput(content, x);
    content.lines.push_back(
        {Vector(3, 0), finished(normed), shows(Affine) ? Ink::Affine : Ink::Output, true, false, true, {}, 1});
    addOtherMeans(content, rmsNormOf);
    content.marks.push_back(
        {x, SceneMark::Shape::Disc, Ink::Input, QStringLiteral("x"), tr("x, of mean %1").arg(meanOf(x))});
    content.marks.push_back({finished(normed), shows(Affine) ? SceneMark::Shape::Square : SceneMark::Shape::Diamond,
                             shows(Affine) ? Ink::Affine : Ink::Output, tr("RMS(x)"), tr("the output")});
    return content;
  }
  [[nodiscard]] SceneContent batchNormContent() const {
    SceneContent content;
    addAxes(content);
    addInput(content, input(mean_));
    content.lines.push_back({input(-1.4), input(2.6), Ink::Faint, false, true, false, {}, 1});
    const auto inputs = batch();
    for (const Vector& x : inputs) {
      const bool isX = &x == &inputs.front();
      content.marks.push_back({x, isX ? SceneMark::Shape::Disc : SceneMark::Shape::Ring, isX ? Ink::Input : Ink::Faint,
                               isX && !shows(Affine) ? QStringLiteral("x") : QString(),
                               tr("an input of mean %1").arg(meanOf(x))});
      content.marks.push_back({batchNormOf(x), shows(Affine) ? SceneMark::Shape::Square : SceneMark::Shape::Diamond,
                               shows(Affine) ? Ink::Affine : Ink::Output,
                               !isX            ? QString()
                               : shows(Affine) ? tr("BN(x) = x")
                                               : tr("BN(x)"),
                               tr("what becomes of mean %1").arg(meanOf(x))});
    }
    return content;
  }
  void addOtherMeans(SceneContent& content, Vector (*norm)(std::span<const double>)) const {
    if (!shows(OtherMeans)) return;
    content.lines.push_back({input(-1.4), input(2.6), Ink::Faint, false, true, false, {}, 1});
    std::vector<Vector> way;
    for (double mean = kOtherMeans.front(); mean <= kOtherMeans.back(); mean += 0.05)
      way.push_back(finished(norm(input(mean))));
    content.curves.push_back({std::move(way), Ink::Output, true});
    for (const double mean : kOtherMeans) {
      const Vector x = input(mean), y = finished(norm(x));
      content.marks.push_back(
          {x, SceneMark::Shape::Ring, Ink::Faint, {}, tr("an input of mean %1").arg(scale_ * mean)});
      content.marks.push_back(
          {y, SceneMark::Shape::HollowDiamond, Ink::Output, {}, tr("what becomes of mean %1").arg(scale_ * mean)});
    }
  }
  [[nodiscard]] bool shows(Layer layer) const { return layers_.at(layer)->isChecked(); }
  // A room sees one of the two.
  void showParts(bool scene, bool strip) {
    for (const Side& side : {layerNorm_, beside_}) side.card->setVisible(scene);
    if (!presented_) {
      toggles_->setVisible(scene);
      showControls(scene);
    }
    strip_->setAlone(!scene);
    column()->setStretch(kSidesPlace, scene ? 1 : 0);
    column()->setStretchFactor(strip_, scene ? 0 : 1);
    strip_->setVisible(strip && !(scene && presented_));
  }

  Vector inPlane_;  // x without its mean, before it is scaled
  double mean_ = 1, scale_ = 1;
  bool isBatchNorm_ = false;  // RMSNorm otherwise
  std::map<Layer, QCheckBox*> layers_;
  QWidget* toggles_;
  Side layerNorm_, beside_;
  ValueSlider *meanSlider_ = nullptr, *scaleSlider_ = nullptr;
  QLabel *movedTitle_ = nullptr, *layerNormMoved_ = nullptr, *besideMoved_ = nullptr, *besideName_ = nullptr;
  AngleStrip* strip_ = nullptr;
  bool presented_ = false;
  QVariantAnimation glide_, played_;
  std::optional<Layer> move_;       // that is played
  std::optional<Layer> stepsMove_;  // that of the lesson's step
};

}  // namespace

Figure* makeProjectionFigure(QWidget* parent) { return new ProjectionFigure(parent); }

}  // namespace normlens::ui

#include <QCheckBox>
#include <QComboBox>
#include <QSignalBlocker>
#include <QVariantAnimation>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/protocol/messages.h"
#include "ui/client/question.h"
#include "ui/learn/figure.h"
#include "ui/learn/live/centering_plots.h"
#include "ui/learn/live/layer_kind.h"
#include "ui/learn/live/model_state.h"
#include "ui/learn/value_slider.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/plots/column_plot.h"
#include "ui/widgets/plots/heat_map.h"
#include "ui/widgets/segmented.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

constexpr int kMapHeight = 110;

double largestOf(const std::vector<double>& numbers) {
  double largest = 0;
  for (const double number : numbers) {
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  }
  return largest;
}

// A weight as a heat map with the means that centering takes from it under it: as it is in the file, or with a share of
// them gone. The centering is linear, so a share of it is that share of the way.
class WeightCard final : public QFrame {
 public:
  WeightCard(const char* objectName, QWidget* parent) : QFrame(parent) {
    setObjectName(QLatin1String(objectName));
    setProperty("kind", "card");
    auto* column = makeColumn(this, 6, {16, 10, 16, 10});
    auto* heading = new QHBoxLayout;
    title_ = makeLabel({}, "strong", this);
    shape_ = makeLabel({}, "mono", this);
    heading->addWidget(title_);
    heading->addStretch();
    heading->addWidget(shape_);
    map_ = new HeatMap(this);
    map_->setMinimumHeight(kMapHeight);
    map_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    largest_ = makeLabel({}, "soft", this);
    means_ = new ColumnPlot(this);
    column->addLayout(heading);
    column->addWidget(map_, 1);
    column->addWidget(largest_);
    column->addWidget(means_);
  }

  // weight: with what a plan makes of it; nullopt: it was not read yet. share: of the means that is gone.
  void setWeight(const std::optional<protocol::TensorStats>& weight, double share) {
    const bool centered = weight && weight->after;
    shape_->setText(weight ? formatShape(weight->shape) : QString());
    largest_->clear();
    means_->setMeans(centered ? weight->column_means : std::vector<double>());
    means_->setLeft(1 - share);
    if (!weight) return map_->setCells({}, 0, 0, 0);
    std::vector<double> heat = weight->before.heat;
    const double reach = largestOf(heat);
    for (size_t i = 0; centered && i < heat.size(); ++i) heat[i] += share * (weight->after->heat[i] - heat[i]);
    map_->setCells(heat, weight->heat_rows, weight->heat_columns, reach);
    if (!centered) return;
    const double largest = weight->before.largest_column_mean * (1 - share);
    largest_->setText(share > 0 ? tr("What remains of the means: the largest is %1").arg(formatNumber(largest, 2))
                                : tr("The means that are removed: the largest is %1").arg(formatNumber(largest, 2)));
  }
  void setTitle(const QString& title) { title_->setText(title); }
  // Scales text.
  void setFactor(double factor) {
    map_->setMinimumHeight(kMapHeight / 2);
    means_->setBare();
    for (QLabel* label : {title_, shape_, largest_})
      label->setStyleSheet(QStringLiteral("font-size: %1px;").arg(static_cast<int>(13 * factor)));
  }

 private:
  QLabel *title_, *shape_, *largest_;
  HeatMap* map_;
  ColumnPlot* means_;
};

// The shares at which the curve is drawn, coarse to fine: it drops where nothing is left.
constexpr double kCurve[] = {0, 1, 0.5, 0.9, 0.99, 0.75, 0.97, 0.25, 0.997, 0.999};

QString percent(double share) { return QObject::tr("%1%").arg(formatNumber(share * 100, 4)); }

protocol::PlanParams freePlan() {
  protocol::PlanParams plan;
  plan.policy = Policy::Free;
  return plan;
}

// A weight centered in part: as it is in the file, as it is now, and what becomes of a LayerNorm's input and of the
// model's outputs with an RMSNorm in its place. The engine runs the model for each point of the error.
//
// W' = (I - share 11^T/m) W (papers 000 and 001, CCWT; share 1 is the centering of a fold).
//
// State: "share"; "kind", a name of LayerKind; "biases", "others"; "play": true plays from there.
// Numbers: "share"; "error" of the outputs now and "limit", six times the noise floor; "errorShare", of the error at
// share 0; "mean", the average size of a row's mean; "kind".
class CenteringFigure final : public Figure {
 public:
  explicit CenteringFigure(QWidget* parent) : Figure(parent) {
    setObjectName(QStringLiteral("centeringFigure"));
    bar_ = makeBar();
    column()->addWidget(bar_);
    auto* upper = makeRow(nullptr, 16);
    before_ = new WeightCard("weightBefore", this);
    now_ = new WeightCard("weightNow", this);
    before_->setTitle(tr("In the file"));
    upper->addWidget(before_, 1);
    upper->addWidget(now_, 1);
    column()->addLayout(upper, 3);
    auto* lower = makeRow(nullptr, 16);
    spread_ = new MeanSpreadPlot(this);
    errors_ = new ShareErrorPlot(this);
    lower->addWidget(spread_, 1);
    lower->addWidget(errors_, 1);
    column()->addLayout(lower, 2);
    setControls(makeControls());
    clock_.setEndValue(1.0);
    connect(&clock_, &QVariantAnimation::valueChanged, this, [this](const QVariant& at) { setShare(at.toDouble()); });
    connect(&clock_, &QVariantAnimation::stateChanged, this, [this](QAbstractAnimation::State state) {
      play_->setText(state == QAbstractAnimation::Running ? tr("Pause") : tr("Play"));
    });
    showModel({});
  }

  void showState(const QJsonObject& state, Motion motion) override {
    clock_.stop();
    const QSignalBlocker quietBiases(biases_), quietOthers(others_);
    const bool biases = state[QStringLiteral("biases")].toBool(true),
               others = state[QStringLiteral("others")].toBool(true);
    const bool sameSet = biases == biases_->isChecked() && others == others_->isChecked();
    biases_->setChecked(biases);
    others_->setChecked(others);
    const QString kind = state[QStringLiteral("kind")].toString();
    for (int each = 0; each < kLayerKinds; ++each) {
      if (!kind.isEmpty() && layerKindName(static_cast<LayerKind>(each)) == kind) kind_ = each;
    }
    share_ = state[QStringLiteral("share")].toDouble();
    slider_->setValue(share_);
    kinds_->setCurrent(kind_);
    if (!sameSet) shown_.reset();
    chooseKind(kind_);
    if (motion == Motion::Animated && state[QStringLiteral("play")].toBool()) togglePlay();
  }
  [[nodiscard]] bool wantsModel() const override { return true; }
  void showModel(const OpenModel& model) override {
    if (model.engine != model_.engine) {
      weightQuestion_ = model.engine != nullptr ? std::make_unique<Question>(model.engine, this) : nullptr;
      runQuestion_ = model.engine != nullptr ? std::make_unique<Question>(model.engine, this) : nullptr;
    }
    if (model.document != model_.document) shown_.reset();
    model_ = model;
    listLayers();
  }
  [[nodiscard]] std::optional<double> number(const QString& name) const override {
    if (name == QLatin1String("share")) return share_;
    if (name == QLatin1String("kind")) return layer() != nullptr ? std::optional<double>(kind_) : std::nullopt;
    const auto here = runs_.find(share_), none = runs_.find(0);
    if (here == runs_.end()) return std::nullopt;
    if (name == QLatin1String("error")) return here->second.max_rel;
    if (name == QLatin1String("limit")) return here->second.limit;
    if (name == QLatin1String("overLimit")) {
      // With a part left out the task is not done, even where that part has no mean in this model.
      const bool whole = biases_->isChecked() && others_->isChecked();
      return std::max(here->second.max_rel / here->second.limit, whole ? 0.0 : 1.0);
    }
    if (name == QLatin1String("errorShare") && none != runs_.end()) return here->second.max_rel / none->second.max_rel;
    if (name == QLatin1String("mean")) return meanSize(here->second.means);
    return std::nullopt;
  }
  bool togglePlay() override {
    if (clock_.state() == QAbstractAnimation::Running) {
      clock_.stop();
      return true;
    }
    const double from = share_ < 1 ? share_ : 0;
    clock_.setStartValue(from);
    clock_.setDuration(std::max(1, static_cast<int>(kWhole * (1 - from))));
    clock_.start();
    return true;
  }
  [[nodiscard]] Film film() const override { return {kWhole, kWhole / 50}; }
  void showTime(int ms) override {
    clock_.stop();
    setShare(std::min(1.0, static_cast<double>(ms) / kWhole));
  }
  [[nodiscard]] bool isSettled() const override {
    return layer() == nullptr ? model_.document != nullptr || !model_.trouble.isEmpty()
                              : !trouble_.isEmpty() || (weight_ && runs_.contains(share_));
  }

 protected:
  void enlarge(double factor) override {
    bar_->hide();
    spread_->setFactor(factor);
    errors_->setFactor(factor);
    for (WeightCard* card : {before_, now_}) card->setFactor(factor);
  }
  void showEvent(QShowEvent* event) override {
    Figure::showEvent(event);
    askNext();
  }
  // The engine is wanted elsewhere.
  void hideEvent(QHideEvent* event) override {
    Figure::hideEvent(event);
    clock_.stop();
    running_.reset();
    if (runQuestion_) runQuestion_->drop();
  }

 private:
  static constexpr int kWhole = 4000;  // ms from 0 to 100 %

  QWidget* makeBar() {
    auto* bar = new QWidget(this);
    auto* row = makeRow(bar, -1);
    QVector<Segment> segments;
    for (int kind = 0; kind < kLayerKinds; ++kind) {
      const auto each = static_cast<LayerKind>(kind);
      segments << Segment{layerKindName(each), layerKindMeaning(each)};
    }
    kinds_ = new Segmented(segments, bar);
    kinds_->setSnug(true);
    kinds_->setObjectName(QStringLiteral("layerKinds"));
    kinds_->setAccessibleName(tr("Kind of layer"));
    row->addWidget(kinds_);
    row->addStretch();
    weights_ = describe(makeNameChoice(16, bar), "centeredWeight", {}, tr("Weight"));
    row->addWidget(weights_);
    connect(kinds_, &Segmented::chosen, this, &CenteringFigure::chooseKind);
    connect(weights_, &QComboBox::activated, this, &CenteringFigure::chooseLayer);
    return bar;
  }
  QWidget* makeControls() {
    auto* card = makeCard(this);
    auto* row = makeRow(card, 24, {16, 10, 16, 10});
    play_ = describe(new IconButton({}, tr("Play"), tr("Centers from 0% to 100% (Space)."), card), "playShare");
    play_->setLook(IconButton::Look::Outlined);
    slider_ = new ValueSlider("shareSlider",
                              {tr("Centered"), tr("How much of each mean is subtracted."), 0, 1, 0.01, percent}, card);
    row->addWidget(play_);
    row->addWidget(slider_, 1);
    auto* checks = new QVBoxLayout;
    const auto add = [&](const char* name, const QString& words, const QString& tip) {
      auto* check = new QCheckBox(words, card);
      check->setObjectName(QLatin1String(name));
      check->setToolTip(tip);
      check->setChecked(true);
      checks->addWidget(check);
      connect(check, &QCheckBox::toggled, this, &CenteringFigure::restart);
      return check;
    };
    biases_ = add("withBiases", tr("the biases too"), tr("A bias adds its mean to every row."));
    others_ = add("withOthers", tr("its other layers"), tr("Every term of the LayerNorm's input, by the same share."));
    row->addLayout(checks);
    connect(play_, &IconButton::clicked, this, &CenteringFigure::togglePlay);
    connect(slider_, &ValueSlider::moved, this, [this](double share) {
      clock_.stop();
      setShare(share);
    });
    return card;
  }
  void listLayers() {
    layers_ =
        model_.document ? centeredLayers(*model_.document, model_.norms, model_.edits) : std::vector<CenteredLayer>();
    QVector<Segment> segments;
    for (int kind = 0; kind < kLayerKinds; ++kind) {
      const auto each = static_cast<LayerKind>(kind);
      const bool there = std::ranges::find(layers_, each, &CenteredLayer::kind) != layers_.end();
      segments << Segment{
          layerKindName(each),
          there ? layerKindMeaning(each) : tr("No weight of this model is known to be centered for a LayerNorm."),
          there};
    }
    kinds_->setSegments(segments);
    const bool has = std::ranges::find(layers_, static_cast<LayerKind>(kind_), &CenteredLayer::kind) != layers_.end();
    chooseKind(has || layers_.empty() ? kind_ : static_cast<int>(layers_.front().kind));
  }
  void chooseKind(int kind) {
    kind_ = kind;
    kinds_->setCurrent(kind);
    offered_.clear();
    const QSignalBlocker quiet(weights_);
    weights_->clear();
    // The last one: behind it all layers of the stream are in play.
    int chosen = -1;
    bool kept = false;
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (static_cast<int>(layers_[i].kind) != kind) continue;
      const bool same = shown_ && *shown_ == std::pair(layers_[i].value, layers_[i].norm);
      if (!kept) chosen = static_cast<int>(offered_.size());
      kept = kept || same;
      offered_.push_back(i);
      weights_->addItem(titleOf(layers_[i]));
    }
    weights_->setCurrentIndex(chosen);
    if (kept && weight_ && !runs_.empty()) return setShare(share_);
    restart();
  }
  void chooseLayer(int index) {
    weights_->setCurrentIndex(index);
    restart();
  }
  void setShare(double share) {
    share_ = share;
    slider_->setValue(share);
    showWeight();
    showErrors();
    askNext();
  }
  // Another weight, or others centered with it.
  void restart() {
    shown_.reset();
    if (layer() != nullptr) shown_ = {layer()->value, layer()->norm};
    runs_.clear();
    running_.reset();
    if (runQuestion_) runQuestion_->drop();
    trouble_ = missingModel(model_);
    if (model_.document != nullptr && layers_.empty()) {
      trouble_ = someUnknown(model_)
                     ? tr("Which weights are centered is not known: no run has shown the shapes that decide.")
                     : tr("No weight of this model is centered for a LayerNorm.");
    }
    spread_->setBefore({});
    askWeight();
    setShare(share_);
  }
  void askWeight() {
    takeWeight({});
    if (layer() == nullptr || weightQuestion_ == nullptr) return;
    weightQuestion_->ask(protocol::methods::kTensorStats, {layer()->value, freePlan()},
                         [this](Reply<protocol::TensorStats>& reply) {
                           if (!reply) trouble_ = reply.error().message;
                           if (reply) takeWeight(std::move(*reply));
                         });
  }
  void takeWeight(std::optional<protocol::TensorStats> weight) {
    weight_ = std::move(weight);
    before_->setWeight(weight_, 0);
    showWeight();
  }
  // The share that is wanted, then those that the curve lacks.
  void askNext() {
    if (!isVisible() || running_ || layer() == nullptr || runQuestion_ == nullptr || !trouble_.isEmpty()) return;
    std::optional<double> next;
    if (!runs_.contains(share_)) next = share_;
    for (const double share : kCurve) {
      if (!next && !runs_.contains(share)) next = share;
    }
    if (!next) return;
    running_ = next;
    const protocol::PartialCenteringParams params{layer()->norm,        layer()->value,       *next,
                                                  others_->isChecked(), biases_->isChecked(), {}};
    runQuestion_->ask(protocol::methods::kPartialCentering, params,
                      [this, share = *next](const Reply<protocol::PartialCentering>& reply) { take(share, reply); });
  }
  void take(double share, const Reply<protocol::PartialCentering>& reply) {
    running_.reset();
    if (!reply) {
      if (!reply.error().cancelled()) trouble_ = reply.error().message;
    } else if (!reply->error.empty()) {
      trouble_ = asSentence(text(reply->error));
    } else {
      runs_[share] = *reply;
      if (share == 0) spread_->setBefore(reply->means);
    }
    showErrors();
    askNext();
  }
  void showWeight() {
    now_->setWeight(weight_, share_);
    now_->setTitle(share_ == 1 ? tr("Centered") : tr("%1 centered").arg(percent(share_)));
  }
  void showErrors() {
    std::map<double, double> errors;
    double limit = 0;
    for (const auto& [share, run] : runs_) {
      errors[share] = run.max_rel;
      limit = run.limit;
    }
    const auto here = runs_.find(share_);
    const auto* of = layer();
    errors_->setErrors(errors, limit);
    errors_->setShare(share_);
    errors_->setWords(runs_.empty() ? QString() : text(runs_.begin()->second.dtype),
                      !trouble_.isEmpty() ? trouble_
                      : runs_.empty()     ? tr("The engine runs the model")
                                          : QString());
    if (here != runs_.end()) spread_->setNow(here->second.means, tr("%1 centered").arg(percent(share_)));
    if (runs_.empty()) spread_->setNow({}, {});
    spread_->setCaption(of == nullptr || runs_.empty()
                            ? QString()
                            : tr("%1, %2 rows")
                                  .arg(shortName(text(model_.norms[static_cast<size_t>(of->norm)].title)))
                                  .arg(runs_.begin()->second.means.size()));
    setAccessibleName(
        here == runs_.end()
            ? tr("%1 centered").arg(percent(share_))
            : tr("%1 centered: the outputs differ by %2").arg(percent(share_), formatError(here->second.max_rel)));
    Q_EMIT changed();
  }
  [[nodiscard]] const CenteredLayer* layer() const;
  // Short where that is unique; with its norm where the parts of one weight are centered for several.
  [[nodiscard]] QString titleOf(const CenteredLayer& layer) const {
    const auto alike = [&](const CenteredLayer& each) {
      return each.value != layer.value && shortName(each.name) == shortName(layer.name);
    };
    const QString name = std::ranges::any_of(layers_, alike) ? layer.name : shortName(layer.name);
    if (std::ranges::count(layers_, layer.value, &CenteredLayer::value) < 2) return name;
    return tr("%1 for %2").arg(name, shortName(text(model_.norms[static_cast<size_t>(layer.norm)].title)));
  }

  OpenModel model_;
  std::vector<CenteredLayer> layers_;  // all
  std::vector<size_t> offered_;        // Layers of the chosen kind.
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

const CenteredLayer* CenteringFigure::layer() const {
  const int index = weights_->currentIndex();
  return index < 0 || index >= static_cast<int>(offered_.size()) ? nullptr
                                                                 : &layers_[offered_[static_cast<size_t>(index)]];
}

}  // namespace

Figure* makeCenteringFigure(QWidget* parent) { return new CenteringFigure(parent); }

}  // namespace normlens::ui

#include "ui/learn/speed_figure.h"

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <algorithm>
#include <cmath>

#include "ui/learn/pass_view.h"
#include "ui/learn/value_slider.h"
#include "ui/session/words/format.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/push_button.h"

namespace normlens::ui {
namespace {

constexpr int kWhole = 9000;  // ms for all steps of the longest
const Vector kRow = {1.7, 0.4, -0.6, 2.3, 1.1, -1.2, 0.9, 1.5, -0.3, 0.2, 2.0, 0.6, -0.8, 1.3, 0.7, 1.0};

QString percent(double share) { return QStringLiteral("%1 %").arg(static_cast<int>(std::lround(share * 100))); }

double perNumber(int count) { return static_cast<double>(count) / static_cast<double>(kRow.size()); }

}  // namespace

SpeedFigure::SpeedFigure(QWidget* parent) : Figure(parent) {
  setObjectName(QStringLiteral("speedFigure"));
  const Vector gamma(kRow.size(), 1.1), beta(kRow.size(), 0.2);
  const auto add = [&](NormWay way, const QString& title, const QString& claim) {
    auto* view = new PassView(title, claim, this);
    view->setPasses(passesOf(way, kRow, gamma, beta), kRow);
    longest_ = std::max(longest_, static_cast<int>(view->passes().steps.size()));
    views_.push_back(view);
    column()->addWidget(view, 1);
  };
  add(NormWay::LayerNormTwoPasses, tr("LayerNorm, the mean first"), tr("reads the row three times"));
  add(NormWay::LayerNormOnePass, tr("LayerNorm, one pass (Welford)"), tr("reads it twice, computes more"));
  add(NormWay::RmsNorm, tr("RMSNorm"), tr("reads it twice, computes least"));
  column()->addWidget(makeMeasured());
  setControls(makeControls());
  clock_.setEndValue(1.0);
  connect(&clock_, &QVariantAnimation::valueChanged, this, [this](const QVariant& at) { setTime(at.toDouble()); });
  connect(&clock_, &QVariantAnimation::stateChanged, this, [this](QAbstractAnimation::State state) {
    button_->setText(state == QAbstractAnimation::Running ? tr("Pause") : tr("Play"));
  });
  setTime(0);
  showModel({});
}

QWidget* SpeedFigure::makeMeasured() {
  auto* card = new QFrame(this);
  card->setProperty("kind", "card");
  card->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
  auto* row = new QHBoxLayout(card);
  row->setContentsMargins(16, 8, 16, 8);
  measured_ = makeLabel({}, "fact", card);
  measured_->setObjectName(QStringLiteral("measuredTimes"));
  measured_->setWordWrap(true);
  row->addWidget(measured_);
  return card;
}

void SpeedFigure::showModel(const OpenModel& model) {
  if (model.engine != model_.engine)
    question_ = model.engine != nullptr ? std::make_unique<Question>(model.engine, this) : nullptr;
  const bool isNew = model.document != model_.document || model.document == nullptr;
  model_ = model;
  if (!isNew) return;  // what was measured of it stays
  if (question_) question_->drop();
  measure_->setEnabled(question_ != nullptr && model_.document != nullptr);
  measured_->setText(model_.document != nullptr  ? tr("On this machine: not measured yet.")
                     : !model_.trouble.isEmpty() ? model_.trouble
                                                 : tr("Opening the model"));
}

void SpeedFigure::measure() {
  measure_->setEnabled(false);
  measured_->setText(tr("The engine runs the model's largest LayerNorm and the RMSNorm in its place…"));
  question_->ask(protocol::methods::kNormPrices, {},
                 [this](const Reply<protocol::NormPrices>& reply) { showTimes(reply); });
}

void SpeedFigure::showTimes(const Reply<protocol::NormPrices>& reply) {
  const bool measured = reply && reply->rows > 0 && reply->layer_norm_us > 0;
  measure_->setEnabled(!reply);  // to try again
  measured_->setText(!reply ? asSentence(reply.error().message)
                     : !measured
                         ? tr("This model has no LayerNorm whose size is known.")
                         : tr("On this machine, on the CPU: LayerNorm %1, RMSNorm %2, so %3 the time. "
                              "%4 rows of d = %5, in the model's runtime.")
                               .arg(formatMicroseconds(reply->layer_norm_us), formatMicroseconds(reply->rms_norm_us),
                                    formatRatio(reply->rms_norm_us / reply->layer_norm_us))
                               .arg(reply->rows)
                               .arg(reply->width));
  Q_EMIT changed();
}

QWidget* SpeedFigure::makeControls() {
  auto* card = new QFrame(this);
  card->setProperty("kind", "card");
  auto* row = new QHBoxLayout(card);
  row->setContentsMargins(16, 10, 16, 10);
  row->setSpacing(24);
  button_ = new IconButton({}, tr("Play"), tr("All three at the same pace: a number in each step (Space)."), card);
  button_->setObjectName(QStringLiteral("play"));
  button_->setLook(IconButton::Look::Outlined);
  slider_ = new ValueSlider("timeSlider", {tr("Time"), tr("How far they are."), 0, 1, 1.0 / 48, percent}, card);
  row->addWidget(button_);
  row->addWidget(slider_, 1);
  measure_ = new PushButton(tr("Measure here"), PushButton::Look::Outlined, card);
  measure_->setObjectName(QStringLiteral("measureTimes"));
  measure_->setToolTip(tr("Some seconds: what both norms take where the engine runs."));
  row->addWidget(measure_);
  connect(measure_, &PushButton::clicked, this, &SpeedFigure::measure);
  connect(button_, &IconButton::clicked, this, &SpeedFigure::togglePlay);
  connect(slider_, &ValueSlider::moved, this, [this](double share) {
    clock_.stop();
    setTime(share);
  });
  return card;
}

void SpeedFigure::showState(const QJsonObject& state, Motion motion) {
  clock_.stop();
  setTime(state[QStringLiteral("time")].toDouble());
  if (motion == Motion::Animated && state[QStringLiteral("play")].toBool()) play(time_);
}

bool SpeedFigure::togglePlay() {
  if (clock_.state() == QAbstractAnimation::Running) {
    clock_.stop();
  } else {
    play(time_ < 1 ? time_ : 0);
  }
  return true;
}

Film SpeedFigure::film() const { return {kWhole, kWhole / longest_}; }

void SpeedFigure::showTime(int ms) {
  clock_.stop();
  setTime(std::min(1.0, static_cast<double>(ms) / kWhole));
}

void SpeedFigure::play(double from) {
  clock_.setStartValue(from);
  clock_.setDuration(std::max(1, static_cast<int>(kWhole * (1 - from))));
  clock_.start();
}

void SpeedFigure::setTime(double share) {
  time_ = share;
  slider_->setValue(share);
  for (PassView* view : views_) view->setTime(static_cast<int>(std::lround(share * longest_)));
  QStringList words;
  for (const PassView* view : views_)
    words << QStringLiteral("%1: %2").arg(view->accessibleName(), view->accessibleDescription());
  setAccessibleName(words.join(QStringLiteral("; ")));
  Q_EMIT changed();
}

std::optional<double> SpeedFigure::number(const QString& name) const {
  const auto& twoPasses = views_[static_cast<size_t>(NormWay::LayerNormTwoPasses)]->passes();
  if (name == QLatin1String("time")) return time_;
  if (name == QLatin1String("operations")) return perNumber(twoPasses.last().operations);
  if (name == QLatin1String("rmsNormOperations"))
    return perNumber(views_[static_cast<size_t>(NormWay::RmsNorm)]->passes().last().operations);
  if (name != QLatin1String("readsBeforeWriting")) return std::nullopt;
  const auto first = std::ranges::find_if(twoPasses.steps, [](const NormPassStep& step) { return step.writes > 0; });
  return std::floor(perNumber(first->reads - 1));
}

void SpeedFigure::enlarge(double factor) {
  for (PassView* view : views_) view->setFactor(factor);
  measured_->setStyleSheet(QStringLiteral("font-size: %1px;").arg(static_cast<int>(12 * factor)));
}

}  // namespace normlens::ui

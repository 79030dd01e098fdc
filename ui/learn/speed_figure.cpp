#include "ui/learn/speed_figure.h"

#include <QFrame>
#include <QHBoxLayout>
#include <algorithm>
#include <cmath>

#include "ui/learn/pass_view.h"
#include "ui/learn/value_slider.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/icon_button.h"

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
  setControls(makeControls());
  clock_.setEndValue(1.0);
  connect(&clock_, &QVariantAnimation::valueChanged, this, [this](const QVariant& at) { setTime(at.toDouble()); });
  connect(&clock_, &QVariantAnimation::stateChanged, this, [this](QAbstractAnimation::State state) {
    button_->setText(state == QAbstractAnimation::Running ? tr("Pause") : tr("Play"));
  });
  setTime(0);
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
}

}  // namespace normlens::ui

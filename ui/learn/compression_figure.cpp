#include "ui/learn/compression_figure.h"

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "ui/learn/value_row.h"
#include "ui/learn/value_slider.h"
#include "ui/widgets/frames.h"

namespace normlens::ui {
namespace {

constexpr int kLeast = 4, kMost = 12, kUsual = 8;
constexpr double kMean = 0.8;
// Tenths, before the last one, which makes their mean zero.
constexpr std::array kTenths = {13, -7, 4, 21, -12, 9, -5, 16, -18, 6, 11};

}  // namespace

CompressionFigure::CompressionFigure(QWidget* parent) : Figure(parent) {
  setObjectName(QStringLiteral("compressionFigure"));
  const auto add = [this](const QString& title, const QString& claim) {
    rows_.push_back(new ValueRow(title, claim, this));
    column()->addWidget(rows_.back(), 1);
  };
  add(tr("The stream"), tr("d numbers, with a mean"));
  add(tr("Recentred once, at the input"), tr("the mean is gone: Pre-RMSNorm"));
  add(tr("Compressed"), tr("d − 1 numbers: Pre-CRMSNorm"));
  add(tr("Restored"), tr("the last is minus the sum of the others"));
  add(tr("RMSNorm of the restored"), tr("d numbers"));
  add(tr("CRMSNorm of the compressed"), tr("the same, without ever restoring"));
  setControls(makeControls());
  setWidth(kUsual);
}

QWidget* CompressionFigure::makeControls() {
  auto* card = new QFrame(this);
  card->setProperty("kind", "card");
  auto* row = new QHBoxLayout(card);
  row->setContentsMargins(16, 10, 16, 10);
  row->setSpacing(32);
  slider_ = new ValueSlider("widthSlider",
                            {tr("Width d"), tr("Of the stream."), kLeast, kMost, 1,
                             [](double width) { return QString::number(static_cast<int>(std::lround(width))); }},
                            card);
  finding_ = makeLabel({}, "fact", card);
  row->addWidget(slider_, 1);
  row->addWidget(finding_, 1);
  connect(slider_, &ValueSlider::moved, this, [this](double width) { setWidth(static_cast<int>(std::lround(width))); });
  return card;
}

void CompressionFigure::showState(const QJsonObject& state, Motion /*motion*/) {
  const auto shown = static_cast<size_t>(state[QStringLiteral("show")].toInt(static_cast<int>(rows_.size())));
  for (size_t i = 0; i < rows_.size(); ++i) rows_[i]->setVisible(i < shown);
  setWidth(state[QStringLiteral("width")].toInt(kUsual));
}

void CompressionFigure::setWidth(int width) {
  const auto d = static_cast<size_t>(std::clamp(width, kLeast, kMost));
  centered_.clear();
  for (size_t i = 0; i + 1 < d; ++i) centered_.push_back(kTenths[i] / 10.0);
  centered_ = restored(centered_);
  Vector stream = centered_;
  for (double& each : stream) each += kMean;
  const Vector less = compressed(centered_), normed = rmsNormOf(centered_), crms = crmsNormOf(less),
               back = restored(less);
  const auto last = static_cast<int>(d) - 1;
  const Vector* const shown[] = {&stream, &centered_, &less, &back, &normed, &crms};
  for (size_t i = 0; i < rows_.size(); ++i) rows_[i]->setValues(*shown[i], d, i == 1 || i == 3 ? last : -1);
  slider_->setValue(static_cast<double>(d));
  finding_->setText(tr("%1 numbers a token in place of %2: %3 % less to move; %4")
                        .arg(d - 1)
                        .arg(d)
                        .arg(*number(QStringLiteral("saved")), 0, 'f', 1)
                        .arg((d - 1) % 2 == 0 ? tr("an even width, which kernels load in pairs")
                                              : tr("an odd width, which kernels have to pad")));
  setAccessibleName(
      tr("CRMSNorm and RMSNorm differ by %1 at width %2").arg(*number(QStringLiteral("difference")), 0, 'g', 2).arg(d));
  Q_EMIT changed();
}

std::optional<double> CompressionFigure::number(const QString& name) const {
  const auto d = static_cast<double>(centered_.size());
  if (name == QLatin1String("dropped")) return std::round(centered_.back() * 10) / 10;
  if (name == QLatin1String("width")) return d;
  if (name == QLatin1String("saved")) return 100 / d;
  if (name == QLatin1String("difference"))
    return distance(compressed(rmsNormOf(centered_)), crmsNormOf(compressed(centered_)));
  return std::nullopt;
}

void CompressionFigure::enlarge(double factor) {
  for (ValueRow* row : rows_) row->setFactor(factor);
  finding_->setStyleSheet(QStringLiteral("font-size: %1px;").arg(static_cast<int>(13 * factor)));
}

}  // namespace normlens::ui

#include <QPainter>
#include <QWidget>
#include <algorithm>
#include <array>
#include <cmath>

#include "ui/learn/card_paint.h"
#include "ui/learn/figure.h"
#include "ui/learn/norm_geometry.h"
#include "ui/learn/value_slider.h"
#include "ui/theme/theme.h"
#include "ui/widgets/frames.h"

namespace normlens::ui {
namespace {

// A vector as a row of numbers with bars: one may be hidden, one marked.
class ValueRow final : public QWidget {
 public:
  ValueRow(QString title, QString claim, QWidget* parent)
      : QWidget(parent), title_(std::move(title)), claim_(std::move(claim)) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setAccessibleName(title_);
  }

  // cells: how many there is room for; more than the vector has: they are empty. marked: -1, none.
  void setValues(const Vector& values, size_t cells, int marked) {
    values_ = values;
    cells_ = cells;
    marked_ = marked;
    QStringList words;
    for (const double each : values_) words << QString::number(each, 'f', 1);
    setAccessibleDescription(words.join(QStringLiteral(", ")));
    update();
  }
  void setFactor(double factor) {
    factor_ = factor;
    update();
  }
  [[nodiscard]] QSize sizeHint() const override { return {480, 96}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {240, 72}; }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme theme = themeOf(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    // In a room the rows are low and the text is large: the title is beside the bars, without what it claims.
    const QRectF inside = factor_ > 1 ? paintLowCard(painter, rect(), title_, theme, factor_)
                                      : paintCard(painter, rect(), {title_, claim_}, theme, factor_);
    const double line = (factor_ > 1 ? 16 : 20) * factor_;
    const QRectF bars(inside.left(), inside.top(), inside.width(), inside.height() - line);
    double most = 1e-9;
    for (const double each : values_) most = std::max(most, std::abs(each));
    const double step = inside.width() / static_cast<double>(std::max<size_t>(cells_, 1));
    painter.setFont(monoFont(static_cast<int>(11 * factor_)));
    for (size_t i = 0; i < cells_; ++i) {
      const double left = inside.left() + step * static_cast<double>(i);
      const QRectF number(left, inside.bottom() - line, step - 4, line);
      if (i >= values_.size()) {
        painter.setPen(QPen(theme.control, 1, Qt::DashLine));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRectF(left, bars.top(), step - 4, bars.height()));
        continue;
      }
      const bool marked = static_cast<int>(i) == marked_;
      const double reach = values_[i] / most * bars.height() / 2, middle = bars.center().y();
      painter.fillRect(QRectF(left, std::min(middle, middle - reach), step - 4, std::abs(reach)),
                       marked ? theme.classes.chosen : theme.streamLine);
      painter.setPen(QPen(theme.hairline, 1));
      painter.drawLine(QPointF(left, middle), QPointF(left + step - 4, middle));
      painter.setPen(theme.text);
      painter.drawText(number, Qt::AlignCenter, QString::number(values_[i], 'f', step < 46 * factor_ ? 0 : 1));
    }
  }

 private:
  QString title_, claim_;
  Vector values_;
  size_t cells_ = 0;
  int marked_ = -1;
  double factor_ = 1;
};

constexpr int kLeast = 4, kMost = 12, kUsual = 8;
constexpr double kMean = 0.8;
// Tenths, before the last one, which makes their mean zero.
constexpr std::array kTenths = {13, -7, 4, 21, -12, 9, -5, 16, -18, 6, 11};

// A stream with mean zero and one number less: what is dropped, how it comes back, and that the norm does not miss it.
//
// State: "width" of the stream; "show": how many of the rows, from the top: the vector, its recentred form, the
// compressed one, the restored one, the two norms.
// Numbers: "dropped", rounded as it is drawn; "difference" of CRMSNorm and RMSNorm; "width"; "saved", percent.
class CompressionFigure final : public Figure {
 public:
  explicit CompressionFigure(QWidget* parent) : Figure(parent) {
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

  void showState(const QJsonObject& state, Motion /*motion*/) override {
    const auto shown = static_cast<size_t>(state[QStringLiteral("show")].toInt(static_cast<int>(rows_.size())));
    for (size_t i = 0; i < rows_.size(); ++i) rows_[i]->setVisible(i < shown);
    setWidth(state[QStringLiteral("width")].toInt(kUsual));
  }
  [[nodiscard]] std::optional<double> number(const QString& name) const override {
    const auto d = static_cast<double>(centered_.size());
    if (name == QLatin1String("dropped")) return std::round(centered_.back() * 10) / 10;
    if (name == QLatin1String("width")) return d;
    if (name == QLatin1String("saved")) return 100 / d;
    if (name == QLatin1String("difference"))
      return distance(compressed(rmsNormOf(centered_)), crmsNormOf(compressed(centered_)));
    return std::nullopt;
  }

 protected:
  void enlarge(double factor) override {
    for (ValueRow* row : rows_) row->setFactor(factor);
    finding_->setStyleSheet(QStringLiteral("font-size: %1px;").arg(static_cast<int>(13 * factor)));
  }

 private:
  QWidget* makeControls() {
    auto* card = makeCard(this);
    auto* row = makeRow(card, 32, {16, 10, 16, 10});
    slider_ = new ValueSlider("widthSlider",
                              {tr("Width d"), tr("Of the stream."), kLeast, kMost, 1,
                               [](double width) { return QString::number(static_cast<int>(std::lround(width))); }},
                              card);
    finding_ = makeLabel({}, "fact", card);
    row->addWidget(slider_, 1);
    row->addWidget(finding_, 1);
    connect(slider_, &ValueSlider::moved, this,
            [this](double width) { setWidth(static_cast<int>(std::lround(width))); });
    return card;
  }
  void setWidth(int width) {
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
    setAccessibleName(tr("CRMSNorm and RMSNorm differ by %1 at width %2")
                          .arg(*number(QStringLiteral("difference")), 0, 'g', 2)
                          .arg(d));
    Q_EMIT changed();
  }

  Vector centered_;  // in tenths, so that what is drawn can be added up by hand
  std::vector<ValueRow*> rows_;
  ValueSlider* slider_ = nullptr;
  QLabel* finding_ = nullptr;
};

}  // namespace

Figure* makeCompressionFigure(QWidget* parent) { return new CompressionFigure(parent); }

}  // namespace normlens::ui

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
  explicit ValueRow(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
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
  void setWords(const QString& title, const QString& claim) {
    title_ = title;
    claim_ = claim;
    setAccessibleName(title);
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

// A stream as its mean part and its zero-mean part (paper 003, lemma 3.1), and the latter with one number less: what is
// dropped, and that the norm does not miss it.
//
// State: "width" of the stream; "show": how many of the rows, from the top: the stream, its two parts, the compressed
// one, its norm, all numbers again; "turned": the last number that goes is that of another basis, which is 0.
// Numbers: "dropped", rounded as it is drawn; "difference" of the last row and the LayerNorm of the stream; "width";
// "saved", percent.
class CompressionFigure final : public Figure {
 public:
  explicit CompressionFigure(QWidget* parent) : Figure(parent) {
    setObjectName(QStringLiteral("compressionFigure"));
    for (ValueRow*& row : rows_) {
      row = new ValueRow(this);
      column()->addWidget(row, 1);
    }
    setControls(makeControls());
    setWidth(kUsual);
  }

  void showState(const QJsonObject& state, Motion /*motion*/) override {
    const auto shown = static_cast<size_t>(state[QStringLiteral("show")].toInt(static_cast<int>(rows_.size())));
    for (size_t i = 0; i < rows_.size(); ++i) rows_[i]->setVisible(i < shown);
    turned_ = state[QStringLiteral("turned")].toBool();
    setWidth(state[QStringLiteral("width")].toInt(kUsual));
  }
  [[nodiscard]] std::optional<double> number(const QString& name) const override {
    const auto d = static_cast<double>(centered_.size());
    if (name == QLatin1String("dropped")) return std::round(centered_.back() * 10) / 10;
    if (name == QLatin1String("width")) return d;
    if (name == QLatin1String("saved")) return 100 / d;
    if (name == QLatin1String("difference")) return difference_;
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
                              {tr("Width d"), tr("The width of the stream."), kLeast, kMost, 1,
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
    const Vector less = compressed(turned_ ? reflected(centered_) : centered_);
    const Vector normed = turned_ ? rmsNormOf(less) : crmsNormOf(less);
    const Vector all = turned_ ? turnedBack(normed) : restored(normed);
    difference_ = distance(all, layerNormOf(stream));
    const auto last = static_cast<int>(d) - 1;
    const auto show = [&](size_t row, const QString& title, const QString& claim, const Vector& values, int marked) {
      rows_[row]->setWords(title, claim);
      rows_[row]->setValues(values, d, marked);
    };
    show(0, tr("The stream"), tr("d numbers, with a mean"), stream, -1);
    show(1, tr("Its mean part"), tr("what LayerNorm subtracts"), meanPart(stream), -1);
    show(2, tr("Its zero-mean part"), tr("what a centered layer writes: Pre-RMSNorm"), centered_, turned_ ? -1 : last);
    if (turned_) {
      show(3, tr("Rotated, without the last"), tr("the last coordinate is 0"), less, -1);
      show(4, tr("RMSNorm of d − 1 numbers"), tr("it adds nothing to the sum"), normed, -1);
      show(5, tr("Rotated back"), tr("the LayerNorm of the stream"), all, -1);
    } else {
      show(3, tr("Compressed"), tr("d − 1 numbers: Pre-CRMSNorm"), less, -1);
      show(4, tr("CRMSNorm of the compressed"), tr("with the square of the sum"), normed, -1);
      show(5, tr("Restored"), tr("the LayerNorm of the stream"), all, last);
    }
    slider_->setValue(static_cast<double>(d));
    finding_->setText(tr("%1 numbers per token instead of %2: %3% less to move; %4")
                          .arg(d - 1)
                          .arg(d)
                          .arg(*number(QStringLiteral("saved")), 0, 'f', 1)
                          .arg((d - 1) % 2 == 0 ? tr("an even width, which kernels can load in pairs")
                                                : tr("an odd width, which kernels must pad")));
    setAccessibleName(tr("The norm of d − 1 numbers and LayerNorm differ by %1 at width %2")
                          .arg(*number(QStringLiteral("difference")), 0, 'g', 2)
                          .arg(d));
    Q_EMIT changed();
  }

  // RMSNorm divides by d - 1 where LayerNorm divides by d.
  static Vector turnedBack(Vector normed) {
    const auto width = static_cast<double>(normed.size());
    for (double& each : normed) each *= std::sqrt((width + 1) / width);
    normed.push_back(0);
    return reflected(normed);
  }

  Vector centered_;  // in tenths, so that what is drawn can be added up by hand
  std::array<ValueRow*, 6> rows_{};
  bool turned_ = false;
  double difference_ = 0;
  ValueSlider* slider_ = nullptr;
  QLabel* finding_ = nullptr;
};

}  // namespace

Figure* makeCompressionFigure(QWidget* parent) { return new CompressionFigure(parent); }

}  // namespace normlens::ui

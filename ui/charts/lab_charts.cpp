#include "ui/charts/lab_charts.h"

#include <QCoreApplication>
#include <QLegend>
#include <QLogValueAxis>
#include <QPainter>
#include <QScatterSeries>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "ui/charts/chart_style.h"
#include "ui/words/format.h"
#include "ui/words/lab_words.h"

namespace normlens::ui {
namespace {

using lab::NormUse;
using lab::RunRecord;
using Shape = QScatterSeries::MarkerShape;
using Figure = std::function<std::optional<double>(const RunRecord&)>;

constexpr double kBeyondMeasure = 1e200;
constexpr int kMarks = 6;          // on a line
constexpr double kMostPowers = 4;  // intervals of an axis
constexpr int kMostTicks = 12;     // Limits the axis of layers.
constexpr double kFloat32Limit = 1e-5, kFloat64Limit = 1e-12;

QString tr(const char* words) { return QCoreApplication::translate("LabCharts", words); }

Shape markOf(NormUse network) {
  if (network == NormUse::LayerNorm) return Shape::MarkerShapeCircle;
  if (network == NormUse::CbwcRmsNorm) return Shape::MarkerShapeRotatedRectangle;
  if (network == NormUse::CrmsNorm) return Shape::MarkerShapePentagon;
  return network == NormUse::RmsNorm ? Shape::MarkerShapeRectangle : Shape::MarkerShapeTriangle;
}

// Keeps as many points as a chart can show.
QList<QPointF> thinned(const QList<QPointF>& points) {
  constexpr qsizetype kMost = 1000;
  if (points.size() <= kMost) return points;
  QList<QPointF> few;
  const qsizetype step = (points.size() + kMost - 1) / kMost;
  for (qsizetype i = 0; i < points.size(); i += step) few << points[i];
  if (few.last() != points.last()) few << points.last();
  return few;
}

QList<QPointF> pointsOf(const LabCurve& curve, const Figure& figure) {
  QList<QPointF> points;
  for (const RunRecord& record : curve.run->records) {
    if (!(record.member == curve.member) || record.event != lab::RunEvent::Epoch) continue;
    const auto value = figure(record);
    if (value && std::isfinite(*value)) points << QPointF(record.epoch, *value);
  }
  return thinned(points);
}

struct Line {
  const LabCurve& curve;
  QString name;
  QList<QPointF> points;
};

QPen penOf(const LabCurve& curve, const Theme& theme) {
  constexpr double kWeaker = 0.55;
  QPen pen = networkPen(curve.member.network, theme);
  QColor color = pen.color();
  color.setAlphaF(static_cast<float>(std::pow(kWeaker, std::min(curve.group, 3))));
  pen.setColor(color);
  return pen;
}

QScatterSeries* makeMarks(const LabCurve& curve, const QList<QPointF>& points, const Theme& theme) {
  constexpr double kSize = 8;
  auto* marks = new QScatterSeries;
  marks->setMarkerShape(markOf(curve.member.network));
  marks->setMarkerSize(kSize);
  marks->setColor(theme.panel);
  marks->setBorderColor(penOf(curve, theme).color());
  marks->append(points);
  return marks;
}

// A few of the points, those of one network beside those of the others where lines lie on each other.
QList<QPointF> markedOf(const QList<QPointF>& points, int offset) {
  const auto step = std::max<qsizetype>(1, points.size() / kMarks);
  QList<QPointF> marked;
  for (qsizetype i = std::min<qsizetype>(offset * step / 3, points.size() - 1); i < points.size(); i += step)
    marked << points[i];
  return marked;
}

void addLines(QChart& chart, const Axes& axes, const std::vector<Line>& lines, const Theme& theme) {
  for (const Line& line : lines) {
    if (!line.points.isEmpty()) addLine(chart, axes, line.name, penOf(line.curve, theme), line.points);
  }
  int offset = 0;
  for (const Line& line : lines) {
    if (!line.points.isEmpty())
      addSeries(chart, axes, makeMarks(line.curve, markedOf(line.points, offset), theme), line.name);
    offset = (offset + 1) % 3;
  }
}

// Whole powers of ten around what is above zero.
QLogValueAxis* addPowerAxis(QChart& chart, const std::vector<Line>& lines, std::initializer_list<double> levels,
                            const Theme& theme) {
  double low = 0, high = 0;
  const auto take = [&](double value) {
    if (value <= 0) return;
    low = low == 0 ? value : std::min(low, value);
    high = std::max(high, value);
  };
  for (const double level : levels) take(level);
  for (const Line& line : lines) {
    for (const QPointF& point : line.points) take(point.y());
  }
  if (high == 0) low = 0.1, high = 1;
  // Labels at every so many powers, or there is no room for them.
  const double lowest = std::floor(std::log10(low) + 1e-9), highest = std::ceil(std::log10(high) - 1e-9);
  const double step = std::max(1.0, std::ceil((highest - lowest) / kMostPowers));
  const double foot = std::floor(lowest / step) * step;
  const double top = std::max(std::ceil(highest / step) * step, foot + step);
  constexpr double kBeyond = 1e-9;  // so that rounding drops no label at an end
  auto* axis = new QLogValueAxis(&chart);
  axis->setBase(std::pow(10, step));
  axis->setLabelFormat(QStringLiteral("%.6g"));
  axis->setRange(std::pow(10, foot - kBeyond), std::pow(10, top + kBeyond));
  styleAxis(*axis, theme, {});
  chart.addAxis(axis, Qt::AlignLeft);
  return axis;
}

QValueAxis* addEpochAxis(QChart& chart, const LabPicture& picture, const Theme& theme) {
  constexpr double kMargin = 0.015;  // for the halves of the marks at both ends
  QValueAxis* axis = addNumberAxis(chart, Qt::AlignBottom, 0, picture.epochs(), tr("epoch"), theme);
  axis->setTruncateLabels(false);  // "10…" is another number
  axis->setRange(-kMargin * picture.epochs(), (1 + kMargin) * picture.epochs());
  return axis;
}

// A logarithmic axis has no place for what is not above zero, and Qt's none near the end of what a number can be.
QList<QPointF> aboveZero(QList<QPointF> points) {
  points.removeIf([](const QPointF& point) { return !(point.y() > 1 / kBeyondMeasure && point.y() < kBeyondMeasure); });
  return points;
}

void fillLoss(QChart& chart, const LabPicture& picture, const Theme& theme) {
  std::vector<Line> lines;
  for (const LabCurve& curve : picture.curves) {
    const auto points = pointsOf(curve, [](const RunRecord& record) { return record.train_loss; });
    lines.push_back({curve, curve.name, aboveZero(points)});
  }
  addLines(chart, {addEpochAxis(chart, picture, theme), addPowerAxis(chart, lines, {}, theme)}, lines, theme);
}

void fillDifference(QChart& chart, const LabPicture& picture, const Theme& theme) {
  std::vector<Line> lines;
  bool has64 = false, has32 = false;
  for (const LabCurve& curve : picture.differences) {
    const auto points = pointsOf(curve, [](const RunRecord& record) { return record.weight_difference; });
    (curve.member.precision == lab::Precision::Float64 ? has64 : has32) = true;
    if (curve.member.network != NormUse::LayerNorm) lines.push_back({curve, curve.name, aboveZero(points)});
  }
  const double limit = has32 ? kFloat32Limit : kFloat64Limit;
  QValueAxis* epochs = addEpochAxis(chart, picture, theme);
  const Axes axes{epochs, addPowerAxis(chart, lines, {limit, has64 ? kFloat64Limit : limit}, theme)};
  const auto addLimit = [&](double level, const QString& name) {
    addLine(chart, axes, name, dashedPen(theme.textSoft, 1.2), {{0, level}, {epochs->max(), level}});
  };
  if (has32) addLimit(kFloat32Limit, tr("1e-5, the papers' bound"));
  if (has64) addLimit(kFloat64Limit, tr("1e-12 in float64"));
  addLines(chart, axes, lines, theme);
}

void fillGradients(QChart& chart, const LabPicture& picture, const Theme& theme) {
  std::vector<Line> lines;
  for (const LabCurve& curve : picture.curves) {
    for (const bool last : {false, true}) {
      const auto points = pointsOf(curve, [last](const RunRecord& record) -> std::optional<double> {
        if (record.gradient_norms.empty()) return std::nullopt;
        return last ? record.gradient_norms.back() : record.gradient_norms.front();
      });
      const QString layer = last ? tr("last layer") : tr("first layer");
      lines.push_back({curve, curve.name + QStringLiteral(", ") + layer, aboveZero(points)});
    }
  }
  addLines(chart, {addEpochAxis(chart, picture, theme), addPowerAxis(chart, lines, {}, theme)}, lines, theme);
}

void fillAccuracy(QChart& chart, const LabPicture& picture, const Theme& theme) {
  std::vector<Line> lines;
  double low = 100;
  for (const LabCurve& curve : picture.curves) {
    const auto points =
        pointsOf(curve, [](const RunRecord& record) { return std::optional(100 * record.test_accuracy); });
    for (const QPointF& point : points) low = std::min(low, point.y());
    lines.push_back({curve, curve.name, points});
  }
  constexpr double kTens = 10;
  const double foot = std::clamp(std::floor(low / kTens) * kTens, 0.0, 100 - kTens);
  QValueAxis* share = addNumberAxis(chart, Qt::AlignLeft, foot, 100, {}, theme);
  share->setRange(foot, 100 + (100 - foot) / 50);
  addLines(chart, {addEpochAxis(chart, picture, theme), share}, lines, theme);
}

// 1 to `count`, with room at both ends.
QValueAxis* addCountAxis(QChart& chart, size_t count, const QString& title, const Theme& theme) {
  QValueAxis* axis = addNumberAxis(chart, Qt::AlignBottom, 0, static_cast<double>(count), title, theme);
  axis->setTickType(QValueAxis::TicksDynamic);
  axis->setTickAnchor(1);
  axis->setTickInterval(std::ceil(static_cast<double>(count) / kMostTicks));
  axis->setLabelFormat(QStringLiteral("%d"));
  axis->setRange(0.5, static_cast<double>(count) + 0.5);
  return axis;
}

struct Bar {
  QPointF at;
  double low, high;
};

// Values with their bars, as marks without a line.
void addBars(QChart& chart, const Axes& axes, const LabCurve& curve, const std::vector<Bar>& bars, const Theme& theme) {
  QList<QPointF> points;
  for (const Bar& bar : bars) {
    auto* reach = addLine(chart, axes, curve.name, solidPen(penOf(curve, theme).color(), 1.2),
                          {{bar.at.x(), bar.low}, {bar.at.x(), bar.high}});
    reach->setProperty(kPlaceOnly, true);
    points << bar.at;
  }
  addSeries(chart, axes, makeMarks(curve, points, theme), curve.name);
}

// Draws bars of each layer, each network a little to the side of the others.
void fillLayers(QChart& chart, const LabPicture& picture, const Theme& theme,
                std::vector<Bar> (*barsOf)(const LabCurve& curve)) {
  constexpr double kWidth = 0.5;
  std::vector<std::vector<Bar>> bars;
  double high = 0;
  size_t layers = 1;
  for (size_t i = 0; i < picture.curves.size(); ++i) {
    const auto count = static_cast<double>(picture.curves.size());
    const double aside = ((static_cast<double>(i) + 0.5) / count - 0.5) * kWidth;
    auto& own = bars.emplace_back(barsOf(picture.curves[i]));
    layers = std::max(layers, own.size());
    for (size_t layer = 0; layer < own.size(); ++layer) own[layer].at.setX(static_cast<double>(layer) + 1 + aside);
    std::erase_if(own, [](const Bar& bar) {
      return !(std::abs(bar.low) < kBeyondMeasure && std::abs(bar.high) < kBeyondMeasure);
    });
    for (const Bar& bar : own) high = std::max(high, bar.high);
  }
  const Axes axes{addCountAxis(chart, layers, tr("layer"), theme),
                  addNumberAxis(chart, Qt::AlignLeft, 0, high > 0 ? high * 1.05 : 1, {}, theme)};
  for (size_t i = 0; i < bars.size(); ++i) addBars(chart, axes, picture.curves[i], bars[i], theme);
}

// After the last epoch, over the batch.
void fillAngles(QChart& chart, const LabPicture& picture, const Theme& theme) {
  fillLayers(chart, picture, theme, [](const LabCurve& curve) {
    std::vector<Bar> bars;
    const auto last = lab::lastOfEach(curve.run->records);
    const auto own = std::ranges::find(last, curve.member, &RunRecord::member);
    if (own == last.end()) return bars;
    for (const lab::InputStatistics& norm : own->norms)
      bars.push_back({{0, norm.angle}, norm.angle - norm.angle_spread, norm.angle + norm.angle_spread});
    return bars;
  });
}

// Over the epochs, in percent of their mean.
void fillLengths(QChart& chart, const LabPicture& picture, const Theme& theme) {
  fillLayers(chart, picture, theme, [](const LabCurve& curve) {
    std::vector<std::vector<double>> lengths;  // by layer
    for (const RunRecord& record : curve.run->records) {
      if (!(record.member == curve.member) || record.event != lab::RunEvent::Epoch || record.epoch < 1) continue;
      lengths.resize(std::max(lengths.size(), record.inputs.size()));
      for (size_t i = 0; i < record.inputs.size(); ++i) lengths[i].push_back(record.inputs[i].length);
    }
    std::vector<Bar> bars;
    for (const std::vector<double>& layer : lengths) {
      const auto [least, most] = std::ranges::minmax(layer);
      const double percent = 100 * static_cast<double>(layer.size()) / std::accumulate(layer.begin(), layer.end(), 0.0);
      bars.push_back({{0, 100}, percent * least, percent * most});
    }
    return bars;
  });
}

QLogValueAxis* addTokenAxis(QChart& chart, double low, double high, const Theme& theme) {
  auto* axis = new QLogValueAxis(&chart);
  axis->setBase(10);
  axis->setLabelFormat(QStringLiteral("%.6g"));
  axis->setRange(low * 0.9, high * 1.1);
  styleAxis(*axis, theme, tr("tokens per step"));
  chart.addAxis(axis, Qt::AlignBottom);
  return axis;
}

// The time over the tokens of a step, where it was measured at several; the line is at s·b = p (papers 001 E.2).
bool fillCrossing(QChart& chart, const LabPicture& picture, const Theme& theme) {
  std::vector<Line> lines;
  double low = 0, high = 0, top = 0, width = 0;
  for (const LabCurve& curve : picture.curves) {
    const lab::RunSettings& settings = curve.run->settings;
    const double tokens = isTransformer(settings) ? settings.context : 1;
    QList<QPointF> points;
    for (const lab::StepCost& cost : curve.run->costs) {
      if (!(cost.member == curve.member) || cost.batch <= 0 || !(cost.median_ms < kBeyondMeasure)) continue;
      points << QPointF(tokens * cost.batch, cost.median_ms);
      low = low == 0 ? points.last().x() : std::min(low, points.last().x());
      high = std::max(high, points.last().x());
      top = std::max(top, cost.median_ms);
    }
    width = settings.width;
    lines.push_back({curve, curve.name, points});
  }
  if (!(high > low)) return false;
  const Axes axes{addTokenAxis(chart, std::min(low, width), std::max(high, width), theme),
                  addNumberAxis(chart, Qt::AlignLeft, 0, top > 0 ? top * 1.05 : 1, tr("ms"), theme)};
  addLine(chart, axes, tr("s·b = p: %1").arg(width), dashedPen(theme.textSoft, 1.2), {{width, 0}, {width, top}});
  addLines(chart, axes, lines, theme);
  return true;
}

void fillStepTime(QChart& chart, const LabPicture& picture, const Theme& theme) {
  if (fillCrossing(chart, picture, theme)) return;
  std::vector<std::pair<const LabCurve*, Bar>> bars;
  double high = 0;
  for (const LabCurve& curve : picture.curves) {
    const auto cost = std::ranges::find(curve.run->costs, curve.member, &lab::StepCost::member);
    if (cost == curve.run->costs.end()) continue;
    bars.push_back({&curve, {{static_cast<double>(bars.size()) + 1, cost->median_ms}, cost->low_ms, cost->high_ms}});
    high = std::max(high, cost->high_ms);
  }
  const Axes axes{addCountAxis(chart, bars.size(), tr("network"), theme),
                  addNumberAxis(chart, Qt::AlignLeft, 0, high > 0 ? high * 1.05 : 1, tr("ms"), theme)};
  for (const auto& [curve, bar] : bars) addBars(chart, axes, *curve, {bar}, theme);
}

struct Kind {
  const char *title, *caption;
  void (*fill)(QChart& chart, const LabPicture& picture, const Theme& theme);
};
// Ordered as LabChart.
constexpr Kind kKinds[] = {
    {QT_TRANSLATE_NOOP("LabCharts", "Training loss"), "", fillLoss},
    {QT_TRANSLATE_NOOP("LabCharts", "Largest difference of the weights"),
     QT_TRANSLATE_NOOP("LabCharts", "from LayerNorm's weights; dashed: the papers' bound"), fillDifference},
    {QT_TRANSLATE_NOOP("LabCharts", "Gradient norm"), QT_TRANSLATE_NOOP("LabCharts", "first and last layer"),
     fillGradients},
    {QT_TRANSLATE_NOOP("LabCharts", "Length of each layer's input"),
     QT_TRANSLATE_NOOP("LabCharts", "percent of its mean; bars: over the epochs"), fillLengths},
    {QT_TRANSLATE_NOOP("LabCharts", "Angle to the uniform vector"),
     QT_TRANSLATE_NOOP("LabCharts", "of each norm's input, degrees"), fillAngles},
    {QT_TRANSLATE_NOOP("LabCharts", "Test accuracy"), QT_TRANSLATE_NOOP("LabCharts", "percent"), fillAccuracy},
    {QT_TRANSLATE_NOOP("LabCharts", "Time per step"), QT_TRANSLATE_NOOP("LabCharts", "median over the rounds"),
     fillStepTime},
};
const Kind& kindOf(LabChart kind) { return kKinds[static_cast<int>(kind)]; }

using lab::RunMember;

bool isBeside(const RunMember& member, const RunMember& shown, bool anyPrecision) {
  return member.layers == shown.layers && member.optimizer == shown.optimizer && member.seed == shown.seed &&
         (anyPrecision || member.precision == shown.precision);
}

const KeptRun* runOf(const std::vector<KeptRun>& runs, int number) {
  const auto found = std::ranges::find(runs, number, &KeptRun::number);
  return found == runs.end() ? nullptr : &*found;
}

std::vector<LabCurve> curvesBeside(const KeptRun& run, const RunMember& shown, bool anyPrecision) {
  std::vector<LabCurve> curves;
  for (const RunMember& member : lab::membersOf(run.settings)) {
    if (isBeside(member, shown, anyPrecision)) curves.push_back({&run, member, {}, 0, {}});
  }
  return curves;
}

template <class Field>
bool differ(const std::vector<LabCurve>& curves, Field field) {
  return std::ranges::any_of(curves, [&](const LabCurve& curve) { return field(curve) != field(curves.front()); });
}

// The network's name, and what else differs among those that are drawn.
void nameCurves(std::vector<LabCurve>& curves) {
  if (curves.empty()) return;
  const bool runs = differ(curves, [](const LabCurve& curve) { return curve.run->number; });
  const bool layers = differ(curves, [](const LabCurve& curve) { return curve.member.layers; });
  const bool optimizers = differ(curves, [](const LabCurve& curve) { return curve.member.optimizer; });
  const bool seeds = differ(curves, [](const LabCurve& curve) { return curve.member.seed; });
  const bool precisions = differ(curves, [](const LabCurve& curve) { return curve.member.precision; });
  std::vector<LabPlace> groups;  // a member without its network
  for (LabCurve& curve : curves) {
    const RunMember& member = curve.member;
    QStringList words{labWord(member.network).name};
    if (layers) words << labLayersWord(curve.run->settings, member);
    if (optimizers) words << labOptimizerWord(curve.run->settings, member);
    if (seeds) words << tr("seed %1").arg(member.seed);
    if (precisions) words << text(nameOf(member.precision));
    if (runs) words << labRunWord(curve.run->number);
    curve.name = words.join(QStringLiteral(", "));
    curve.groupName = words.mid(1).join(QStringLiteral(", "));
    LabPlace group{curve.run->number, member};
    group.member.network = NormUse::Unset;
    const auto known = std::ranges::find(groups, group);
    curve.group = static_cast<int>(known - groups.begin());
    if (known == groups.end()) groups.push_back(group);
  }
}

}  // namespace

QPen networkPen(NormUse network, const Theme& theme) {
  if (network == NormUse::LayerNorm) return solidPen(theme.classes.chosen, 4);  // under the one that should lie on it
  if (network == NormUse::CbwcRmsNorm) return solidPen(theme.streamLine, 1.8);
  if (network == NormUse::CrmsNorm) return dashedPen(theme.streamLine, 1.8);
  return network == NormUse::RmsNorm ? dashedPen(theme.opaqueLine, 1.8) : dashedPen(theme.textFaint, 1.4);
}

void paintNetworkMark(QPainter& painter, const QRectF& area, NormUse network, const Theme& theme) {
  const QPointF middle = area.center();
  const double r = std::min(area.height(), 9.0) / 2;
  const QPen pen = networkPen(network, theme);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(pen);
  painter.drawLine(QPointF(area.left(), middle.y()), QPointF(area.right(), middle.y()));
  painter.setPen(solidPen(pen.color(), 1.5));
  painter.setBrush(theme.panel);
  switch (markOf(network)) {
    case Shape::MarkerShapeCircle:
      painter.drawEllipse(middle, r, r);
      break;
    case Shape::MarkerShapeRotatedRectangle:
      painter.drawPolygon(
          QPolygonF({middle - QPointF(0, r), middle + QPointF(r, 0), middle + QPointF(0, r), middle - QPointF(r, 0)}));
      break;
    case Shape::MarkerShapeRectangle:
      painter.drawRect(QRectF(middle.x() - r, middle.y() - r, 2 * r, 2 * r));
      break;
    default:
      painter.drawPolygon(QPolygonF({middle - QPointF(0, r), middle + QPointF(r, r), middle + QPointF(-r, r)}));
  }
}

QString labChartTitle(LabChart kind) { return tr(kindOf(kind).title); }

QString labChartCaption(LabChart kind) {
  const char* caption = kindOf(kind).caption;
  return *caption == '\0' ? QString() : tr(caption);
}

std::unique_ptr<QChart> makeLabChart(LabChart kind, const LabPicture& picture, const Theme& theme) {
  auto chart = std::make_unique<QChart>();
  chart->setObjectName(QStringLiteral("labChart%1").arg(static_cast<int>(kind)));
  styleChart(*chart, theme);
  kindOf(kind).fill(*chart, picture, theme);
  chart->legend()->hide();  // the page has one for all
  return chart;
}

// ---- Selects the networks that are drawn, and names them

int LabPicture::epochs() const {
  int most = 1;
  for (const LabCurve& curve : curves) most = std::max(most, curve.run->settings.epochs);
  return most;
}

LabPicture labPicture(const std::vector<KeptRun>& runs, const LabPlace& shown, const std::vector<LabPlace>& ticked) {
  LabPicture picture;
  for (const LabPlace& place : ticked) {
    if (const KeptRun* run = runOf(runs, place.run)) picture.curves.push_back({run, place.member, {}, 0, {}});
  }
  picture.differences = picture.curves;
  const KeptRun* run = runOf(runs, shown.run);
  if (picture.curves.empty() && run != nullptr) {
    picture.curves = curvesBeside(*run, shown.member, false);
    picture.differences = curvesBeside(*run, shown.member, true);
  }
  nameCurves(picture.curves);
  nameCurves(picture.differences);
  return picture;
}

}  // namespace normlens::ui

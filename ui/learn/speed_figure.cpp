#include <QCoreApplication>
#include <QPainter>
#include <QVariantAnimation>
#include <QWidget>
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/geometry/norm_cost.h"
#include "ui/client/question.h"
#include "ui/learn/card_paint.h"
#include "ui/learn/figure.h"
#include "ui/learn/norm_passes.h"
#include "ui/learn/value_slider.h"
#include "ui/theme/theme.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/push_button.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

// One norm going over a row: the numbers, which one is read or written, the registers, and what it has cost so far.
class PassView final : public QWidget {
 public:
  PassView(QString title, QString claim, QWidget* parent)
      : QWidget(parent), title_(std::move(title)), claim_(std::move(claim)) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setAccessibleName(title_);
  }

  void setPasses(NormPasses passes, const Vector& x) {
    passes_ = std::move(passes);
    x_ = x;
    update();
  }
  // So many steps are done, of all that the longest norm takes.
  void setTime(int steps) {
    time_ = steps;
    const NormPassStep* at = current();
    const bool done = time_ >= static_cast<int>(passes_.steps.size());
    setAccessibleDescription(at == nullptr ? tr("not started")
                             : done        ? tr("done, %1 operations").arg(at->operations)
                                           : tr("pass %1, %2 operations").arg(at->pass + 1).arg(at->operations));
    update();
  }
  void setFactor(double factor) {
    factor_ = factor;
    update();
  }
  [[nodiscard]] const NormPasses& passes() const { return passes_; }
  [[nodiscard]] QSize sizeHint() const override { return {360, 132}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {240, 104}; }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme theme = themeOf(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const bool inRoom = factor_ > 1;
    const QRectF inside = paintCard(painter, rect(), {title_, inRoom ? passWords() : claim_}, theme, factor_);
    const double line = 22 * factor_, facts = line * (inRoom ? 0.9 : 1.8);
    const double tall = std::clamp(inside.height() - facts - 0.3 * line, 12.0, 110.0 * factor_);
    paintRow(painter, QRectF(inside.left(), inside.top(), inside.width(), tall));
    paintFacts(painter, QRectF(inside.left(), inside.bottom() - facts, inside.width(), facts));
  }

 private:
  // Bars about zero; read in this pass filled, not yet pale, the number at work framed; green once written.
  void paintRow(QPainter& painter, const QRectF& area) const {
    const Theme theme = themeOf(this);
    const NormPassStep* at = current();
    const bool writes = at != nullptr && at->writes > 0;
    const double step = area.width() / static_cast<double>(std::max<size_t>(x_.size(), 1));
    double most = 1e-9;
    for (const double each : x_) most = std::max(most, std::abs(each));
    for (const double each : passes_.output) most = std::max(most, std::abs(each));
    for (size_t i = 0; i < x_.size(); ++i) {
      const bool touched = at != nullptr && static_cast<int>(i) <= at->index;
      const double value = writes && touched ? passes_.output[i] : x_[i];
      QColor color = writes && touched ? theme.linearLine : theme.streamLine;
      if (!touched) color.setAlphaF(0.35F);
      const double middle = area.center().y(), reach = value / most * area.height() / 2;
      const QRectF cell(area.left() + step * static_cast<double>(i), area.top(), step - 4, area.height());
      painter.fillRect(QRectF(cell.left(), std::min(middle, middle - reach), cell.width(), std::abs(reach)), color);
      painter.setPen(QPen(theme.hairline, 1));
      painter.drawLine(QPointF(cell.left(), middle), QPointF(cell.right(), middle));
      if (at == nullptr || static_cast<int>(i) != at->index) continue;
      painter.setPen(QPen(theme.classes.chosen, 2));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(cell.adjusted(-2, -2, 2, 2));
    }
  }
  // Paints which pass it is, unless the heading shows it; what it has cost, and what the registers hold.
  void paintFacts(QPainter& painter, const QRectF& area) const {
    const Theme theme = themeOf(this);
    const NormPassStep* at = current();
    const int operations = at == nullptr ? 0 : at->operations, moved = at == nullptr ? 0 : at->reads + at->writes;
    QRectF lower = area;
    if (factor_ <= 1) {
      lower.setTop(area.center().y());
      painter.setFont(uiFont(static_cast<int>(12 * factor_)));
      painter.setPen(theme.textSoft);
      painter.drawText(QRectF(area.topLeft(), lower.topRight()), Qt::AlignLeft | Qt::AlignVCenter, passWords());
    }
    painter.setFont(monoFont(static_cast<int>(12 * factor_)));
    painter.setPen(theme.text);
    painter.drawText(lower, Qt::AlignLeft | Qt::AlignVCenter,
                     tr("%1 operations   %2 numbers moved").arg(operations).arg(moved));
    if (at == nullptr) return;
    painter.drawText(lower, Qt::AlignRight | Qt::AlignVCenter, registersOf(*at));
  }
  [[nodiscard]] QString passWords() const {
    const NormPassStep* at = current();
    const auto passes = static_cast<int>(passes_.passes.size());
    if (at == nullptr) return tr("%1 passes").arg(passes);
    return tr("pass %1 of %2: %3").arg(at->pass + 1).arg(passes).arg(passes_.passes[static_cast<size_t>(at->pass)]);
  }
  [[nodiscard]] QString registersOf(const NormPassStep& at) const {
    const QString squares = tr("squares %1").arg(at.squares, 0, 'f', 2);
    if (!passes_.keepsMean) return squares;
    const bool isSum = at.pass == 0 && passes_.passes.size() == 3;
    return QStringLiteral("%1   %2").arg((isSum ? tr("sum %1") : tr("mean %1")).arg(at.mean, 0, 'f', 2), squares);
  }
  [[nodiscard]] const NormPassStep* current() const;  // nullptr before the first

  QString title_, claim_;
  NormPasses passes_;
  Vector x_;
  int time_ = 0;
  double factor_ = 1;
};

const NormPassStep* PassView::current() const {
  if (time_ <= 0 || passes_.steps.empty()) return nullptr;
  return &passes_.steps[static_cast<size_t>(std::min<int>(time_, static_cast<int>(passes_.steps.size()))) - 1];
}

constexpr int kWhole = 9000;  // ms for all steps of the longest
const Vector kRow = {1.7, 0.4, -0.6, 2.3, 1.1, -1.2, 0.9, 1.5, -0.3, 0.2, 2.0, 0.6, -0.8, 1.3, 0.7, 1.0};

QString percent(double share) { return QStringLiteral("%1%").arg(static_cast<int>(std::lround(share * 100))); }

geometry::CountedRow countedRow(double groups, bool beta) {
  return {.width = static_cast<double>(kRow.size()), .groups = groups, .beta = beta};
}
geometry::NormCost layerNormCost(double groups) {
  return geometry::costOf(geometry::CountedNorm::LayerNorm, countedRow(groups, true));
}
geometry::NormCost rmsNormCost(double groups) {
  return geometry::costOf(geometry::CountedNorm::RmsNorm, countedRow(groups, false));
}
double savedPercent(double groups) { return 100 * (1 - rmsNormCost(groups).ticks() / layerNormCost(groups).ticks()); }

// Returns a table of paper 001 (base/geometry/norm_cost.h) as rich text: a line for each step, LayerNorm beside
// RMSNorm.
QString costTable(const QString& title, double groups) {
  const auto tr = [](const char* words) { return QCoreApplication::translate("SpeedFigure", words); };
  const auto cells = [](const geometry::NormCost& cost) {
    QString text;
    for (const double count : {cost.additions, cost.multiplications, cost.divisions})
      text += QStringLiteral("<td align=right>%1</td>").arg(count == 0 ? QStringLiteral("–") : QString::number(count));
    return text;
  };
  const QString line = QStringLiteral("<tr><td width='34%'>%1</td>%2%3</tr>");
  const QString heads = QStringLiteral(
      "<td align=right width='11%'>%1 +</td><td align=right width='11%'>×</td>"
      "<td align=right width='11%'>÷</td>");
  const auto layerNorm = layerNormCost(groups), rmsNorm = rmsNormCost(groups);
  QString table = line.arg(QStringLiteral("<b>%1</b>").arg(title), heads.arg(QStringLiteral("LN")),
                           heads.arg(QStringLiteral("RMS")));
  const auto ofRms = geometry::costSteps(geometry::CountedNorm::RmsNorm, countedRow(groups, false));
  const auto ofLayerNorm = geometry::costSteps(geometry::CountedNorm::LayerNorm, countedRow(groups, true));
  for (size_t i = 0; i < ofRms.size(); ++i)
    table += line.arg(tr(ofRms[i].name.data()), cells(ofLayerNorm[i].cost), cells(ofRms[i].cost));
  table += line.arg(tr("<b>total</b>"), cells(layerNorm), cells(rmsNorm));
  const QString ticks = tr("<b>%1 and %2 ticks: %3% less</b>")
                            .arg(layerNorm.ticks())
                            .arg(rmsNorm.ticks())
                            .arg(savedPercent(groups), 0, 'f', 0);
  return QStringLiteral("<table width='100%' cellpadding=2>%1</table><p align=right>%2</p>").arg(table, ticks);
}

double perNumber(int count) { return static_cast<double>(count) / static_cast<double>(kRow.size()); }

// LayerNorm in two passes and in one, and RMSNorm, over the same row at the same pace; below, what the open model's
// norms take where the engine runs, measured when the reader wants it.
//
// State: "time", a share of the whole; "play": true plays from there; "costs": true shows paper 001's tables of
// operations in place of the rows, with so many "groups".
// Numbers: "readsBeforeWriting" of LayerNorm in two passes, for each number; "operations" of it, for each number;
// "rmsNormOperations"; "time"; "savedPercent" of the ticks in two passes, "groupsSavedPercent" in one by groups;
// "groups".
class SpeedFigure final : public Figure {
 public:
  explicit SpeedFigure(QWidget* parent) : Figure(parent) {
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
    add(NormWay::LayerNormOnePass, tr("LayerNorm, one pass (Welford)"), tr("reads the row twice, computes more"));
    add(NormWay::RmsNorm, tr("RMSNorm"), tr("reads the row twice, computes least"));
    costs_ = makeCard(this);
    auto* tables = makeColumn(costs_, 12, {16, 10, 16, 10});
    for (QLabel** table : {&twoPasses_, &grouped_}) {
      tables->addWidget(*table = makeLabel({}, "fact", costs_));
      (*table)->setTextFormat(Qt::RichText);
    }
    grouped_->setObjectName(QStringLiteral("groupedCosts"));
    twoPasses_->setText(costTable(tr("Two passes"), 0));
    column()->addWidget(costs_, 1);
    column()->addWidget(makeMeasured());
    setControls(makeControls());
    clock_.setEndValue(1.0);
    connect(&clock_, &QVariantAnimation::valueChanged, this, [this](const QVariant& at) { setTime(at.toDouble()); });
    connect(&clock_, &QVariantAnimation::stateChanged, this, [this](QAbstractAnimation::State state) {
      button_->setText(state == QAbstractAnimation::Running ? tr("Pause") : tr("Play"));
    });
    setTime(0);
    setGroups(1);
    showCosts(false);
    showModel({});
  }

  void showState(const QJsonObject& state, Motion motion) override {
    clock_.stop();
    showCosts(state[QStringLiteral("costs")].toBool());
    setGroups(state[QStringLiteral("groups")].toDouble(1));
    setTime(state[QStringLiteral("time")].toDouble());
    if (motion == Motion::Animated && state[QStringLiteral("play")].toBool()) play(time_);
  }
  [[nodiscard]] std::optional<double> number(const QString& name) const override {
    const auto& twoPasses = views_[static_cast<size_t>(NormWay::LayerNormTwoPasses)]->passes();
    if (name == QLatin1String("time")) return time_;
    if (name == QLatin1String("groups")) return groups_->value();
    if (name == QLatin1String("savedPercent")) return savedPercent(0);
    if (name == QLatin1String("groupsSavedPercent")) return savedPercent(groups_->value());
    if (name == QLatin1String("operations")) return perNumber(twoPasses.last().operations);
    if (name == QLatin1String("rmsNormOperations"))
      return perNumber(views_[static_cast<size_t>(NormWay::RmsNorm)]->passes().last().operations);
    if (name != QLatin1String("readsBeforeWriting")) return std::nullopt;
    const auto first = std::ranges::find_if(twoPasses.steps, [](const NormPassStep& step) { return step.writes > 0; });
    return std::floor(perNumber(first->reads - 1));
  }
  bool togglePlay() override {
    if (showsCosts()) return false;
    if (clock_.state() == QAbstractAnimation::Running) {
      clock_.stop();
    } else {
      play(time_ < 1 ? time_ : 0);
    }
    return true;
  }
  [[nodiscard]] Film film() const override { return showsCosts() ? Film() : Film{kWhole, kWhole / longest_}; }
  void showTime(int ms) override {
    clock_.stop();
    setTime(std::min(1.0, static_cast<double>(ms) / kWhole));
  }
  [[nodiscard]] bool wantsModel() const override { return true; }
  void showModel(const OpenModel& model) override {
    if (model.engine != model_.engine)
      question_ = model.engine != nullptr ? std::make_unique<Question>(model.engine, this) : nullptr;
    const bool isNew = model.document != model_.document || model.document == nullptr;
    model_ = model;
    if (!isNew) return;  // Its measured times stay.
    if (question_) question_->drop();
    measure_->setEnabled(question_ != nullptr && model_.document != nullptr);
    measured_->setText(model_.document != nullptr  ? tr("On this machine: not measured yet.")
                       : !model_.trouble.isEmpty() ? model_.trouble
                                                   : tr("Opening the model"));
  }

 protected:
  void enlarge(double factor) override {
    for (PassView* view : views_) view->setFactor(factor);
    measured_->setStyleSheet(QStringLiteral("font-size: %1px;").arg(static_cast<int>(12 * factor)));
  }

 private:
  QWidget* makeControls() {
    auto* card = makeCard(this);
    auto* row = makeRow(card, 24, {16, 10, 16, 10});
    button_ = describe(
        new IconButton({}, tr("Play"), tr("All three at the same pace: one number per step (Space)."), card), "play");
    button_->setLook(IconButton::Look::Outlined);
    slider_ =
        new ValueSlider("timeSlider", {tr("Time"), tr("Position in the animation."), 0, 1, 1.0 / 48, percent}, card);
    groups_ =
        new ValueSlider("groupsSlider",
                        {tr("Groups"), tr("The row is summed in this many groups, which are then combined."), 1,
                         static_cast<double>(kRow.size()), 1, [](double count) { return QString::number(count); }},
                        card);
    row->addWidget(button_);
    row->addWidget(slider_, 1);
    row->addWidget(groups_, 1);
    measure_ = describe(new PushButton(tr("Measure here"), PushButton::Look::Outlined, card), "measureTimes",
                        tr("Times both norms on the engine's machine; takes some seconds."));
    row->addWidget(measure_);
    connect(measure_, &PushButton::clicked, this, &SpeedFigure::measure);
    connect(button_, &IconButton::clicked, this, &SpeedFigure::togglePlay);
    connect(groups_, &ValueSlider::moved, this, &SpeedFigure::setGroups);
    connect(slider_, &ValueSlider::moved, this, [this](double share) {
      clock_.stop();
      setTime(share);
    });
    return card;
  }
  QWidget* makeMeasured() {
    auto* card = makeCard(this);
    card->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    auto* row = makeRow(card, -1, {16, 8, 16, 8});
    measured_ = makeLabel({}, "fact", card);
    measured_->setObjectName(QStringLiteral("measuredTimes"));
    measured_->setWordWrap(true);
    row->addWidget(measured_);
    return card;
  }
  void measure() {
    measure_->setEnabled(false);
    measured_->setText(tr("The engine runs the model's largest LayerNorm, and an RMSNorm in its place…"));
    question_->ask(protocol::methods::kNormPrices, {},
                   [this](const Reply<protocol::NormPrices>& reply) { showTimes(reply); });
  }
  void showTimes(const Reply<protocol::NormPrices>& reply) {
    const bool measured = reply && reply->rows > 0 && reply->layer_norm_us > 0;
    measure_->setEnabled(!reply);  // to try again
    measured_->setText(!reply ? asSentence(reply.error().message)
                       : !measured
                           ? tr("This model has no LayerNorm whose size is known.")
                           : tr("On this machine's CPU, LayerNorm takes %1, RMSNorm %2: %3 the time. %4 rows of d = "
                                "%5, in the model's runtime.")
                                 .arg(formatMicroseconds(reply->layer_norm_us), formatMicroseconds(reply->rms_norm_us),
                                      formatRatio(reply->rms_norm_us / reply->layer_norm_us))
                                 .arg(reply->rows)
                                 .arg(reply->width));
    Q_EMIT changed();
  }
  void setGroups(double count) {
    const double whole = std::round(count);
    groups_->setValue(whole);
    grouped_->setText(costTable(tr("One pass, %1 groups").arg(whole), whole));
    nameFinding();
  }
  void showCosts(bool costs) {
    for (PassView* view : views_) view->setVisible(!costs);
    for (QWidget* widget : std::initializer_list<QWidget*>{button_, slider_}) widget->setVisible(!costs);
    for (QWidget* widget : std::initializer_list<QWidget*>{costs_, groups_}) widget->setVisible(costs);
  }
  [[nodiscard]] bool showsCosts() const { return !costs_->isHidden(); }
  void setTime(double share) {
    time_ = share;
    slider_->setValue(share);
    for (PassView* view : views_) view->setTime(static_cast<int>(std::lround(share * longest_)));
    nameFinding();
  }
  void nameFinding() {
    QStringList words;
    for (const PassView* view : views_)
      words << QStringLiteral("%1: %2").arg(view->accessibleName(), view->accessibleDescription());
    if (showsCosts())
      words = {tr("RMSNorm takes %1% fewer ticks in two passes, %2% in one pass with %3 groups")
                   .arg(savedPercent(0), 0, 'f', 0)
                   .arg(savedPercent(groups_->value()), 0, 'f', 0)
                   .arg(groups_->value())};
    setAccessibleName(words.join(QStringLiteral("; ")));
    Q_EMIT changed();
  }
  void play(double from) {
    clock_.setStartValue(from);
    clock_.setDuration(std::max(1, static_cast<int>(kWhole * (1 - from))));
    clock_.start();
  }

  std::vector<PassView*> views_;  // by NormWay
  QWidget* costs_ = nullptr;
  QLabel *twoPasses_ = nullptr, *grouped_ = nullptr;
  ValueSlider* groups_ = nullptr;
  OpenModel model_;
  QLabel* measured_ = nullptr;
  PushButton* measure_ = nullptr;
  std::unique_ptr<Question> question_;
  IconButton* button_ = nullptr;
  ValueSlider* slider_ = nullptr;
  int longest_ = 1;  // steps
  double time_ = 0;  // share
  QVariantAnimation clock_;
};

}  // namespace

Figure* makeSpeedFigure(QWidget* parent) { return new SpeedFigure(parent); }

}  // namespace normlens::ui

#include <QPainter>
#include <QPainterPath>
#include <QStackedWidget>
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "core/protocol/lesson_messages.h"
#include "ui/client/question.h"
#include "ui/graphview/graph_view.h"
#include "ui/learn/card_paint.h"
#include "ui/learn/figure.h"
#include "ui/learn/live/cut_view.h"
#include "ui/learn/live/model_state.h"
#include "ui/learn/live/scaled_plot.h"
#include "ui/learn/value_slider.h"
#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/segmented.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

// Plots what the best plan saves, after paying, by the price of a centering; a region for each number of norms that
// are freed.
class PriceCurve final : public ScaledPlot {
 public:
  explicit PriceCurve(QWidget* parent) : ScaledPlot(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setAccessibleName(tr("What the best plan saves, by the price of a centering"));
  }

  void setCurve(const std::vector<protocol::CutPoint>& points, bool measured) {
    points_ = points;
    measured_ = measured;
    update();
  }
  void setPrice(double factor) {
    price_ = factor;
    update();
  }
  [[nodiscard]] QSize minimumSizeHint() const override { return {260, 150}; }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme theme = themeOf(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const CardWords words{tr("Price of a centering"), tr("%1 × the measured price").arg(formatNumber(price_, 3))};
    const QRectF inside = paintCard(painter, rect(), words, theme, factor());
    painter.setFont(uiFont(static_cast<int>(11 * factor())));
    if (points_.size() < 2) return;
    double most = 1e-12;
    for (const auto& point : points_) most = std::max(most, point.saved - point.paid);
    const QRectF plot = inside.adjusted(8, 20 * scale(), -8, -20 * scale());
    paintRegions(painter, plot);
    const double end = points_.back().factor;
    const auto at = [&](double factor, double net) {
      return QPointF(plot.left() + factor / end * plot.width(),
                     plot.bottom() - net / most * (plot.height() - 22 * scale()));
    };
    painter.setPen(theme.textSoft);
    painter.drawText(QRectF(inside.left() + 8, inside.top(), inside.width(), 18 * scale()),
                     Qt::AlignLeft | Qt::AlignVCenter,
                     tr("net saving per run; at most %1").arg(amountWords(most, measured_)));
    painter.setPen(QPen(theme.hairline, 1));
    painter.drawLine(plot.bottomLeft(), plot.bottomRight());
    painter.setPen(theme.textFaint);
    for (int factor = 0; factor <= static_cast<int>(end); ++factor) {
      painter.drawText(QRectF(at(factor, 0).x() - 40, plot.bottom() + 2, 80, 18 * scale()),
                       Qt::AlignHCenter | Qt::AlignTop, factor == 0 ? tr("free") : tr("%1×").arg(factor));
    }
    QPainterPath path(at(points_[0].factor, points_[0].saved - points_[0].paid));
    for (const auto& point : points_) path.lineTo(at(point.factor, point.saved - point.paid));
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.linearLine, 2));
    painter.drawPath(path);
    painter.setPen(QPen(theme.accent, 1));
    const double x = at(price_, 0).x();
    painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
  }

 private:
  void paintRegions(QPainter& painter, const QRectF& plot) const {
    const Theme theme = themeOf(this);
    const double end = points_.back().factor;
    const auto x = [&](double factor) { return plot.left() + factor / end * plot.width(); };
    for (size_t begin = 0; begin < points_.size();) {
      size_t next = begin;
      while (next < points_.size() && points_[next].freed == points_[begin].freed) ++next;
      // A number of norms holds up to half-way to the next price that was tried.
      const double low = begin == 0 ? 0 : (points_[begin - 1].factor + points_[begin].factor) / 2;
      const double high = next == points_.size() ? end : (points_[next - 1].factor + points_[next].factor) / 2;
      const QRectF region(x(low), plot.top(), x(high) - x(low), plot.height());
      const bool here = price_ >= low && price_ < high + (next == points_.size() ? 1 : 0);
      if (here) painter.fillRect(region, theme.goodBack);
      painter.setPen(QPen(theme.hairline, 1, Qt::DashLine));
      if (begin > 0) painter.drawLine(region.topLeft(), region.bottomLeft());
      painter.setPen(here ? theme.text : theme.textSoft);
      const QString words =
          points_[begin].freed > 0 ? tr("%1 freed").arg(points_[begin].freed) : tr("none is worth it");
      if (painter.fontMetrics().horizontalAdvance(words) < region.width())
        painter.drawText(region.adjusted(0, 2, 0, 0), Qt::AlignHCenter | Qt::AlignTop, words);
      begin = next;
    }
  }

  std::vector<protocol::CutPoint> points_;
  bool measured_ = false;
  double price_ = 1;
};

constexpr int kPlanCard = 250;
constexpr int kMostNamed = 4;

QString times(double factor) { return QObject::tr("%1×").arg(formatNumber(factor, 3)); }

// Shows where a mean has to be taken away at run time: the planner's own network, its minimum cut, and what becomes of
// it as a centering costs more or less. Solved by the engine for each price. docs/method.md 7; the maximum flow is the
// proof: no set of centerings is better.
//
// State: "price", times what a centering costs; "measured": true requests this machine's times; "graph": true shows the
// cut on the model.
// Numbers: "price" of the cut that is shown; "freed", norms; "values" that are centered; "paid", "saved", "net", "cut",
// "cutRounded", "flow".
class CutFigure final : public Figure {
 public:
  explicit CutFigure(QWidget* parent) : Figure(parent) {
    setObjectName(QStringLiteral("cutFigure"));
    bar_ = makeBar();
    column()->addWidget(bar_);
    pictures_ = new QStackedWidget(this);
    reduced_ = new CutView(pictures_);
    graph_ = new graphview::GraphView(pictures_);
    graph_->setAccessibleName(tr("The cut on the model"));
    pictures_->addWidget(reduced_);
    pictures_->addWidget(graph_);
    pictures_->setMinimumHeight(reduced_->minimumSizeHint().height());
    pictures_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);  // The page's height is enough.
    column()->addWidget(pictures_, 3);
    auto* row = makeRow(nullptr, 16);
    curve_ = new PriceCurve(this);
    row->addWidget(curve_, 1);
    planCard_ = makePlanCard();
    row->addWidget(planCard_);
    column()->addLayout(row, 2);
    setControls(makeControls());
    showModel({});
  }

  void showState(const QJsonObject& state, Motion /*motion*/) override {
    price_ = state[QStringLiteral("price")].toDouble(1);
    slider_->setValue(price_);
    const int prices = state[QStringLiteral("measured")].toBool() ? 1 : 0;
    if (prices != prices_->current()) curveKnown_ = false;
    prices_->setCurrent(prices);
    way_->setCurrent(state[QStringLiteral("graph")].toBool() ? 1 : 0);
    pictures_->setCurrentIndex(way_->current());
    ask();
  }
  [[nodiscard]] bool wantsModel() const override { return true; }
  void showModel(const OpenModel& model) override {
    if (model.engine != model_.engine || model.document != model_.document) {
      question_ = model.engine != nullptr ? std::make_unique<Question>(model.engine, this) : nullptr;
      asked_.reset();
      cut_.reset();
      curveKnown_ = false;
      curve_->setCurve({}, false);
      graph_->setDocument(model.document);
    }
    model_ = model;
    graph_->setNorms(model_.norms);
    trouble_ = missingModel(model_);
    ask();
  }
  [[nodiscard]] std::optional<double> number(const QString& name) const override {
    if (!cut_) return std::nullopt;
    if (name == QLatin1String("price")) return solved_;
    if (name == QLatin1String("freed"))
      return static_cast<double>(std::ranges::count(cut_->norms, true, &protocol::CutNorm::freed));
    if (name == QLatin1String("values"))
      return static_cast<double>(std::ranges::count(cut_->values, true, &protocol::CutValue::cut));
    if (name == QLatin1String("paid")) return cut_->paid;
    if (name == QLatin1String("saved")) return cut_->saved;
    if (name == QLatin1String("net")) return cut_->saved - cut_->paid;
    if (name == QLatin1String("cut")) return cut_->paid + cut_->given_up;
    if (name == QLatin1String("cutRounded")) return std::round(cut_->paid + cut_->given_up);
    if (name == QLatin1String("flow")) return cut_->flow;
    return std::nullopt;
  }
  [[nodiscard]] bool isSettled() const override {
    if (model_.document == nullptr) return !model_.trouble.isEmpty();
    return !asked_ && (pictures_->currentWidget() != graph_ || graph_->isStill());
  }

 protected:
  void enlarge(double factor) override {
    column()->setStretchFactor(pictures_, 6);  // in a room the network is what is talked of
    bar_->hide();
    graph_->setPresented(factor);
    planCard_->setFixedWidth(static_cast<int>(kPlanCard * factor));
    reduced_->setFactor(factor);
    curve_->setFactor(factor);
    for (QLabel* label : {name_, sums_, stays_, proof_})
      label->setStyleSheet(QStringLiteral("font-size: %1px;").arg(static_cast<int>(13 * factor)));
    // The pictures take the room: of the plan its proof stays, they show the rest.
    for (QLabel* label : planCard_->findChildren<QLabel*>()) label->setVisible(label == proof_);
  }

 private:
  QWidget* makeBar() {
    auto* bar = new QWidget(this);
    auto* row = makeRow(bar, -1);
    name_ = makeLabel({}, "soft", bar);
    row->addWidget(name_);
    row->addStretch();
    prices_ =
        new Segmented({{tr("Counted"), tr("A centering costs slightly more than folding a norm of its size saves.")},
                       {tr("Measured here"), tr("The times of norms and centerings, measured now on this machine.")}},
                      bar);
    prices_->setObjectName(QStringLiteral("cutPrices"));
    way_ = new Segmented({{tr("Reduced"), tr("Only the part that the choice depends on.")},
                          {tr("On the model"), tr("The same cut in the graph: a triangle marks each centering.")}},
                         bar);
    way_->setObjectName(QStringLiteral("cutWay"));
    row->addWidget(prices_);
    row->addWidget(way_);
    connect(prices_, &Segmented::chosen, this, [this] {
      curveKnown_ = false;
      ask();
    });
    connect(way_, &Segmented::chosen, this, [this](int way) { pictures_->setCurrentIndex(way); });
    return bar;
  }
  QWidget* makePlanCard() {
    auto* card = makeCard(this);
    setTextWidth(card, kPlanCard);
    auto* column = makeColumn(card, 6, {16, 12, 16, 12});
    column->addWidget(makeLabel(tr("The plan at this price"), "strong", card));
    const auto add = [&](const char* kind) {
      auto* label = makeWords(kind, card);
      column->addWidget(label);
      return label;
    };
    sums_ = add("mono");
    sums_->setObjectName(QStringLiteral("cutSums"));
    stays_ = add("soft");
    column->addStretch();
    column->addWidget(makeLabel(tr("Why no plan is cheaper"), "section", card));
    proof_ = add("fact");
    proof_->setObjectName(QStringLiteral("cutProof"));
    return card;
  }
  QWidget* makeControls() {
    auto* card = makeCard(this);
    auto* row = makeRow(card, -1, {16, 10, 16, 10});
    slider_ = new ValueSlider("priceSlider",
                              {tr("Price of a centering"), tr("A multiple of its cost."), 0, 3, 0.05, times}, card);
    row->addWidget(slider_);
    connect(slider_, &ValueSlider::moved, this, [this](double price) {
      price_ = price;
      ask();
    });
    return card;
  }
  // The newest price; the one before is answered first.
  void ask() {
    show();
    if (question_ == nullptr || asked_ || model_.norms.empty()) return;
    protocol::CenteringCutParams params;
    params.plan.prices = prices_->current() == 1 ? protocol::Prices::Measured : protocol::Prices::Fixed;
    params.factor = price_;
    params.curve = !curveKnown_;
    asked_ = price_;
    const bool measured = prices_->current() == 1;
    question_->ask(protocol::methods::kCenteringCut, params,
                   [this, measured](const Reply<protocol::CenteringCut>& reply) {
                     solved_ = *asked_;
                     const bool newest = asked_ == price_ && measured == (prices_->current() == 1);
                     asked_.reset();
                     take(reply);
                     if (!newest) ask();
                   });
  }
  void take(const Reply<protocol::CenteringCut>& reply) {
    if (reply) {
      trouble_.clear();
      cut_ = *reply;
      if (!reply->curve.empty()) {
        curve_->setCurve(reply->curve, reply->measured);
        curveKnown_ = true;
      }
    } else if (!reply.error().cancelled()) {
      cut_.reset();
      curve_->setCurve({}, false);
      curveKnown_ = false;
      trouble_ = reply.error().message;
    }
    show();
  }
  void show() {
    slider_->setValue(price_);
    curve_->setPrice(price_);
    QString trouble = trouble_;
    if (trouble.isEmpty() && model_.document != nullptr && model_.norms.empty())
      trouble = tr("This model has no LayerNorm.");
    if (trouble.isEmpty() && !cut_) trouble = asked_ ? tr("The engine computes the cut") : QString();
    if (trouble.isEmpty() && cut_ && cut_->norms.empty())
      trouble = tr("Nothing to cut: no LayerNorm of this model needs a run-time centering.");
    QStringList names;
    if (cut_) {
      for (const auto& norm : cut_->norms) names << nameOf(norm.norm);
    }
    reduced_->setCut(cut_.value_or(protocol::CenteringCut{}), names, trouble);
    showModelState(*graph_, model_, trouble);
    name_->setText(cut_ ? tr("%1 LayerNorms need a run-time centering").arg(cut_->norms.size()) : QString());
    showOnModel();
    showPlan();
    Q_EMIT changed();
  }
  void showOnModel() {
    if (!cut_ || !model_.document) return graph_->setPlan(std::nullopt);
    graphview::PlanPicture picture;
    for (const auto& norm : cut_->norms) {
      const int node = model_.norms[static_cast<size_t>(norm.norm)].node;
      picture.norms.emplace_back(node, norm.freed ? PlanState::Planned : PlanState::Kept);
    }
    for (const auto& value : cut_->values) {
      if (value.cut) picture.centerings.emplace_back(value.value, value.node);
    }
    graph_->setPlan(std::move(picture));
  }
  void showPlan() {
    const bool there = cut_ && !cut_->norms.empty();
    for (QLabel* label : {sums_, stays_, proof_}) label->clear();
    setAccessibleName(there ? tr("%1 norms freed by %2 centerings")
                                  .arg(static_cast<int>(*number(QStringLiteral("freed"))))
                                  .arg(static_cast<int>(*number(QStringLiteral("values"))))
                            : tr("No cut"));
    if (!there) return;
    const auto amount = [&](double value) { return amountWords(value, cut_->measured); };
    sums_->setText(tr("%1 norms freed   +%2\n%3 centerings   −%4\nsaved   %5")
                       .arg(static_cast<int>(*number(QStringLiteral("freed"))))
                       .arg(amount(cut_->saved))
                       .arg(static_cast<int>(*number(QStringLiteral("values"))))
                       .arg(amount(cut_->paid), amount(cut_->saved - cut_->paid)));
    QStringList staying;
    for (const auto& norm : cut_->norms) {
      if (!norm.freed) staying << nameOf(norm.norm);
    }
    const int more = static_cast<int>(staying.size()) - kMostNamed;
    if (more > 0) staying = staying.mid(0, kMostNamed) << tr("and %1 more").arg(more);
    if (!staying.isEmpty()) stays_->setText(tr("Remain LayerNorms: %1").arg(staying.join(QStringLiteral(", "))));
    proof_->setText(tr("Flow %1 = cut %2. Every cut must stop the whole flow, so no cut is cheaper.")
                        .arg(amount(cut_->flow), amount(cut_->paid + cut_->given_up)));
  }
  [[nodiscard]] QString nameOf(int norm) const {
    return norm >= 0 && norm < static_cast<int>(model_.norms.size())
               ? shortName(text(model_.norms[static_cast<size_t>(norm)].title))
               : QString();
  }

  OpenModel model_;
  double price_ = 1;
  std::optional<protocol::CenteringCut> cut_;
  double solved_ = 1;            // the price that it is of
  std::optional<double> asked_;  // the price that the engine is at
  bool curveKnown_ = false;
  QString trouble_;
  std::unique_ptr<Question> question_;
  QWidget *bar_ = nullptr, *planCard_ = nullptr;
  QLabel *name_ = nullptr, *sums_ = nullptr, *stays_ = nullptr, *proof_ = nullptr;
  Segmented *prices_ = nullptr, *way_ = nullptr;
  QStackedWidget* pictures_ = nullptr;
  CutView* reduced_ = nullptr;
  graphview::GraphView* graph_ = nullptr;
  PriceCurve* curve_ = nullptr;
  ValueSlider* slider_ = nullptr;
};

}  // namespace

Figure* makeCutFigure(QWidget* parent) { return new CutFigure(parent); }

}  // namespace normlens::ui

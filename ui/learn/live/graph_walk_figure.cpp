#include <QComboBox>
#include <QSignalBlocker>
#include <QTimer>
#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>
#include <vector>

#include "ui/client/question.h"
#include "ui/graphview/graph_view.h"
#include "ui/learn/figure.h"
#include "ui/learn/live/model_state.h"
#include "ui/learn/value_slider.h"
#include "ui/theme/class_mark.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/segmented.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

constexpr int kSide = 240, kTick = 900;  // pixels; ms a vertex
constexpr int kLeastWalk = 180;
constexpr size_t kShownLayers = 12, kShownInRoom = 4;

struct Speed {
  const char* name;
  double times;
};
constexpr Speed kSpeeds[] = {{"½×", 0.5}, {"1×", 1}, {"2×", 2}, {"4×", 4}};

QString wholePercent(double share) { return QStringLiteral("%1%").arg(static_cast<int>(std::lround(share * 100))); }

QFrame* makeWordCard(QWidget* parent, const QMargins& margins) {
  auto* card = makeCard(parent);
  makeColumn(card, 6, margins);
  return card;
}

QLabel* makeText(const char* kind, QWidget* parent) {
  QLabel* label = makeWords(kind, parent);
  parent->layout()->addWidget(label);
  return label;
}

// The zero-mean graph of a LayerNorm of the open model, vertex by vertex: the rule at work, in the engine's own words,
// and the layers that would be centered so far. Source: paper 000, Algorithm 1, with the exact rules in place of its
// own.
//
// State: "norm", an index; "at", a share of the way; "play"; "backward".
// Numbers: "pace", vertices a second; "setSize", the layers of the whole walk; "at", a share; "norms" and "folds" of
// the model, "paper": how many the paper's own rules fold.
class GraphWalkFigure final : public Figure {
 public:
  explicit GraphWalkFigure(QWidget* parent) : Figure(parent), shownLayers_(kShownLayers) {
    setObjectName(QStringLiteral("graphWalkFigure"));
    bar_ = makeBar();
    column()->addWidget(bar_);
    auto* row = makeRow(nullptr, 16);
    view_ = new graphview::GraphView(this);
    view_->setAccessibleName(tr("Graph of the open model"));
    view_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);  // The page's height is enough.
    view_->setMinimumHeight(kLeastWalk);
    row->addWidget(view_, 1);
    row->addWidget(makeSide());
    column()->addLayout(row, 1);
    column()->addWidget(makeCallout());
    setControls(makeControls());
    clock_.setInterval(kTick);
    connect(&clock_, &QTimer::timeout, this, &GraphWalkFigure::walkOn);
    showModel({});
  }

  void showState(const QJsonObject& state, Motion motion) override {
    clock_.stop();
    wanted_ = state[QStringLiteral("at")].toDouble();
    direction_->setCurrent(state[QStringLiteral("backward")].toBool() ? 1 : 0);
    const int norm = state[QStringLiteral("norm")].toInt(std::max(0, norms_->currentIndex()));
    chooseNorm(std::min(norm, static_cast<int>(model_.norms.size()) - 1));
    if (motion == Motion::Animated && state[QStringLiteral("play")].toBool()) clock_.start();
    show();
  }
  [[nodiscard]] bool wantsModel() const override { return true; }
  void showModel(const OpenModel& model) override {
    const bool isNew = model.document != model_.document, chosenAnew = model.chosen != model_.chosen;
    if (model.engine != model_.engine)
      question_ = model.engine != nullptr ? std::make_unique<Question>(model.engine, this) : nullptr;
    model_ = model;
    const QSignalBlocker quiet(norms_);
    const int kept = norms_->currentIndex();
    norms_->clear();
    for (const protocol::NormInfo& norm : model_.norms) norms_->addItem(text(norm.title));
    if (isNew) view_->setDocument(model_.document);
    view_->setNorms(model_.norms);
    showModelState(*view_, model_, model_.norms.empty() ? tr("This model has no LayerNorm.") : QString());
    graph_ = {};
    awaited_ = false;
    show();
    if (model_.norms.empty()) return;
    // The last norm has the largest zero-mean graph.
    const int wanted = model_.chosen >= 0 && (isNew || chosenAnew) ? model_.chosen : isNew ? norms_->count() - 1 : kept;
    chooseNorm(std::clamp(wanted, 0, norms_->count() - 1));
  }
  [[nodiscard]] std::optional<double> number(const QString& name) const override {
    const auto count = [&](auto&& condition) {
      return static_cast<double>(std::ranges::count_if(model_.norms, condition));
    };
    const bool ofSet = name == QLatin1String("setSize");
    if (ofSet && steps() == 0) return std::nullopt;
    if ((ofSet || name == QLatin1String("at")) && unknownNorm() != nullptr) return std::nullopt;
    if (ofSet) return static_cast<double>(layersUpTo(steps() - 1).size());
    if (name == QLatin1String("at")) return steps() > 1 ? static_cast<double>(step_) / (steps() - 1) : 0;
    if (name == QLatin1String("pace")) return 1000.0 / clock_.interval();
    if (name == QLatin1String("norms")) return static_cast<double>(model_.norms.size());
    if (name == QLatin1String("folds")) return count([](const auto& norm) { return folds(norm.verdict); });
    if (name == QLatin1String("paper")) return count([](const auto& norm) { return norm.paper; });
    if (name == QLatin1String("unknown"))
      return count([](const auto& norm) { return norm.verdict == Verdict::Unknown; });
    return std::nullopt;
  }
  bool togglePlay() override {
    if (clock_.isActive()) {
      clock_.stop();
    } else if (steps() > 0) {
      if (step_ + 1 >= steps()) step_ = 0;
      clock_.start();
    }
    show();
    return true;
  }
  [[nodiscard]] Film film() const override { return {std::max(0, steps() - 1) * tick(), tick()}; }
  void showTime(int ms) override {
    clock_.stop();
    view_->setAnimated(false);  // a picture of each vertex, not of the way to it
    goTo(ms / tick());
    view_->setAnimated(true);
  }
  [[nodiscard]] bool isSettled() const override {
    if (model_.document == nullptr) return !model_.trouble.isEmpty();
    return !awaited_ && view_->isStill();
  }

 protected:
  void enlarge(double factor) override {
    bar_->hide();
    view_->setPresented(factor);
    shownLayers_ = kShownInRoom;
    side_->setFixedWidth(static_cast<int>(kSide * factor));
    for (QLabel* label : {rule_, why_, setTitle_, set_, totals_})
      label->setStyleSheet(QStringLiteral("font-size: %1px;").arg(static_cast<int>(13 * factor)));
  }

 private:
  QWidget* makeBar() {
    auto* bar = new QWidget(this);
    auto* row = makeRow(bar, -1);
    row->addWidget(makeLabel(tr("Zero-mean graph of"), "soft", bar));
    norms_ = describe(makeNameChoice(16, bar), "walkNorm", {}, tr("LayerNorm"));
    row->addWidget(norms_);
    row->addStretch();
    direction_ = new Segmented({{tr("Forward"), tr("In execution order: from the leaves to the norm.")},
                                {tr("Backward"), tr("In search order: from the norm to the leaves.")}},
                               bar);
    row->addWidget(direction_);
    connect(norms_, &QComboBox::activated, this, &GraphWalkFigure::chooseNorm);
    connect(direction_, &Segmented::chosen, this, [this] { goTo(0); });
    return bar;
  }
  QWidget* makeSide() {
    QFrame* card = makeWordCard(this, {14, 12, 14, 12});
    side_ = card;
    setTextWidth(card, kSide);
    setTitle_ = makeText("section", card);
    set_ = makeText("fact", card);
    static_cast<QVBoxLayout*>(card->layout())->addStretch();
    totals_ = makeText("soft", card);
    return card;
  }
  QWidget* makeCallout() {
    QFrame* card = makeWordCard(this, {16, 10, 16, 10});
    rule_ = makeText("strong", card);
    rule_->setObjectName(QStringLiteral("walkRule"));
    why_ = makeText("soft", card);
    return card;
  }
  QWidget* makeControls() {
    auto* card = makeCard(this);
    auto* row = makeRow(card, -1, {16, 10, 16, 10});
    const auto add = [&](const char* name, const QString& words, const QString& tip, auto act) {
      auto* button = new IconButton({}, words, tip, card);
      button->setObjectName(QLatin1String(name));
      button->setLook(IconButton::Look::Outlined);
      connect(button, &IconButton::clicked, this, act);
      row->addWidget(button);
      return button;
    };
    play_ = add("walkPlay", tr("Play"), tr("One node after another (Space)."), [this] { togglePlay(); });
    add("walkStep", tr("Step"), tr("The next node."), [this] { goTo(step_ + 1); });
    speed_ = describe(new QComboBox(card), "walkSpeed", tr("Playing speed."), tr("Speed"));
    for (const Speed& speed : kSpeeds) speed_->addItem(QString::fromUtf8(speed.name));
    speed_->setCurrentIndex(1);
    row->addWidget(speed_);
    connect(speed_, &QComboBox::currentIndexChanged, this, [this] { clock_.setInterval(tick()); });
    slider_ =
        new ValueSlider("walkSlider", {tr("Progress"), tr("Position in the walk."), 0, 1, 0.02, wholePercent}, card);
    row->addWidget(slider_, 1);
    add("walkNextAdd", tr("Next add"), tr("To the next residual add."), [this] { jump(NodeClass::Residual); });
    add("walkNextLayer", tr("Next layer"), tr("To the next layer that would be centered."),
        [this] { jump(NodeClass::Linear); });
    connect(slider_, &ValueSlider::moved, this,
            [this](double share) { goTo(static_cast<int>(std::lround(share * (steps() - 1)))); });
    return card;
  }
  void chooseNorm(int index) {
    if (index < 0 || index >= static_cast<int>(model_.norms.size())) return;
    norms_->setCurrentIndex(index);
    if (question_ == nullptr) return;
    awaited_ = true;
    question_->ask(protocol::methods::kZeroMeanGraph, {index}, [this](const Reply<protocol::ZeroMeanGraph>& reply) {
      awaited_ = false;
      if (reply) showGraph(*reply);
    });
  }
  void showGraph(const protocol::ZeroMeanGraph& graph) {
    graph_ = graph;
    awaited_ = false;
    std::map<int, size_t> place;  // in the order of execution
    for (size_t i = 0; model_.document && i < model_.document->nodes.size(); ++i)
      place[model_.document->nodes[i].id] = i;
    std::ranges::stable_sort(graph_.vertices, {}, [&](const protocol::ZeroMeanVertex& at) { return place[at.node]; });
    goTo(static_cast<int>(std::lround(wanted_ * std::max(0, steps() - 1))));
  }
  void goTo(int step) {
    step_ = std::clamp(step, 0, std::max(0, steps() - 1));
    show();
  }
  void show() {
    play_->setText(clock_.isActive() ? tr("Pause") : tr("Play"));
    const protocol::NormInfo* unknown = unknownNorm();
    const bool there = model_.document != nullptr && steps() > 0 && unknown == nullptr;
    slider_->setEnabled(there);
    slider_->setUnit(1.0 / std::max(1, steps() - 1));
    slider_->setValue(there && steps() > 1 ? static_cast<double>(step_) / (steps() - 1) : 0);
    const auto count = [&](const char* name) { return static_cast<int>(*number(QLatin1String(name))); };
    totals_->setText(model_.norms.empty() ? QString()
                                          : tr("Of %1 LayerNorms\nexact rules fold %2\nthe paper's rules %3")
                                                .arg(model_.norms.size())
                                                .arg(count("folds"))
                                                .arg(count("paper")));
    if (const int open = count("unknown"); open > 0)
      totals_->setText(totals_->text() + tr("\nnot known: %1").arg(open));
    if (!there) {
      for (QLabel* label : {rule_, why_, set_, setTitle_}) label->clear();
      if (unknown != nullptr) {
        rule_->setText(tr("Whether %1 folds is not known").arg(shortName(text(unknown->title))));
        why_->setText(withNameBreaks(text(unknown->reason)));
      }
      setAccessibleName(tr("No walk"));
      return Q_EMIT changed();
    }
    const protocol::ZeroMeanVertex& at = vertexAt(step_);
    const QChar letter = QChar::fromLatin1(letterOf(at.vertex_class));
    const QString place = tr("Step %1 of %2 · %3").arg(step_ + 1).arg(steps()).arg(nameOf(at.node));
    rule_->setText(at.note.empty() ? place : place + QStringLiteral(": ") + text(at.note));
    why_->setText(classMeaning(letter));
    const std::vector<int> layers = layersUpTo(step_);
    setTitle_->setText(layers.size() == 1 ? tr("So far: 1 layer") : tr("So far: %1 layers").arg(layers.size()));
    QStringList names;
    const size_t hidden = layers.size() > shownLayers_ ? layers.size() - shownLayers_ : 0;
    if (hidden > 0) names << tr("%1 more above").arg(hidden);
    for (size_t i = hidden; i < layers.size(); ++i) names << nameOf(layers[i]);
    set_->setText(names.join(u'\n'));
    view_->setHighlight(visited());
    view_->reveal(at.node);
    setAccessibleName(rule_->text());
    Q_EMIT changed();
  }
  void walkOn() {
    if (step_ + 1 >= steps()) {
      clock_.stop();
    } else {
      ++step_;
    }
    show();
  }
  // Ms a vertex.
  [[nodiscard]] int tick() const { return static_cast<int>(kTick / kSpeeds[speed_->currentIndex()].times); }
  // To the next one of it.
  void jump(NodeClass vertexClass) {
    for (int step = step_ + 1; step < steps(); ++step) {
      if (vertexAt(step).vertex_class == vertexClass) return goTo(step);
    }
  }
  [[nodiscard]] int steps() const { return static_cast<int>(graph_.vertices.size()); }
  // Returns the chosen norm where its verdict is unknown; nullptr: it is known.
  [[nodiscard]] const protocol::NormInfo* unknownNorm() const {
    const auto index = static_cast<size_t>(norms_->currentIndex());
    return index < model_.norms.size() && model_.norms[index].verdict == Verdict::Unknown ? &model_.norms[index]
                                                                                          : nullptr;
  }
  // The vertex of a step, as the direction has it.
  [[nodiscard]] const protocol::ZeroMeanVertex& vertexAt(int step) const;
  [[nodiscard]] QString nameOf(int node) const {
    const auto& nodes = model_.document->nodes;
    const auto at = std::ranges::find(nodes, node, &protocol::GraphNode::id);
    if (at == nodes.end()) return {};
    return at->name.empty() ? text(at->label)
                            : QStringLiteral("%1 (%2)").arg(shortName(text(at->name)), text(at->label));
  }
  // Nodes.
  [[nodiscard]] std::vector<int> layersUpTo(int step) const {
    std::vector<int> layers;
    for (int i = 0; i <= step && i < steps(); ++i) {
      if (vertexAt(i).vertex_class == NodeClass::Linear) layers.push_back(vertexAt(i).node);
    }
    return layers;
  }
  [[nodiscard]] protocol::ZeroMeanGraph visited() const {
    protocol::ZeroMeanGraph part;
    part.norm = graph_.norm;
    std::unordered_set<int> nodes, values;
    for (int i = 0; i <= step_ && i < steps(); ++i) {
      part.vertices.push_back(vertexAt(i));
      nodes.insert(vertexAt(i).node);
    }
    for (const protocol::GraphNode& node : model_.document->nodes) {
      if (nodes.contains(node.id)) values.insert(node.outputs.begin(), node.outputs.end());
    }
    std::ranges::copy_if(graph_.values, std::back_inserter(part.values), [&](int id) { return values.contains(id); });
    return part;
  }

  OpenModel model_;
  protocol::ZeroMeanGraph graph_;  // in the order of execution
  bool awaited_ = false;           // a graph was wanted and is not there yet
  int step_ = 0;
  double wanted_ = 0;  // share of the way that the lesson sets, until there is a graph
  QWidget* bar_ = nullptr;
  QFrame* side_ = nullptr;
  size_t shownLayers_;
  QComboBox *norms_ = nullptr, *speed_ = nullptr;
  Segmented* direction_ = nullptr;
  graphview::GraphView* view_ = nullptr;
  QLabel *rule_ = nullptr, *why_ = nullptr, *setTitle_ = nullptr, *set_ = nullptr, *totals_ = nullptr;
  IconButton* play_ = nullptr;
  ValueSlider* slider_ = nullptr;
  QTimer clock_;
  std::unique_ptr<Question> question_;  // Asks the engine that has the model.
};

const protocol::ZeroMeanVertex& GraphWalkFigure::vertexAt(int step) const {
  const bool backward = direction_->current() == 1;
  return graph_.vertices[static_cast<size_t>(backward ? steps() - 1 - step : step)];
}

}  // namespace

Figure* makeGraphWalkFigure(QWidget* parent) { return new GraphWalkFigure(parent); }

}  // namespace normlens::ui

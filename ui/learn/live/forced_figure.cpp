#include <QComboBox>
#include <QPainter>
#include <QSignalBlocker>
#include <QStringList>
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "core/protocol/difference_messages.h"
#include "ui/client/question.h"
#include "ui/graphview/graph_view.h"
#include "ui/learn/card_paint.h"
#include "ui/learn/figure.h"
#include "ui/learn/live/model_state.h"
#include "ui/learn/live/scaled_plot.h"
#include "ui/theme/theme.h"
#include "ui/widgets/frames.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

constexpr int kName = 74, kNumber = 84;

// An error in each floating type beside what rounding alone explains there, on one logarithmic axis.
class ErrorBars final : public ScaledPlot {
 public:
  explicit ErrorBars(QWidget* parent) : ScaledPlot(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setAccessibleName(tr("Output error if folded anyway"));
    setToolTip(tr("The largest relative difference of an output; the line is six times the rounding noise."));
  }

  // `waiting`: of the types that are still to come.
  // folds: the norm's verdict allows the fold, so that an error below the limit is none.
  void setErrors(const std::vector<protocol::ForcedError>& errors, const QStringList& waiting, bool folds) {
    folds_ = folds;
    errors_ = errors;
    waiting_ = waiting;
    double least = 1, most = 1;
    QStringList words;
    for (const auto& error : errors_) {
      if (!error.error.empty()) continue;
      least = std::min({least, error.limit > 0 ? error.limit : 1, error.max_rel > 0 ? error.max_rel : 1});
      most = std::max(most, std::isfinite(error.max_rel) ? error.max_rel : 1);
      words << QStringLiteral("%1: %2").arg(text(error.dtype), formatError(error.max_rel));
    }
    low_ = static_cast<int>(std::floor(std::log10(std::max(least, 1e-20)))) - 1;
    high_ = static_cast<int>(std::ceil(std::log10(most)));
    setAccessibleDescription(words.join(QStringLiteral(", ")));
    update();
  }
  [[nodiscard]] QSize minimumSizeHint() const override { return {260, 150}; }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme theme = themeOf(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const CardWords words{tr("Error if folded anyway"), tr("line: 6 × rounding noise")};
    const QRectF inside = paintCard(painter, rect(), words, theme, factor());
    const auto count = static_cast<double>(errors_.size()) + static_cast<double>(waiting_.size());
    const double tall = std::min(34 * scale(), inside.height() / std::max(1.0, count));
    QRectF row(inside.left(), inside.top(), inside.width(), tall);
    for (const auto& error : errors_) {
      paintRow(painter, row, error);
      row.translate(0, tall);
    }
    painter.setFont(uiFont(static_cast<int>(12 * factor())));
    painter.setPen(theme.textFaint);
    for (const QString& type : waiting_) {
      painter.drawText(row, Qt::AlignLeft | Qt::AlignVCenter, tr("%1: the engine runs the model").arg(type));
      row.translate(0, tall);
    }
  }

 private:
  void paintRow(QPainter& painter, const QRectF& row, const protocol::ForcedError& error) const {
    const Theme theme = themeOf(this);
    const QRectF bars = row.adjusted(kName * scale(), 0, -kNumber * scale(), 0);
    painter.setFont(monoFont(static_cast<int>(12 * factor())));
    painter.setPen(theme.text);
    painter.drawText(row, Qt::AlignLeft | Qt::AlignVCenter, text(error.dtype));
    if (!error.error.empty()) {
      painter.setFont(uiFont(static_cast<int>(12 * factor())));
      painter.setPen(theme.textSoft);
      const QRectF room = row.adjusted(kName * scale(), 0, 0, 0);
      painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                       painter.fontMetrics().elidedText(asSentence(text(error.error)), Qt::ElideRight,
                                                        static_cast<int>(room.width())));
      return;
    }
    const double tall = std::min(14 * scale(), row.height() - 6), middle = row.center().y();
    painter.fillRect(QRectF(bars.left(), middle - tall / 2, bars.width() * share(error.max_rel), tall),
                     error.max_rel > error.limit ? theme.opaqueLine
                     : folds_                    ? theme.linearLine
                                                 : theme.textFaint);
    const double limit = bars.left() + bars.width() * share(error.limit);
    painter.setPen(QPen(theme.text, 1.5));
    painter.drawLine(QPointF(limit, middle - tall / 2 - 4), QPointF(limit, middle + tall / 2 + 4));
    painter.drawText(row, Qt::AlignRight | Qt::AlignVCenter, formatError(error.max_rel));
  }
  // Returns the axis' share up to an error.
  [[nodiscard]] double share(double error) const {
    if (!(error > 0)) return 0;
    return std::clamp((std::log10(error) - low_) / (high_ - low_), 0.0, 1.0);
  }

  std::vector<protocol::ForcedError> errors_;
  QStringList waiting_;
  bool folds_ = false;
  int low_ = -16, high_ = 0;
};

constexpr std::array<const char*, 4> kTypes = {"float64", "float32", "bfloat16", "float16"};
constexpr int kLeastGraph = 180;

// A LayerNorm that cannot fold: what is in its way, on the graph, and what would become of the outputs if it were
// folded all the same, in each floating type, run by the engine.
//
// State: "norm", an index; without it the first one that is blocked.
// Numbers: "verdict", 1 where it folds; "overLimit" in float32, how many times the error is of what rounding explains;
// "float64" and so on: the error there; "path", the ops from the norm to what is in its way.
class ForcedFigure final : public Figure {
 public:
  explicit ForcedFigure(QWidget* parent) : Figure(parent) {
    setObjectName(QStringLiteral("forcedFigure"));
    view_ = new graphview::GraphView(this);
    view_->setAccessibleName(tr("Graph of the model"));
    view_->setMinimumHeight(kLeastGraph);
    view_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);
    column()->addWidget(view_, 3);
    auto* row = makeRow(nullptr, 16);
    auto* card = makeCard(this);
    auto* words = makeColumn(card, 6, {16, 12, 16, 12});
    const auto add = [&](const char* kind) {
      QLabel* label = makeWords(kind, card);
      words->addWidget(label);
      return label;
    };
    title_ = add("strong");
    reason_ = add("fact");
    reason_->setObjectName(QStringLiteral("forcedReason"));
    words->addStretch();
    facts_ = add("soft");
    bars_ = new ErrorBars(this);
    row->addWidget(card, 2);
    row->addWidget(bars_, 3);
    column()->addLayout(row, 2);
    setControls(makeControls());
    showModel({});
  }

  void showState(const QJsonObject& state, Motion /*motion*/) override {
    wanted_ = state[QStringLiteral("norm")].toInt(-1);
    showModel(model_);
  }
  [[nodiscard]] bool wantsModel() const override { return true; }
  void showModel(const OpenModel& model) override {
    const bool isNew = model.document != model_.document || model.engine != model_.engine;
    if (isNew) {
      graphQuestion_ = model.engine != nullptr ? std::make_unique<Question>(model.engine, this) : nullptr;
      errorQuestion_ = model.engine != nullptr ? std::make_unique<Question>(model.engine, this) : nullptr;
      view_->setDocument(model.document);
    }
    model_ = model;
    view_->setNorms(model_.norms);
    showModelState(*view_, model_, model_.norms.empty() ? tr("This model has no LayerNorm.") : QString());
    const QSignalBlocker quiet(norms_);
    norms_->clear();
    for (const auto& each : model_.norms) norms_->addItem(shortName(text(each.title)));
    const auto blocked = std::ranges::find(model_.norms, Verdict::Blocked, &protocol::NormInfo::verdict);
    const int first = blocked == model_.norms.end() ? 0 : static_cast<int>(blocked - model_.norms.begin());
    const int last = static_cast<int>(model_.norms.size()) - 1;
    errors_.clear();
    show();
    if (last >= 0) chooseNorm(std::min(wanted_ >= 0 ? wanted_ : first, last));
  }
  [[nodiscard]] std::optional<double> number(const QString& name) const override {
    const protocol::NormInfo* of = norm();
    if (of == nullptr) return std::nullopt;
    if (name == QLatin1String("verdict"))
      return of->verdict == Verdict::Unknown ? std::nullopt : std::optional<double>(folds(of->verdict) ? 1 : 0);
    if (name == QLatin1String("path")) return static_cast<double>(of->blocker_path.size());
    if (name == QLatin1String("norm")) return norms_->currentIndex();
    const std::string type = name == QLatin1String("overLimit") ? "float32" : name.toStdString();
    const auto found = std::ranges::find(errors_, type, &protocol::ForcedError::dtype);
    if (found == errors_.end() || !found->error.empty()) return std::nullopt;
    return name == QLatin1String("overLimit") ? found->max_rel / found->limit : found->max_rel;
  }
  [[nodiscard]] bool isSettled() const override {
    if (model_.document == nullptr) return !model_.trouble.isEmpty();
    return view_->isStill() && (norm() == nullptr || errors_.size() == kTypes.size());
  }

 protected:
  void enlarge(double factor) override {
    view_->setPresented(factor);
    bars_->setFactor(factor);
    for (QLabel* label : {title_, reason_, facts_})
      label->setStyleSheet(QStringLiteral("font-size: %1px;").arg(static_cast<int>(13 * factor)));
  }

 private:
  QWidget* makeControls() {
    auto* card = makeCard(this);
    auto* row = makeRow(card, -1, {16, 8, 16, 8});
    row->addWidget(makeLabel(tr("LayerNorm"), "soft", card));
    norms_ = describe(makeNameChoice(16, card), "forcedNorm", {}, tr("LayerNorm"));
    row->addWidget(norms_);
    row->addStretch();
    connect(norms_, &QComboBox::activated, this, &ForcedFigure::chooseNorm);
    return card;
  }
  void chooseNorm(int index) {
    norms_->setCurrentIndex(index);
    errors_.clear();
    show();
    if (graphQuestion_ == nullptr || norm() == nullptr) return;
    graphQuestion_->ask(
        protocol::methods::kZeroMeanGraph, {index}, [this](const Reply<protocol::ZeroMeanGraph>& reply) {
          if (!reply || norm() == nullptr) return;
          const auto& blocker = norm()->blocker;
          view_->setHighlight(*reply, norm()->blocker_path, blocker ? text(blocker->reason) : QString());
          view_->reveal(norm()->node);
        });
    errorQuestion_->drop();
    askNext();
  }
  void askNext() {
    if (errorQuestion_ == nullptr || norm() == nullptr || errors_.size() == kTypes.size()) return;
    const protocol::ForcedErrorParams params{norms_->currentIndex(), kTypes.at(errors_.size())};
    errorQuestion_->ask(protocol::methods::kForcedError, params, [this](const Reply<protocol::ForcedError>& reply) {
      if (!reply && reply.error().cancelled()) return;
      protocol::ForcedError next;
      if (reply) next = *reply;
      if (!reply) next.error = reply.error().message.toStdString();
      next.dtype = kTypes.at(errors_.size());
      errors_.push_back(std::move(next));
      show();
      askNext();
    });
  }
  void show() {
    const protocol::NormInfo* of = norm();
    QStringList waiting;
    for (size_t type = errors_.size(); of != nullptr && type < kTypes.size(); ++type)
      waiting << QString::fromLatin1(kTypes.at(type));
    bars_->setErrors(errors_, waiting, of != nullptr && folds(of->verdict));
    for (QLabel* label : {title_, reason_, facts_}) label->clear();
    setAccessibleName(tr("No LayerNorm"));
    if (of != nullptr) {
      title_->setText((of->verdict == Verdict::Blocked   ? tr("%1 cannot fold")
                       : of->verdict == Verdict::Unknown ? tr("Whether %1 folds is not known")
                                                         : tr("%1 folds"))
                          .arg(shortName(text(of->title))));
      reason_->setText(withNameBreaks(text(of->reason)));
      if (of->has_gamma) {
        facts_->setText(tr("Its own γ: from %1 to %2, β: from %3 to %4")
                            .arg(formatNumber(of->gamma_min, 2), formatNumber(of->gamma_max, 2),
                                 formatNumber(of->beta_min, 2), formatNumber(of->beta_max, 2)));
      }
      setAccessibleName(title_->text());
    }
    Q_EMIT changed();
  }
  [[nodiscard]] const protocol::NormInfo* norm() const;

  OpenModel model_;
  int wanted_ = -1;                            // that the lesson names; -1: the first that is blocked
  std::vector<protocol::ForcedError> errors_;  // One for each type so far.
  std::unique_ptr<Question> graphQuestion_, errorQuestion_;
  QComboBox* norms_ = nullptr;
  graphview::GraphView* view_ = nullptr;
  QLabel *title_ = nullptr, *reason_ = nullptr, *facts_ = nullptr;
  ErrorBars* bars_ = nullptr;
};

const protocol::NormInfo* ForcedFigure::norm() const {
  const int index = norms_->currentIndex();
  return index < 0 || index >= static_cast<int>(model_.norms.size()) ? nullptr
                                                                     : &model_.norms[static_cast<size_t>(index)];
}

}  // namespace

Figure* makeForcedFigure(QWidget* parent) { return new ForcedFigure(parent); }

}  // namespace normlens::ui

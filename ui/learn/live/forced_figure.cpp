#include "ui/learn/live/forced_figure.h"

#include <QComboBox>
#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <algorithm>
#include <array>

#include "ui/graphview/graph_view.h"
#include "ui/learn/live/error_bars.h"
#include "ui/learn/live/model_state.h"
#include "ui/session/words/format.h"
#include "ui/widgets/frames.h"

namespace normlens::ui {
namespace {

constexpr std::array<const char*, 4> kTypes = {"float64", "float32", "bfloat16", "float16"};
constexpr int kLeastGraph = 180;

}  // namespace

ForcedFigure::ForcedFigure(QWidget* parent) : Figure(parent) {
  setObjectName(QStringLiteral("forcedFigure"));
  view_ = new graphview::GraphView(this);
  view_->setAccessibleName(tr("Graph of the model"));
  view_->setMinimumHeight(kLeastGraph);
  view_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);
  column()->addWidget(view_, 3);
  auto* row = new QHBoxLayout;
  row->setSpacing(16);
  auto* card = new QFrame(this);
  card->setProperty("kind", "card");
  auto* words = new QVBoxLayout(card);
  words->setContentsMargins(16, 12, 16, 12);
  words->setSpacing(6);
  const auto add = [&](const char* kind) {
    QLabel* label = makeLabel({}, kind, card);
    label->setWordWrap(true);
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

QWidget* ForcedFigure::makeControls() {
  auto* card = new QFrame(this);
  card->setProperty("kind", "card");
  auto* row = new QHBoxLayout(card);
  row->setContentsMargins(16, 8, 16, 8);
  row->addWidget(makeLabel(tr("LayerNorm"), "soft", card));
  norms_ = new QComboBox(card);
  norms_->setObjectName(QStringLiteral("forcedNorm"));
  norms_->setAccessibleName(tr("LayerNorm"));
  norms_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  norms_->setMinimumContentsLength(16);
  row->addWidget(norms_);
  row->addStretch();
  connect(norms_, &QComboBox::activated, this, &ForcedFigure::chooseNorm);
  return card;
}

void ForcedFigure::showState(const QJsonObject& state, Motion /*motion*/) {
  wanted_ = state[QStringLiteral("norm")].toInt(-1);
  showModel(model_);
}

void ForcedFigure::showModel(const OpenModel& model) {
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
  const auto blocked = std::ranges::find(model_.norms, "blocked", &protocol::NormInfo::verdict);
  const int first = blocked == model_.norms.end() ? 0 : static_cast<int>(blocked - model_.norms.begin());
  const int last = static_cast<int>(model_.norms.size()) - 1;
  errors_.clear();
  show();
  if (last >= 0) chooseNorm(std::min(wanted_ >= 0 ? wanted_ : first, last));
}

const protocol::NormInfo* ForcedFigure::norm() const {
  const int index = norms_->currentIndex();
  return index < 0 || index >= static_cast<int>(model_.norms.size()) ? nullptr
                                                                     : &model_.norms[static_cast<size_t>(index)];
}

void ForcedFigure::chooseNorm(int index) {
  norms_->setCurrentIndex(index);
  errors_.clear();
  show();
  if (graphQuestion_ == nullptr || norm() == nullptr) return;
  graphQuestion_->ask(protocol::methods::kZeroMeanGraph, {index}, [this](const Reply<protocol::ZeroMeanGraph>& reply) {
    if (!reply || norm() == nullptr) return;
    const auto& blocker = norm()->blocker;
    view_->setHighlight(*reply, norm()->blocker_path, blocker ? text(blocker->reason) : QString());
    view_->reveal(norm()->node);
  });
  errorQuestion_->drop();
  askNext();
}

void ForcedFigure::askNext() {
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

void ForcedFigure::show() {
  const protocol::NormInfo* of = norm();
  QStringList waiting;
  for (size_t type = errors_.size(); of != nullptr && type < kTypes.size(); ++type)
    waiting << QString::fromLatin1(kTypes.at(type));
  bars_->setErrors(errors_, waiting);
  for (QLabel* label : {title_, reason_, facts_}) label->clear();
  setAccessibleName(tr("No LayerNorm"));
  if (of != nullptr) {
    title_->setText((of->verdict == "blocked"   ? tr("%1 cannot fold")
                     : of->verdict == "unknown" ? tr("Whether %1 folds is unknown")
                                                : tr("%1 folds"))
                        .arg(shortName(text(of->title))));
    reason_->setText(unbroken(text(of->reason)));
    if (of->has_gamma) {
      facts_->setText(tr("Its own γ: from %1 to %2, β: from %3 to %4")
                          .arg(formatNumber(of->gamma_min, 2), formatNumber(of->gamma_max, 2),
                               formatNumber(of->beta_min, 2), formatNumber(of->beta_max, 2)));
    }
    setAccessibleName(title_->text());
  }
  Q_EMIT changed();
}

std::optional<double> ForcedFigure::number(const QString& name) const {
  const protocol::NormInfo* of = norm();
  if (of == nullptr) return std::nullopt;
  if (name == QLatin1String("verdict")) return of->verdict == "blocked" ? 0 : 1;
  if (name == QLatin1String("path")) return static_cast<double>(of->blocker_path.size());
  if (name == QLatin1String("norm")) return norms_->currentIndex();
  const std::string type = name == QLatin1String("overLimit") ? "float32" : name.toStdString();
  const auto found = std::ranges::find(errors_, type, &protocol::ForcedError::dtype);
  if (found == errors_.end() || !found->error.empty()) return std::nullopt;
  return name == QLatin1String("overLimit") ? found->max_rel / found->limit : found->max_rel;
}

bool ForcedFigure::isSettled() const {
  if (model_.document == nullptr) return !model_.trouble.isEmpty();
  return view_->isStill() && (norm() == nullptr || errors_.size() == kTypes.size());
}

void ForcedFigure::enlarge(double factor) {
  view_->setPresented(factor);
  bars_->setFactor(factor);
  for (QLabel* label : {title_, reason_, facts_})
    label->setStyleSheet(QStringLiteral("font-size: %1px;").arg(static_cast<int>(13 * factor)));
}

}  // namespace normlens::ui

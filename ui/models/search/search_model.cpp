#include "ui/models/search/search_model.h"

#include <QElapsedTimer>
#include <QSet>
#include <algorithm>

#include "ui/session/model_index.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

constexpr int kSliceMs = 6;
constexpr size_t kBetweenLooks = 64;  // at the clock

}  // namespace

SearchModel::SearchModel(QObject* parent) : QAbstractListModel(parent) {
  slices_.setInterval(0);
  connect(&slices_, &QTimer::timeout, this, &SearchModel::slice);
}

void SearchModel::setEntries(std::vector<Entry> entries) {
  beginResetModel();
  hits_.clear();  // they count the old entries
  entries_ = std::move(entries);
  endResetModel();
  start();
}

void SearchModel::setIndex(const ModelIndex* index) {
  beginResetModel();
  hits_.clear();
  index_ = index;
  endResetModel();
  start();
}

void SearchModel::setQuery(const QString& text) {
  query_ = SearchQuery(text);
  start();
}

void SearchModel::start() {
  coming_.clear();
  next_ = 0;
  slices_.stop();
  matchEntries();
  if (index_ == nullptr || query_.empty()) {
    publish();
  } else {
    slice();  // a small model is done at once
  }
}

void SearchModel::matchEntries() {
  QSet<QString> norms;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].target == Target::Norm) norms.insert(entries_[i].title);
    const int rank = query_.rankName(entries_[i].title);
    if (rank != SearchQuery::kNoMatch) coming_.push_back({entries_[i].target, rank, static_cast<int>(i)});
  }
  hasNorms_ = !norms.isEmpty();
  namedByNorm_.clear();
  if (index_ == nullptr || query_.empty()) return;
  for (const protocol::GraphScope& scope : index_->graph().scopes)
    namedByNorm_.push_back(norms.contains(text(scope.path)));
}

void SearchModel::slice() {
  const size_t scopes = index_->graph().scopes.size(), all = scopes + index_->graph().nodes.size();
  QElapsedTimer timer;
  timer.start();
  while (next_ < all && (next_ % kBetweenLooks != 0 || timer.elapsed() < kSliceMs)) {
    if (next_ < scopes) {
      matchScope(next_);
    } else {
      matchNode(next_ - scopes);
    }
    ++next_;
  }
  if (next_ < all) {
    slices_.start();
    return;
  }
  slices_.stop();
  publish();
}

void SearchModel::matchScope(size_t place) {
  const protocol::GraphScope& scope = index_->graph().scopes[place];
  if (scope.path.empty() || namedByNorm_[place]) return;  // the module of a LayerNorm is listed as the norm
  const int rank = query_.rankScope(scope);
  if (rank != SearchQuery::kNoMatch) coming_.push_back({Target::Scope, rank, static_cast<int>(place)});
}

void SearchModel::matchNode(size_t place) {
  const protocol::GraphNode& node = index_->graph().nodes[place];
  if (node.helper) return;
  const int rank = query_.rankNode(node, *index_);
  if (rank == SearchQuery::kNoMatch) return;
  const bool listedAsNorm = node.norm >= 0 && rank != SearchQuery::kElsewhere && hasNorms_;
  if (!listedAsNorm) coming_.push_back({Target::Node, rank, static_cast<int>(place)});
}

void SearchModel::publish() {
  std::stable_sort(coming_.begin(), coming_.end(), [](const Hit& a, const Hit& b) { return a.rank < b.rank; });
  beginResetModel();
  hits_ = std::move(coming_);
  coming_ = {};
  endResetModel();
  Q_EMIT finished();
}

SearchModel::Entry SearchModel::hit(int number) const {
  const Hit& hit = hits_[static_cast<size_t>(number)];
  const auto place = static_cast<size_t>(hit.place);
  if (hit.target == Target::Scope) {
    const protocol::GraphScope& scope = index_->graph().scopes[place];
    return {hit.target, scope.id, text(scope.path), text(scope.type), QStringLiteral("module")};
  }
  if (hit.target == Target::Node) {
    const protocol::GraphNode& node = index_->graph().nodes[place];
    return {hit.target, node.id, index_->nodeTitle(node.id), text(node.label), {}};
  }
  return entries_[place];
}

int SearchModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : std::min(hitCount(), kMaxRows);
}

QVariant SearchModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Entry entry = hit(index.row());
  switch (role) {
    case Qt::DisplayRole:
    case Qt::EditRole:
      return entry.title;
    case TargetRole:
      return static_cast<int>(entry.target);
    case IdRole:
      return entry.id;
    case HintRole:
      return entry.hint;
    case IconRole:
      return entry.icon;
    default:
      return {};
  }
}

}  // namespace normlens::ui

#include "ui/models/scope_model.h"

#include <unordered_set>

#include "ui/words/format.h"

namespace normlens::ui {

void ScopeModel::setGraph(const protocol::GraphDocument& graph, const QString& rootName) {
  beginResetModel();
  rows_.clear();
  roots_.clear();
  byScope_.clear();
  for (const protocol::GraphScope& scope : graph.scopes) {
    byScope_.emplace(scope.id, static_cast<int>(rows_.size()));
    const bool root = scope.parent < 0;
    rows_.push_back({scope.id,
                     -1,
                     0,
                     root && scope.name.empty() ? rootName : text(scope.name),
                     text(scope.type),
                     text(scope.path),
                     {},
                     0});
  }
  link(graph);
  countNorms(graph);
  endResetModel();
}

void ScopeModel::link(const protocol::GraphDocument& graph) {
  for (size_t i = 0; i < graph.scopes.size(); ++i) {
    const auto parent = byScope_.find(graph.scopes[i].parent);
    // A parent comes before its children; anything else would not be a tree.
    const bool child = parent != byScope_.end() && parent->second < static_cast<int>(i);
    auto& siblings = child ? rows_[static_cast<size_t>(parent->second)].children : roots_;
    rows_[i].parent = child ? parent->second : -1;
    rows_[i].place = static_cast<int>(siblings.size());
    siblings.push_back(static_cast<int>(i));
  }
}

void ScopeModel::countNorms(const protocol::GraphDocument& graph) {
  std::unordered_set<int> seen;
  for (const protocol::GraphNode& node : graph.nodes) {
    if (node.norm < 0 || !seen.insert(node.norm).second) continue;
    const auto found = byScope_.find(node.scope);
    for (int at = found == byScope_.end() ? -1 : found->second; at >= 0; at = rows_[static_cast<size_t>(at)].parent) {
      ++rows_[static_cast<size_t>(at)].norms;
    }
  }
}

QModelIndex ScopeModel::indexOfScope(int scope) const {
  const auto found = byScope_.find(scope);
  if (found == byScope_.end()) return {};
  return createIndex(rows_[static_cast<size_t>(found->second)].place, 0, static_cast<quintptr>(found->second));
}

const ScopeModel::Row* ScopeModel::rowOf(const QModelIndex& index) const {
  return index.isValid() ? &rows_[static_cast<size_t>(index.internalId())] : nullptr;
}

QModelIndex ScopeModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  const Row* under = rowOf(parent);
  const auto& siblings = under != nullptr ? under->children : roots_;
  return createIndex(row, column, static_cast<quintptr>(siblings[static_cast<size_t>(row)]));
}

QModelIndex ScopeModel::parent(const QModelIndex& child) const {
  const Row* row = rowOf(child);
  if (row == nullptr || row->parent < 0) return {};
  return createIndex(rows_[static_cast<size_t>(row->parent)].place, 0, static_cast<quintptr>(row->parent));
}

int ScopeModel::rowCount(const QModelIndex& parent) const {
  if (parent.column() > 0) return 0;
  const Row* row = rowOf(parent);
  return static_cast<int>(row != nullptr ? row->children.size() : roots_.size());
}

int ScopeModel::columnCount(const QModelIndex&) const { return 1; }

QVariant ScopeModel::data(const QModelIndex& index, int role) const {
  const Row* row = rowOf(index);
  if (row == nullptr) return {};
  switch (role) {
    case Qt::DisplayRole:
      return row->name;
    case Qt::ToolTipRole:
      return row->norms == 0 ? tr("%1 %2").arg(row->path, row->type)
                             : tr("%1 %2, LayerNorms inside: %3").arg(row->path, row->type).arg(row->norms);
    case ScopeRole:
      return row->scope;
    case TypeRole:
      return row->type;
    case NormCountRole:
      return row->norms;
    case PathRole:
      return row->path;
    default:
      return {};
  }
}

}  // namespace normlens::ui

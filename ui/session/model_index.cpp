#include "ui/session/model_index.h"

#include <algorithm>
#include <utility>

#include "ui/words/format.h"

namespace normlens::ui {

namespace {

template <class List>
auto* find(const std::unordered_map<int, size_t>& index, List& list, int id) {
  const auto found = index.find(id);
  return found == index.end() ? nullptr : &list[found->second];
}

}  // namespace

ModelIndex::ModelIndex(std::shared_ptr<const protocol::GraphDocument> graph) : graph_(std::move(graph)) {
  for (size_t i = 0; i < graph_->nodes.size(); ++i) {
    nodes_.emplace(graph_->nodes[i].id, i);
    for (const int output : graph_->nodes[i].outputs) producers_.emplace(output, graph_->nodes[i].id);
  }
  for (size_t i = 0; i < graph_->values.size(); ++i) values_.emplace(graph_->values[i].id, i);
  for (size_t i = 0; i < graph_->scopes.size(); ++i) scopes_.emplace(graph_->scopes[i].id, i);
}

void ModelIndex::merge(const std::vector<protocol::GraphValue>& values) {
  if (values.empty()) return;
  auto merged = std::make_shared<protocol::GraphDocument>(*graph_);
  for (const protocol::GraphValue& update : values) {
    if (protocol::GraphValue* own = find(values_, merged->values, update.id)) {
      own->dtype = update.dtype;
      own->shape = update.shape;
      own->has_shape = update.has_shape;
      own->stream = update.stream;
      own->constant = update.constant;
    }
  }
  graph_ = std::move(merged);
}

const protocol::GraphNode* ModelIndex::node(int id) const { return find(nodes_, graph_->nodes, id); }
const protocol::GraphValue* ModelIndex::value(int id) const { return find(values_, graph_->values, id); }
const protocol::GraphScope* ModelIndex::scope(int id) const { return find(scopes_, graph_->scopes, id); }

const protocol::GraphNode* ModelIndex::producer(int value) const {
  const auto found = producers_.find(value);
  return found == producers_.end() ? nullptr : node(found->second);
}

std::vector<int> ModelIndex::scopePath(int scopeId) const {
  std::vector<int> path;
  for (const protocol::GraphScope* at = scope(scopeId); at != nullptr && path.size() < 1000; at = scope(at->parent)) {
    path.push_back(at->id);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

QString ModelIndex::nodeTitle(int id) const {
  const protocol::GraphNode* at = node(id);
  if (at == nullptr) return {};
  const QString label = text(at->label.empty() ? at->op : at->label);
  const protocol::GraphScope* in = scope(at->scope);
  const QString where = text(at->name.empty() && in != nullptr ? in->path : at->name);
  if (at->role == NodeClass::LayerNorm && !where.isEmpty()) return where;
  return where.isEmpty() ? label : QStringLiteral("%1 (%2)").arg(where, label);
}

}  // namespace normlens::ui

// Look-ups in an opened model's graph by id, by name and by producer. Built once per model. Thread: value type.
#pragma once

#include <QHash>
#include <QString>
#include <QStringList>
#include <memory>
#include <unordered_map>

#include "core/protocol/messages.h"

namespace normlens::ui {

class ModelIndex {
 public:
  ModelIndex() = default;
  explicit ModelIndex(std::shared_ptr<const protocol::GraphDocument> graph);

  // Dtypes and shapes that the probe run added. Makes a new document: others may hold the one before.
  void merge(const std::vector<protocol::GraphValue>& values);

  [[nodiscard]] const protocol::GraphDocument& graph() const { return *graph_; }
  [[nodiscard]] const std::shared_ptr<const protocol::GraphDocument>& document() const { return graph_; }
  // nullptr when there is no such id.
  [[nodiscard]] const protocol::GraphNode* node(int id) const;
  [[nodiscard]] const protocol::GraphValue* value(int id) const;
  [[nodiscard]] const protocol::GraphScope* scope(int id) const;
  [[nodiscard]] const protocol::GraphNode* producer(int value) const;  // nullptr for constants

  // Scope ids from the model down to `scope`, both included.
  [[nodiscard]] std::vector<int> scopePath(int scope) const;
  // A node as the engine's sentences call it: "h.0.act (gelu)"; a norm by its name alone.
  [[nodiscard]] QString nodeTitle(int id) const;

 private:
  std::shared_ptr<const protocol::GraphDocument> graph_ = std::make_shared<const protocol::GraphDocument>();
  std::unordered_map<int, size_t> nodes_, values_, scopes_;
  std::unordered_map<int, int> producers_;  // value -> node
};

}  // namespace normlens::ui

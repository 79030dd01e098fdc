// The module tree of a model: one row per scope, with its class and how many LayerNorms it holds.
#pragma once

#include <QAbstractItemModel>
#include <unordered_map>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::ui {

class ScopeModel final : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Role { ScopeRole = Qt::UserRole + 1, TypeRole, NormCountRole, PathRole };

  explicit ScopeModel(QObject* parent = nullptr) : QAbstractItemModel(parent) {}

  // rootName: what the model itself is called.
  void setGraph(const protocol::GraphDocument& graph, const QString& rootName);
  [[nodiscard]] QModelIndex indexOfScope(int scope) const;

  [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  [[nodiscard]] QModelIndex parent(const QModelIndex& child) const override;
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 private:
  struct Row {
    int scope = 0, parent = -1, place = 0;  // place: row number among its siblings
    QString name, type, path;
    std::vector<int> children;  // positions in rows_
    int norms = 0;
  };
  [[nodiscard]] const Row* rowOf(const QModelIndex& index) const;
  void link(const protocol::GraphDocument& graph);
  void countNorms(const protocol::GraphDocument& graph);

  std::vector<Row> rows_;
  std::vector<int> roots_;
  std::unordered_map<int, int> byScope_;
};

}  // namespace normlens::ui

// The plan as a table: one row per edit, in the order in which they are applied.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::ui {

class EditModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { Kind, What, Bytes, Grows, Frees, ColumnCount };
  enum Role { NodeRole = Qt::UserRole + 1, KindNameRole, ClassRole };  // ClassRole: letter of the mark

  explicit EditModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void setEdits(const std::vector<protocol::EditInfo>& edits);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::vector<protocol::EditInfo> edits_;
};

}  // namespace normlens::ui

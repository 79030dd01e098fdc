// What the search box finds: commands, LayerNorms, modules, operators. A flat list; matching is the completer's.
#pragma once

#include <QAbstractListModel>
#include <vector>

namespace normlens::ui {

class SearchModel final : public QAbstractListModel {
  Q_OBJECT

 public:
  enum class Target { Command, Norm, Scope, Node };
  enum Role { TargetRole = Qt::UserRole + 1, IdRole, HintRole, IconRole };
  struct Entry {
    Target target = Target::Command;
    int id = 0;  // norm index, scope id, node id, or number of the command
    QString title;
    QString hint;  // shown at the right: "LayerNorm", "module", a shortcut
    QString icon;
  };

  explicit SearchModel(QObject* parent = nullptr) : QAbstractListModel(parent) {}

  void setEntries(std::vector<Entry> entries);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 private:
  std::vector<Entry> entries_;
};

}  // namespace normlens::ui

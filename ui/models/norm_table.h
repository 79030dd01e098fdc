// The LayerNorms of a model as a table: one row each, one column per fact; sorted, filtered and grouped by NormSorter.
#pragma once

#include <QAbstractTableModel>
#include <QSet>
#include <QSortFilterProxyModel>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::ui {

class NormTable final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    Place,
    Name,
    Verdict,
    InPlan,
    Over,
    Form,
    Centerings,
    Shared,
    Paper,
    Practical,
    Strict,
    Gamma,
    Beta,
    Reason,
    ColumnCount
  };
  enum Role { NormRole = Qt::UserRole + 1, VerdictRole, SortRole };  // VerdictRole: int of ui::Verdict

  explicit NormTable(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void setNorms(const std::vector<protocol::NormInfo>& norms);
  void setPlan(const std::vector<int>& kept, const std::vector<int>& folded);
  [[nodiscard]] int rowOf(int norm) const;  // -1: no such norm

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  [[nodiscard]] QString shown(const protocol::NormInfo& norm, int column) const;
  [[nodiscard]] QVariant sortKey(const protocol::NormInfo& norm, int column) const;

  std::vector<protocol::NormInfo> norms_;
  QSet<int> kept_, folded_;
};

// Words that must all occur in a name, verdict or reason; numbers sort as numbers; grouped: by verdict first, whichever
// column sorts.
class NormSorter final : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit NormSorter(QObject* parent = nullptr);

  void setWords(const QString& words);
  void setGrouped(bool grouped);
  [[nodiscard]] bool grouped() const { return grouped_; }

 protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
  [[nodiscard]] bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

 private:
  QStringList words_;
  bool grouped_ = false;
};

}  // namespace normlens::ui

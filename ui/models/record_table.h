// A table whose columns are data: each has a title and a function that returns its text for a row.
#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "ui/words/format.h"

namespace normlens::ui {

// A number or a text to sort by; the roles of a table's own come after it.
inline constexpr int kSortRole = Qt::UserRole;

// Sorts numbers as numbers and words as the language does; what is equal keeps its order.
class RecordSorter : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit RecordSorter(QObject* parent = nullptr);

 protected:
  [[nodiscard]] bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
};

// Maps some roles to functions that return a row's values for them.
template <class Row>
using RecordValues = std::map<int, std::function<QVariant(const Row&)>>;

// values: under roles in which the column differs from the whole row, or from what is shown.
template <class Row>
struct RecordColumn {
  RecordColumn(QString name, QString tip, std::function<QString(const Row&)> say, RecordValues<Row> own = {},
               Qt::AlignmentFlag where = Qt::AlignLeft)
      : title(std::move(name)), meaning(std::move(tip)), shown(std::move(say)), values(std::move(own)), side(where) {}

  QString title, meaning;  // Stand in the header.
  std::function<QString(const Row&)> shown;
  RecordValues<Row> values;
  Qt::AlignmentFlag side;
};

// Reads a column's text from a member of the row as it is.
template <class Row>
auto textOf(std::string Row::*member) {
  return [member](const Row& row) { return text(row.*member); };
}

template <class Row>
class RecordTable : public QAbstractTableModel {
 public:
  using Columns = std::vector<RecordColumn<Row>>;
  using Values = RecordValues<Row>;

  // values: what every column answers.
  RecordTable(Columns columns, Values values, QObject* parent)
      : QAbstractTableModel(parent), columns_(std::move(columns)), values_(std::move(values)) {}

  [[nodiscard]] const Row& row(int row) const { return rows_[static_cast<size_t>(row)]; }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  // The first such row; -1: there is none.
  template <class Predicate>
  [[nodiscard]] int rowWhere(const Predicate& wanted) const {
    const auto found = std::find_if(rows_.begin(), rows_.end(), wanted);
    return found == rows_.end() ? -1 : static_cast<int>(found - rows_.begin());
  }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const final {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
  }

  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const final {
    return parent.isValid() ? 0 : static_cast<int>(columns_.size());
  }

  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const final {
    if (!index.isValid()) return {};
    const Row& at = row(index.row());
    const RecordColumn<Row>& column = columns_[static_cast<size_t>(index.column())];
    for (const Values* values : {&column.values, &values_}) {
      const auto value = values->find(role);
      if (value == values->end()) continue;
      return role == Qt::ToolTipRole ? withWords(value->second(at).toString(), column.shown(at)) : value->second(at);
    }
    if (role == Qt::TextAlignmentRole) return QVariant::fromValue(Qt::AlignVCenter | column.side);
    const bool words = role == Qt::DisplayRole || role == Qt::ToolTipRole || role == Qt::AccessibleTextRole;
    return words || role == kSortRole ? QVariant(column.shown(at)) : QVariant();
  }

  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override {
    if (orientation == Qt::Vertical || section < 0 || section >= columnCount()) return {};
    const RecordColumn<Row>& column = columns_[static_cast<size_t>(section)];
    if (role == Qt::TextAlignmentRole) return QVariant::fromValue(Qt::AlignVCenter | column.side);
    if (role == Qt::DisplayRole) return column.title;
    // A reader looks for the largest figures first.
    if (role == Qt::InitialSortOrderRole && column.side == Qt::AlignRight) return int{Qt::DescendingOrder};
    return role == Qt::ToolTipRole && !column.meaning.isEmpty() ? withWords(column.meaning, column.title) : QVariant();
  }

 protected:
  void setRows(std::vector<Row> rows) { setRows(std::move(rows), columns_); }

  void setRows(std::vector<Row> rows, Columns columns) {
    beginResetModel();
    rows_ = std::move(rows);
    columns_ = std::move(columns);
    endResetModel();
  }

  // Replaces as many rows from `first` on, so that a view keeps its selection and its place.
  void replaceRows(int first, std::vector<Row> rows) {
    if (rows.empty()) return;
    const int last = first + static_cast<int>(rows.size()) - 1;
    std::move(rows.begin(), rows.end(), rows_.begin() + first);
    Q_EMIT dataChanged(index(first, 0), index(last, columnCount() - 1));
  }

 private:
  // Puts a cell's text into the tooltip, where a reader finds what is cut off in the cell.
  [[nodiscard]] static QVariant withWords(const QString& tip, const QString& words) {
    return tip.isEmpty() || tip.contains(words) ? tip : words + u'\n' + tip;
  }

  std::vector<Row> rows_;
  Columns columns_;
  Values values_;
};

}  // namespace normlens::ui

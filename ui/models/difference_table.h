// What differs between two models in one floating type, as a table: outputs, inputs and outputs of norms, values that
// were picked. DifferenceMatrix: the largest relative difference of each place in each type, side by side.
#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <vector>

#include "core/protocol/difference_messages.h"

namespace normlens::ui {

// "LayerNorm's output", "output of the model" ...
[[nodiscard]] QString kindWords(const protocol::DiffRow& row);
// How the two tensors were made comparable; empty where they are compared as they are.
[[nodiscard]] QString alignmentWords(const std::string& aligned);

class DifferenceTable final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { Step, Name, What, MaxRel, Rounding, MaxAbs, MeanAbs, Cosine, Ulp, Worst, Aligned, Batch, ColumnCount };
  enum Role { SortRole = Qt::UserRole + 1, NormRole };

  explicit DifferenceTable(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void setRows(std::vector<protocol::DiffRow> rows);
  [[nodiscard]] const protocol::DiffRow& row(int row) const { return rows_[static_cast<size_t>(row)]; }
  [[nodiscard]] int rowOfNorm(int norm) const;  // its output; -1: there is none

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  [[nodiscard]] QString shown(const protocol::DiffRow& row, int column) const;
  [[nodiscard]] QVariant sortKey(const protocol::DiffRow& row, int column) const;

  std::vector<protocol::DiffRow> rows_;
};

// Sorts numbers as numbers.
class DifferenceSorter final : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit DifferenceSorter(QObject* parent = nullptr);

 protected:
  [[nodiscard]] bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
};

class DifferenceMatrix final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { Name, What, FirstType };

  struct Place {
    std::string name, kind;
    int norm = -1, value = -1, output = -1;
  };

  explicit DifferenceMatrix(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void setColumns(const std::vector<protocol::DiffResult>& columns);
  [[nodiscard]] int places() const { return static_cast<int>(places_.size()); }
  [[nodiscard]] int types() const { return static_cast<int>(types_.size()); }
  [[nodiscard]] const Place& place(int place) const { return places_[static_cast<size_t>(place)]; }
  [[nodiscard]] QString typeName(int type) const;
  [[nodiscard]] QString typeError(int type) const;  // why it has no figures; empty otherwise
  // nullptr: not measured in this type.
  [[nodiscard]] const protocol::DiffRow* at(int place, int type) const;
  [[nodiscard]] int placeOfNorm(int norm) const;  // -1: none
  [[nodiscard]] QString tip(int place, int type) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Type {
    QString name, error;
    std::vector<protocol::DiffRow> rows;  // by place; of an empty kind: not measured
  };

  std::vector<Place> places_;
  std::vector<Type> types_;
};

}  // namespace normlens::ui

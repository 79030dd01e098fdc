// Lists the differences between two models in one floating type: outputs, inputs and outputs of norms, values that were
// picked. DifferenceMatrix: the largest relative difference of each place in each type, side by side.
#pragma once

#include <optional>
#include <vector>

#include "core/protocol/difference_messages.h"
#include "ui/models/record_table.h"

namespace normlens::ui {

// "LayerNorm's output", "output of the model" ...
[[nodiscard]] QString kindWords(SiteKind kind);
// Describes how the two tensors were made comparable; empty where they are compared as they are.
[[nodiscard]] QString alignmentWords(Alignment aligned);

// Six times what the original itself loses by the type, as the proof allows; nullopt: not measured.
[[nodiscard]] std::optional<double> floorOf(const protocol::DiffRow& row);
// Rounding alone explains its difference.
[[nodiscard]] bool isAtFloor(const protocol::DiffRow& row);

class DifferenceTable final : public RecordTable<protocol::DiffRow> {
  Q_OBJECT

 public:
  enum Column { Step, Name, What, MaxRel, Rounding, MaxAbs, MeanAbs, Cosine, Ulp, Worst, Aligned, Batch, ColumnCount };
  enum Role { NormRole = kSortRole + 1, FloorRole };  // FloorRole: isAtFloor()

  explicit DifferenceTable(QObject* parent = nullptr);

  void setRows(std::vector<protocol::DiffRow> rows) { RecordTable::setRows(std::move(rows)); }
  [[nodiscard]] int rowOfNorm(int norm) const;  // its output; -1: there is none
};

struct DifferencePlace {
  std::string name;
  SiteKind kind = SiteKind::Output;
  int norm = -1, value = -1, output = -1;
  std::vector<std::optional<protocol::DiffRow>> figures;  // by type; nullopt: not measured

  [[nodiscard]] const protocol::DiffRow* at(int type) const {
    const auto& row = figures[static_cast<size_t>(type)];
    return row ? &*row : nullptr;
  }
};

class DifferenceMatrix final : public RecordTable<DifferencePlace> {
  Q_OBJECT

 public:
  enum Column { Name, What, FirstType };

  explicit DifferenceMatrix(QObject* parent = nullptr);

  void setColumns(const std::vector<protocol::DiffResult>& columns);
  [[nodiscard]] int places() const { return rowCount(); }
  [[nodiscard]] int types() const { return static_cast<int>(types_.size()); }
  [[nodiscard]] QString typeName(int type) const { return types_[static_cast<size_t>(type)].name; }
  // Returns why the type has no figures; empty otherwise.
  [[nodiscard]] QString typeError(int type) const { return types_[static_cast<size_t>(type)].error; }
  // nullptr: not measured in this type.
  [[nodiscard]] const protocol::DiffRow* at(int place, int type) const { return row(place).at(type); }
  [[nodiscard]] int placeOfNorm(int norm) const;  // -1: none
  [[nodiscard]] QString tip(int place, int type) const { return tip(row(place), type); }

 private:
  struct Type {
    QString name, error;
  };
  [[nodiscard]] QString tip(const DifferencePlace& place, int type) const;
  [[nodiscard]] Columns columnsOfTypes() const;

  std::vector<Type> types_;
};

}  // namespace normlens::ui

// The plan as a table: one row per edit, in the order in which they are applied, with a tick that turns it on or off.
#pragma once

#include <QStringList>
#include <vector>

#include "ui/models/record_table.h"
#include "ui/session/norm_costs.h"
#include "ui/session/plan_preview.h"
#include "ui/words/plan_rows.h"

namespace normlens::ui {

inline constexpr size_t kNamedNorms = 12;

// A row and the names of what the protocol gives only by number.
struct EditLine {
  PlanRow row;
  QStringList norms;                  // names of the first kNamedNorms that need it
  std::optional<NormCost> cost = {};  // of the norm that it folds, or centers for, where measured
};

[[nodiscard]] QString editWord(EditKind kind);  // "Center at run time"
[[nodiscard]] QChar editMark(EditKind kind);    // Letter of the class of what it edits.

class EditModel final : public RecordTable<EditLine> {
  Q_OBJECT

 public:
  enum Column { Kind, What, Cost, Frees, ColumnCount };
  enum Role { NodeRole = kSortRole + 1, ClassRole, FallsRole };  // ClassRole: letter of the mark

  explicit EditModel(QObject* parent = nullptr);

  void setLines(std::vector<EditLine> lines);

  // Sets what would be lost with the edit that is pointed at; nullopt: none is.
  void setFall(std::optional<Fall> fall);

  // Qt::CheckStateRole: requests the change by switched(); the tick moves when the lines are set anew.
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

 Q_SIGNALS:
  void switched(int row, bool on);  // by the user

 private:
  [[nodiscard]] Columns columns() const;
  [[nodiscard]] bool falls(const EditLine& line) const;
  [[nodiscard]] QString needText(const EditLine& line) const;

  std::optional<Fall> fall_;
};

}  // namespace normlens::ui

// Lists the plans that a model can have side by side, one for each policy and the user's own. What was proved or
// measured of a plan stands in its row; what was not stays open.
#pragma once

#include <optional>
#include <vector>

#include "core/protocol/bench_messages.h"
#include "core/protocol/messages.h"
#include "ui/models/record_table.h"

namespace normlens::ui {

struct VariantRow {
  QString name;
  protocol::PlanParams params = {};
  protocol::PlanInfo plan = {};
  QString same = {};  // the row above that makes the same edits; empty: none does
  bool inUse = false;
  std::optional<protocol::VerifyResult> proof = {};
  std::optional<protocol::BenchPoint> time = {};
};

class VariantTable final : public RecordTable<VariantRow> {
  Q_OBJECT

 public:
  enum Column { Name, Folded, Centerings, Growth, Rewritten, Error, Time, Speedup };

  explicit VariantTable(QObject* parent = nullptr);

  void show(std::vector<VariantRow> rows);  // marks those of one plan
  // "Fold all · 9 of 9 folded · 8 centerings · error 9e-7 · 7.85 ms (7.78–7.92)"; what is open is left out.
  [[nodiscard]] static QString summaryOf(const VariantRow& row);
};

}  // namespace normlens::ui

// Lists the plans that a model can have side by side, one for each policy. What was proved or measured of a plan stands
// in its row; what was not stays open.
#pragma once

#include <optional>
#include <vector>

#include "core/protocol/bench_messages.h"
#include "core/protocol/messages.h"
#include "ui/models/record_table.h"

namespace normlens::ui {

struct VariantRow {
  QString name;
  Policy policy = Policy::Balanced;
  protocol::PlanInfo plan = {};
  QString same = {};  // the row above that makes the same edits; empty: none does
  bool inUse = false;
  std::optional<protocol::VerifyResult> proof = {};
  std::optional<protocol::BenchPoint> time = {};
};

class VariantTable final : public RecordTable<VariantRow> {
  Q_OBJECT

 public:
  enum Column { Name, Folded, Centerings, Growth, Rewritten, Error, Time };

  explicit VariantTable(QObject* parent = nullptr);

  void show(std::vector<VariantRow> rows);  // marks those of one plan
};

}  // namespace normlens::ui

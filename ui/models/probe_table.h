// The geometry probe's figures, a norm a row: of the open model, beside it of its fold, and what a swap does to the
// outputs, where these were measured.
#pragma once

#include <optional>

#include "core/protocol/probe_messages.h"
#include "ui/models/record_table.h"

namespace normlens::ui {

struct ProbeFigures {
  protocol::ProbeRow row;
  std::optional<protocol::ProbeRow> folded;  // the norm in its place
  std::optional<protocol::ProbeSwap> swap;
};

class ProbeTable final : public RecordTable<ProbeFigures> {
  Q_OBJECT

 public:
  explicit ProbeTable(QObject* parent = nullptr);

  // nullptr: not measured, or not wanted. A fold whose norms do not match one for one is left out.
  void show(const protocol::ProbeResult* result, const protocol::ProbeResult* folded,
            const protocol::ProbeSwaps* swaps);
};

}  // namespace normlens::ui

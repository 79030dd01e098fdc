// The geometry probe's figures, a norm a row.
#pragma once

#include "core/protocol/probe_messages.h"
#include "ui/models/record_table.h"

namespace normlens::ui {

// Below it a norm hardly notices if an RMSNorm takes its place as it is: mean relative error of its output.
inline constexpr double kHardlyNoticed = 3e-2;

class ProbeTable final : public RecordTable<protocol::ProbeRow> {
  Q_OBJECT

 public:
  explicit ProbeTable(QObject* parent = nullptr);

  void show(std::vector<protocol::ProbeRow> rows) { setRows(std::move(rows)); }
};

// What the figures say, in sentences made of them.
[[nodiscard]] QStringList probeFindings(const protocol::ProbeResult& result);

}  // namespace normlens::ui

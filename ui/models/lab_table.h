// The networks of the laboratory's runs as a table: one row for each, in the order in which they are trained, the
// newest run first. Thread: GUI thread.
#pragma once

#include <optional>
#include <vector>

#include "ui/models/record_table.h"
#include "ui/session/lab/run_store.h"

namespace normlens::ui {

struct LabRow {
  int run = 0;
  lab::RunMember member;
  std::optional<lab::RunRecord> last;  // its last epoch
  bool diverged = false;
  QString state;
  QString weights;  // the trained network as TorchScript; empty: there is none
  bool ticked = false;
};

class LabTable final : public RecordTable<LabRow> {
  Q_OBJECT

 public:
  enum Column {
    Tick,
    Run,
    Network,
    Layers,
    Seed,
    Precision,
    State,
    Weights,
    Loss,
    Accuracy,
    Difference,
    StepTime,
    Memory
  };
  enum Role { NetworkRole = kSortRole + 1 };  // a lab::NormUse

  explicit LabTable(QObject* parent = nullptr);

  // running: the number of the one that is trained; 0: none is. Ticks stay.
  void show(const std::vector<KeptRun>& runs, int running);

  // Qt::CheckStateRole of Tick.
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

 Q_SIGNALS:
  void ticked();  // by the user
};

}  // namespace normlens::ui

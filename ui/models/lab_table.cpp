#include "ui/models/lab_table.h"

#include <algorithm>

#include "ui/words/format.h"
#include "ui/words/lab_words.h"

namespace normlens::ui {
namespace {

const QString kNone = QStringLiteral("–");

using Say = std::function<QString(const LabRow&)>;

RecordColumn<LabRow> words(const char* title, const char* tip, Say say, RecordValues<LabRow> own = {}) {
  return {LabTable::tr(title), LabTable::tr(tip), std::move(say), std::move(own)};
}

RecordColumn<LabRow> figure(const char* title, const char* tip,
                            std::function<QString(const lab::RunRecord& last)> say) {
  return {LabTable::tr(title),
          LabTable::tr(tip),
          [say = std::move(say)](const LabRow& row) { return row.last ? say(*row.last) : kNone; },
          {},
          Qt::AlignRight};
}

QString differenceWords(const lab::RunRecord& last) {
  if (last.member.network == lab::NormUse::LayerNorm) return LabTable::tr("reference");
  return last.weight_difference ? formatNumber(*last.weight_difference, 2) : kNone;
}

// Returns the columns in the order of LabTable::Column.
LabTable::Columns columns() {
  return {
      words("", "The charts compare the networks that are ticked.", [](const LabRow&) { return QString(); },
            {{Qt::CheckStateRole, [](const LabRow& row) { return int{row.ticked ? Qt::Checked : Qt::Unchecked}; }}}),
      words("Run", "The number of the run, which is also the name of its folder.",
            [](const LabRow& row) { return QString::number(row.run); }),
      words("Network", "", [](const LabRow& row) { return labWord(row.member.network).name; },
            {{Qt::ToolTipRole, [](const LabRow& row) { return labWord(row.member.network).tip; }}}),
      words("Layers", "Linear layers of the perceptron, or blocks of the transformer.",
            [](const LabRow& row) { return QString::number(row.member.layers); }),
      words("Seed", "Seed of the initial weights and of the order of the examples.",
            [](const LabRow& row) { return QString::number(row.member.seed); }),
      words("Precision", "Type of the weights and of the arithmetic.",
            [](const LabRow& row) { return text(nameOf(row.member.precision)); }),
      words("State", "How far the training is.", [](const LabRow& row) { return row.state; }),
      words("Model", "The trained network as a model file. Centered weights are written centered.",
            [](const LabRow& row) { return row.weights.isEmpty() ? kNone : LabTable::tr("Open model"); }),
      figure("Loss", "Training loss: cross entropy in nats, mean over the steps of the last epoch.",
             [](const lab::RunRecord& last) { return last.train_loss ? formatNumber(*last.train_loss, 4) : kNone; }),
      figure("Accuracy", "Share of the test split that the network classifies correctly.",
             [](const lab::RunRecord& last) { return formatPercent(last.test_accuracy); }),
      figure(
          "Weights differ",
          "Largest difference from the weights of the LayerNorm network, with weights before a norm centered in both.",
          differenceWords),
      figure("Time per step", "Forward, backward and optimizer; median of the last epoch.",
             [](const lab::RunRecord& last) {
               return last.ms_per_step > 0 ? formatMilliseconds(last.ms_per_step) : kNone;
             }),
      figure("Memory", "Weights, gradients, optimizer, and the most that one step's tensors take at a time.",
             [](const lab::RunRecord& last) { return last.bytes > 0 ? formatBytes(last.bytes) : kNone; }),
  };
}

QString stateOf(const LabRow& row, const KeptRun& run, bool running) {
  if (row.diverged) return LabTable::tr("diverged");
  if (run.isDone()) return LabTable::tr("done");
  if (!row.last) return running ? LabTable::tr("waits") : LabTable::tr("not started");
  if (row.last->epoch == row.last->epochs) return LabTable::tr("done");
  const QString epoch = LabTable::tr("epoch %1").arg(row.last->epoch);
  if (running) return epoch;
  return run.end == lab::RunEnd::Stopped ? LabTable::tr("stopped, %1").arg(epoch)
                                         : LabTable::tr("interrupted, %1").arg(epoch);
}

std::vector<LabRow> rowsOf(const KeptRun& run, bool running) {
  std::vector<LabRow> rows;
  for (const lab::RunMember& member : lab::membersOf(run.settings))
    rows.push_back({run.number, member, {}, false, {}, {}, false});
  for (const lab::RunRecord& record : run.records) {
    const auto row = std::ranges::find(rows, record.member, &LabRow::member);
    if (row == rows.end()) continue;
    if (record.event == lab::RunEvent::Epoch) row->last = record;
    row->diverged = row->diverged || record.event == lab::RunEvent::Diverged;
  }
  for (LabRow& row : rows) {
    row.state = stateOf(row, run, running);
    if (!running && run.end != lab::RunEnd::Open) row.weights = networkFile(run, row.member);
  }
  return rows;
}

bool sameNetwork(const LabRow& a, const LabRow& b) { return a.run == b.run && a.member == b.member; }

}  // namespace

LabTable::LabTable(QObject* parent)
    : RecordTable(columns(), {{NetworkRole, [](const LabRow& row) { return static_cast<int>(row.member.network); }}},
                  parent) {}

void LabTable::show(const std::vector<KeptRun>& runs, int running) {
  std::vector<LabRow> rows;
  for (const KeptRun& run : runs) {
    for (LabRow& row : rowsOf(run, run.number == running)) rows.push_back(std::move(row));
  }
  for (LabRow& row : rows) {
    const int known = rowWhere([&](const LabRow& each) { return sameNetwork(each, row); });
    row.ticked = known >= 0 && this->row(known).ticked;
  }
  std::ranges::equal(rows, this->rows(), sameNetwork) ? replaceRows(0, std::move(rows)) : setRows(std::move(rows));
}

bool LabTable::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (!index.isValid() || index.column() != Tick || role != Qt::CheckStateRole) return false;
  LabRow changed = row(index.row());
  changed.ticked = value.toInt() == Qt::Checked;
  replaceRows(index.row(), {std::move(changed)});
  Q_EMIT ticked();
  return true;
}

Qt::ItemFlags LabTable::flags(const QModelIndex& index) const {
  const Qt::ItemFlags flags = RecordTable::flags(index);
  return index.column() == Tick ? flags | Qt::ItemIsUserCheckable : flags;
}

}  // namespace normlens::ui

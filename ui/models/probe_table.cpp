#include "ui/models/probe_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/models/forced_error_table.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

using protocol::ProbeRow;
using Row = ProbeFigures;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
const QString kUnknown = QStringLiteral("–");

QString angleWords(double angle, double spread) {
  return std::isfinite(angle) ? QStringLiteral("%1° ± %2").arg(angle, 0, 'f', 1).arg(spread, 0, 'f', 1) : kUnknown;
}

QString numberWords(double value) { return std::isfinite(value) ? formatNumber(value, 3) : kUnknown; }

QString shareWords(double share) { return std::isfinite(share) ? formatPercent(share) : kUnknown; }

QString errorWords(double error) { return std::isfinite(error) ? formatError(error) : kUnknown; }

double ownErrorOf(const Row& row) { return row.row.swap ? row.row.swap->mean_rel : kNone; }

double outputErrorOf(const Row& row) {
  return row.swap && row.swap->as_it_is.error.empty() ? row.swap->as_it_is.max_rel : kNone;
}

RecordColumn<Row> figure(const char* title, const char* tip, std::function<QString(const Row&)> words,
                         std::function<double(const Row&)> key) {
  return {ProbeTable::tr(title),
          ProbeTable::tr(tip),
          std::move(words),
          {{kSortRole,
            [key = std::move(key)](const Row& row) {
              const double value = key(row);
              return QVariant(std::isfinite(value) ? value : -1.0);
            }}},
          Qt::AlignRight};
}

RecordColumn<Row> angle(const char* title, const char* tip, protocol::SideAngles ProbeRow::*side) {
  return figure(
      title, tip, [side](const Row& row) { return angleWords((row.row.*side).angle_deg, (row.row.*side).angle_std); },
      [side](const Row& row) { return (row.row.*side).angle_deg; });
}

QString noticeWords(const Row& row) {
  if (!row.row.reason.empty()) return asSentence(text(row.row.reason));
  if (!row.swap) return kUnknown;
  if (!row.swap->as_it_is.error.empty()) return asSentence(text(row.swap->as_it_is.error));
  if (row.swap->notices == protocol::Notices::Nothing) return ProbeTable::tr("none");
  return row.swap->notices == protocol::Notices::Hardly ? ProbeTable::tr("slight") : ProbeTable::tr("yes");
}

ProbeTable::Columns columnsOfVectors() {
  const auto tr = [](const char* words) { return ProbeTable::tr(words); };
  return {{tr("Norm"), tr("In execution order."), [](const Row& row) { return text(row.row.title); }},
          {tr("Kind"), tr("LayerNorm or RMSNorm."), [](const Row& row) { return text(nameOf(row.row.kind)); }},
          angle("Input angle", "Angle of the input to the uniform vector: mean and standard deviation over the rows.",
                &ProbeRow::input),
          angle("Output angle", "Angle of the output to the uniform vector.", &ProbeRow::output),
          figure(
              "Random", "The control: angle of the input to random vectors.",
              [](const Row& row) { return angleWords(row.row.random.angle_deg, row.row.random.angle_std); },
              [](const Row& row) { return row.row.random.angle_deg; }),
          figure(
              "Input length", "Mean length of the input's rows.",
              [](const Row& row) { return numberWords(row.row.input.norm); },
              [](const Row& row) { return row.row.input.norm; }),
          figure(
              "Output length", "Mean length of the output's rows.",
              [](const Row& row) { return numberWords(row.row.output.norm); },
              [](const Row& row) { return row.row.output.norm; }),
          figure(
              "Share of energy", "Share of the input's squared length that lies along the uniform vector.",
              [](const Row& row) { return shareWords(row.row.input.mean_share); },
              [](const Row& row) { return row.row.input.mean_share; })};
}

void addFold(ProbeTable::Columns& columns) {
  columns.emplace_back(ProbeTable::tr("Folded to"), ProbeTable::tr("What replaces it after the last fold."),
                       [](const Row& row) { return row.folded ? text(nameOf(row.folded->kind)) : kUnknown; });
  columns.push_back(figure(
      "Folded angle", "Angle of its input after the fold.",
      [](const Row& row) {
        return row.folded ? angleWords(row.folded->input.angle_deg, row.folded->input.angle_std) : kUnknown;
      },
      [](const Row& row) { return row.folded ? row.folded->input.angle_deg : kNone; }));
}

void addSwaps(ProbeTable::Columns& columns, double hardly) {
  columns.push_back(figure(
      "Own error", "Error of this norm's output with an RMSNorm in its place: mean relative error over the rows.",
      [](const Row& row) { return errorWords(ownErrorOf(row)); }, ownErrorOf));
  columns.push_back(figure(
      "Error if swapped", "Error of the model's outputs with an RMSNorm in place of this norm alone.",
      [](const Row& row) { return errorWords(outputErrorOf(row)); }, outputErrorOf));
  columns.emplace_back(
      ProbeTable::tr("Output change"),
      ProbeTable::tr(
          "With this norm alone replaced. Slight: no output changes by %1 or more. None: no more than rounding.")
          .arg(formatNumber(hardly)),
      noticeWords);
}

}  // namespace

ProbeTable::ProbeTable(QObject* parent) : RecordTable(columnsOfVectors(), {}, parent) {}

void ProbeTable::show(const protocol::ProbeResult* result, const protocol::ProbeResult* folded,
                      const protocol::ProbeSwaps* swaps) {
  std::vector<Row> rows;
  const bool paired =
      result != nullptr && folded != nullptr && folded->paired && folded->rows.size() == result->rows.size();
  for (size_t i = 0; result != nullptr && i < result->rows.size(); ++i) {
    Row& made = rows.emplace_back();
    made.row = result->rows[i];
    if (paired) made.folded = folded->rows[i];
    if (swaps == nullptr || made.row.kind != protocol::ProbedKind::LayerNorm) continue;
    const auto swap = std::ranges::find(swaps->swaps, made.row.norm, &protocol::ProbeSwap::norm);
    if (swap != swaps->swaps.end()) made.swap = *swap;
  }
  const bool swappable =
      std::ranges::any_of(rows, [](const Row& row) { return row.row.kind == protocol::ProbedKind::LayerNorm; });
  Columns columns = columnsOfVectors();
  if (paired) addFold(columns);
  if (swappable) addSwaps(columns, swaps != nullptr ? swaps->hardly : protocol::ProbeSwapsParams().hardly);
  setRows(std::move(rows), std::move(columns));
}

}  // namespace normlens::ui

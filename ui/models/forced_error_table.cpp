#include "ui/models/forced_error_table.h"

#include <QStringList>
#include <algorithm>
#include <utility>

#include "ui/models/norm_model.h"
#include "ui/session/forced_errors.h"
#include "ui/session/session.h"

namespace normlens::ui {

namespace {

using Row = ForcedErrorRow;

// nullptr: there is no figure.
const protocol::ForcedError* measured(const Row& row, size_t type) {
  const auto& error = row.errors[type];
  return error && error->error.empty() ? &*error : nullptr;
}

// A coarse type hides what folding a blocked norm changes: below the limit it is still not exact.
int toneOf(const Row& row, const protocol::ForcedError* error) {
  if (error == nullptr) return ForcedErrorTable::Plain;
  if (error->max_rel > error->limit) return ForcedErrorTable::Wrong;
  return folds(row.verdict) ? ForcedErrorTable::Within : ForcedErrorTable::Plain;
}

QString tipOf(const Row& row, size_t type) {
  const auto& error = row.errors[type];
  if (!error) return ForcedErrorTable::tr("Not measured yet.");
  if (!error->error.empty()) return asSentence(text(error->error));
  return forcedErrorTip(*error, folds(row.verdict));
}

ForcedErrorTable::Columns columns() {
  const auto tr = [](const char* words) { return ForcedErrorTable::tr(words); };
  ForcedErrorTable::Columns all{
      {tr("LayerNorm"), tr("The only LayerNorm that is folded; the others are unchanged."), textOf(&Row::name)},
      {tr("Verdict"), tr("Whether it can fold."), [](const Row& row) { return verdictTitle(row.verdict); }}};
  const auto types = ForcedErrors::types();
  for (size_t type = 0; type < types.size(); ++type) {
    const auto key = [type](double protocol::ForcedError::*member) {
      return [type, member](const Row& row) {
        const auto* error = measured(row, type);
        return QVariant(error == nullptr ? -1.0 : error->*member);
      };
    };
    const auto tip = [type](const Row& row) { return QVariant(tipOf(row, type)); };
    const auto figure = [type](const Row& row) {
      const auto* error = measured(row, type);
      return error == nullptr ? QStringLiteral("–") : formatError(error->max_rel);
    };
    const auto limit = [type](const Row& row) {
      const auto* error = measured(row, type);
      return error == nullptr ? QStringLiteral("–") : formatError(error->limit);
    };
    all.push_back({text(types[type]),
                   tr("The largest relative difference at the model's outputs."),
                   figure,
                   {{kSortRole, key(&protocol::ForcedError::max_rel)},
                    {Qt::ToolTipRole, tip},
                    {ForcedErrorTable::ToneRole, [type](const Row& row) { return toneOf(row, measured(row, type)); }}},
                   Qt::AlignRight});
    all.push_back({ForcedErrorTable::tr("6 × floor, %1").arg(text(types[type])),
                   tr("What rounding alone may cause in this type: six times its noise."),
                   limit,
                   {{kSortRole, key(&protocol::ForcedError::limit)}},
                   Qt::AlignRight});
  }
  all.emplace_back(tr("No figure because"), tr("Why it could not be measured in some type."), &Row::missing);
  return all;
}

}  // namespace

QString forcedErrorTip(const protocol::ForcedError& error, bool folds) {
  if (error.max_rel > error.limit) {
    return ForcedErrorTable::tr("Outputs differ by %1 times the limit.").arg(formatError(error.max_rel / error.limit));
  }
  return folds ? ForcedErrorTable::tr("Within rounding noise.")
               : ForcedErrorTable::tr("Rounding in this type hides the difference; outputs differ in exact numbers.");
}

QString missingFigures(const ForcedErrors& errors, int norm) {
  std::vector<std::pair<std::string, QStringList>> reasons;  // with the types that each applies to
  for (const std::string& type : ForcedErrors::types()) {
    const protocol::ForcedError* error = errors.at(norm, type);
    if (error == nullptr || error->error.empty()) continue;
    auto reason = std::ranges::find(reasons, error->error, &std::pair<std::string, QStringList>::first);
    if (reason == reasons.end()) reason = reasons.insert(reasons.end(), {error->error, {}});
    reason->second << text(type);
  }
  QStringList sentences;
  for (const auto& [reason, types] : reasons)
    sentences << QStringLiteral("%1: %2").arg(types.join(QStringLiteral(", ")), asSentence(text(reason)));
  return sentences.join(u' ');
}

ForcedErrorTable::ForcedErrorTable(QObject* parent)
    : RecordTable(columns(), {{NormRole, [](const Row& row) { return row.norm; }}}, parent) {}

void ForcedErrorTable::show(const Session& session) {
  std::vector<Row> all;
  for (const auto& norm : session.analysis() ? session.analysis()->norms : std::vector<protocol::NormInfo>()) {
    Row row{norm.index, norm.title, norm.verdict, {}, missingFigures(*session.forcedErrors(), norm.index)};
    for (const std::string& type : ForcedErrors::types()) {
      const protocol::ForcedError* error = session.forcedErrors()->at(norm.index, type);
      row.errors.push_back(error == nullptr ? std::nullopt : std::optional(*error));
    }
    all.push_back(std::move(row));
  }
  // The same norms: a view keeps its place.
  if (rowCount() == static_cast<int>(all.size()) && !all.empty() && row(0).name == all.front().name) {
    replaceRows(0, std::move(all));
  } else {
    setRows(std::move(all));
  }
}

int ForcedErrorTable::rowOf(int norm) const {
  return rowWhere([norm](const Row& row) { return row.norm == norm; });
}

}  // namespace normlens::ui

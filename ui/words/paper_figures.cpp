#include "ui/words/paper_figures.h"

#include <QCoreApplication>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStringList>

namespace normlens::ui {

namespace {

QString tr(const char* words) { return QCoreApplication::translate("PaperFigures", words); }

QString labelOf(const QJsonObject& entry) {
  QString label = tr("%1 on %2").arg(entry["model"].toString(), entry["device"].toString());
  if (entry["batch"].isDouble()) label += tr(", batch %1").arg(entry["batch"].toInt());
  if (entry["seq"].isDouble()) label += tr(", %1 tokens").arg(entry["seq"].toInt());
  return label;
}

QString sourceOf(const QJsonObject& entry) { return tr("paper %1").arg(entry["source"].toString()); }

std::optional<double> number(const QJsonValue& value) {
  return value.isDouble() ? std::optional(value.toDouble()) : std::nullopt;
}

PaperSeries seriesFrom(const QJsonObject& entry) {
  PaperSeries series{entry["model"].toString(), entry["device"].toString(), labelOf(entry),
                     sourceOf(entry),           entry["over"].toString(),   {}};
  for (const auto& point : entry["points"].toArray()) {
    const double reduction = point.toArray()[1].toDouble();
    series.points.append({point.toArray()[0].toInteger(), 1 / (1 - reduction / 100)});
  }
  return series;
}

}  // namespace

std::optional<double> PaperSeries::at(qint64 size) const {
  for (const auto& [known, speedup] : points) {
    if (known == size) return speedup;
  }
  return std::nullopt;
}

PaperFigures paperFigures() {
  QFile file(QStringLiteral(":/normlens/reference/paper_figures.json"));
  PaperFigures figures;
  if (!file.open(QIODevice::ReadOnly)) return figures;
  const QJsonObject all = QJsonDocument::fromJson(file.readAll()).object();
  for (const auto& entry : all["series"].toArray()) figures.series.append(seriesFrom(entry.toObject()));
  for (const auto& value : all["folds"].toArray()) {
    const QJsonObject entry = value.toObject();
    figures.folds.append({entry["model"].toString(), entry["device"].toString(), labelOf(entry), sourceOf(entry),
                          entry["before_ms"].toDouble(), entry["after_ms"].toDouble(), number(entry["fold_ms"]),
                          number(entry["break_even"])});
  }
  return figures;
}

const PaperFold* foldOf(const PaperFigures& figures, const PaperSeries& series) {
  for (const PaperFold& fold : figures.folds) {
    if (fold.model == series.model && fold.device == series.device && fold.breakEven) return &fold;
  }
  return nullptr;
}

}  // namespace normlens::ui

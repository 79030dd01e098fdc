// Reads the papers' figures, shown beside our own, from resources/reference/paper_figures.json, which names the table
// that each number is from. Labels are ready to show. Thread: any; the file is read at the first call.
#pragma once

#include <QPair>
#include <QString>
#include <QVector>
#include <optional>

namespace normlens::ui {

// Speed-up of the fold (before / after) over sequence lengths or batch sizes.
struct PaperSeries {
  QString model, device;  // "GPT-2", "A100-40GB"
  QString label;          // "GPT-2 on A100-40GB, batch 4"
  QString source;         // "paper 001, table 19"
  QString over;           // "seq", "batch"
  QVector<QPair<qint64, double>> points;
  [[nodiscard]] std::optional<double> at(qint64 size) const;
};

// One model's fold: how long it took, and after how many runs it had paid for itself.
struct PaperFold {
  QString model, device;
  QString label, source;
  double beforeMs = 0, afterMs = 0;
  std::optional<double> foldMs, breakEven;
};

struct PaperFigures {
  QVector<PaperSeries> series;
  QVector<PaperFold> folds;
};
[[nodiscard]] PaperFigures paperFigures();
// The fold of the series' model on its device; nullptr: the papers report none.
[[nodiscard]] const PaperFold* foldOf(const PaperFigures& figures, const PaperSeries& series);

}  // namespace normlens::ui

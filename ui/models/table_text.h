// Rows of a table model as text for the clipboard: what is shown, with the headers.
#pragma once

#include <QAbstractItemModel>
#include <QString>
#include <QStringList>
#include <QVector>

namespace normlens::ui {

enum class TableFormat { Csv, Markdown, Latex };

// rows: of the model's root, in this order. CSV as in RFC 4180 (quotes doubled, lines end in CR LF). LaTeX: a tabular
// with the rules of the package booktabs; columns of numbers are flush right.
[[nodiscard]] QString tableText(const QAbstractItemModel& model, const QVector<int>& rows, TableFormat format);
// One such line of CSV.
[[nodiscard]] QString csvLine(const QStringList& fields);
[[nodiscard]] QVector<int> allRows(const QAbstractItemModel& model);

}  // namespace normlens::ui

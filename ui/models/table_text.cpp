#include "ui/models/table_text.h"

#include <QHash>
#include <algorithm>
#include <numeric>

#include "core/base/table_text.h"

namespace normlens::ui {

namespace {

QString csvText(const QString& field) { return QString::fromStdString(csvField(field.toStdString())); }

QString markdownText(const QString& field) { return QString::fromStdString(markdownField(field.toStdString())); }

// Escapes what LaTeX reads as more than itself, and signs that its usual fonts lack.
QString latexField(const QString& field) {
  static const QHash<QChar, QString> kWritten{{u'\\', QStringLiteral("\\textbackslash{}")},
                                              {u'~', QStringLiteral("\\textasciitilde{}")},
                                              {u'^', QStringLiteral("\\textasciicircum{}")},
                                              {u'\n', QStringLiteral(" ")},
                                              {u'µ', QStringLiteral("$\\mu$")},
                                              {u'×', QStringLiteral("$\\times$")},
                                              {u'→', QStringLiteral("$\\to$")},
                                              {u'≤', QStringLiteral("$\\le$")},
                                              {u'±', QStringLiteral("$\\pm$")},
                                              {u'–', QStringLiteral("--")},
                                              {u'…', QStringLiteral("\\ldots{}")},
                                              {u'γ', QStringLiteral("$\\gamma$")},
                                              {u'β', QStringLiteral("$\\beta$")},
                                              {u'Δ', QStringLiteral("$\\Delta$")}};
  constexpr QStringView kEscaped = u"&%$#_{}";
  QString written;
  for (const QChar c : field) {
    if (kEscaped.contains(c)) written += u'\\';
    written += kWritten.value(c, QString(c));
  }
  return written;
}

QString joined(const QStringList& fields, QString (*written)(const QString& field), const QString& between) {
  QStringList all;
  for (const QString& field : fields) all << written(field);
  return all.join(between);
}

// True for a column in which a reader looks for digits below each other.
bool holdsNumbers(const QAbstractItemModel& model, const QVector<int>& rows, int column) {
  return std::ranges::any_of(rows, [&](int row) {
    const QString field = model.index(row, column).data().toString();
    return !field.isEmpty() && field.front().isDigit();
  });
}

QString latexBefore(const QAbstractItemModel& model, const QVector<int>& rows) {
  QString columns;
  for (int column = 0; column < model.columnCount(); ++column) {
    columns += holdsNumbers(model, rows, column) ? u'r' : u'l';
  }
  return QStringLiteral("\\begin{tabular}{%1}\n\\toprule\n").arg(columns);
}

QString lineOf(const QStringList& fields, TableFormat format) {
  if (format == TableFormat::Csv) return csvLine(fields);
  if (format == TableFormat::Latex)
    return joined(fields, latexField, QStringLiteral(" & ")) + QStringLiteral(" \\\\\n");
  return QStringLiteral("| ") + joined(fields, markdownText, QStringLiteral(" | ")) + QStringLiteral(" |\n");
}

}  // namespace

QString csvLine(const QStringList& fields) {
  return joined(fields, csvText, QStringLiteral(",")) + QStringLiteral("\r\n");
}

QString tableText(const QAbstractItemModel& model, const QVector<int>& rows, TableFormat format) {
  const int columns = model.columnCount();
  QStringList heads, rule;
  for (int column = 0; column < columns; ++column) {
    heads << model.headerData(column, Qt::Horizontal).toString();
    rule << QStringLiteral("---");
  }
  QString text = format == TableFormat::Latex ? latexBefore(model, rows) : QString();
  text += lineOf(heads, format);
  if (format == TableFormat::Markdown) text += lineOf(rule, format);
  if (format == TableFormat::Latex) text += QStringLiteral("\\midrule\n");
  for (const int row : rows) {
    QStringList fields;
    for (int column = 0; column < columns; ++column) fields << model.index(row, column).data().toString();
    text += lineOf(fields, format);
  }
  if (format == TableFormat::Latex) text += QStringLiteral("\\bottomrule\n\\end{tabular}\n");
  return text;
}

QVector<int> allRows(const QAbstractItemModel& model) {
  QVector<int> rows(model.rowCount());
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

}  // namespace normlens::ui

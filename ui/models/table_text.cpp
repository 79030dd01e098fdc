#include "ui/models/table_text.h"

#include <QStringList>
#include <numeric>

namespace normlens::ui {

namespace {

QString csvField(QString field) {
  const bool quote = field.contains(u',') || field.contains(u'"') || field.contains(u'\n') || field.contains(u'\r');
  return quote ? u'"' + field.replace(u'"', QStringLiteral("\"\"")) + u'"' : field;
}

QString markdownField(QString field) {
  return field.replace(u'\\', QStringLiteral("\\\\")).replace(u'|', QStringLiteral("\\|")).replace(u'\n', u' ');
}

QString lineOf(const QStringList& fields, TableFormat format) {
  if (format == TableFormat::Csv) return csvLine(fields);
  QStringList written;
  for (const QString& field : fields) written << markdownField(field);
  return QStringLiteral("| %1 |\n").arg(written.join(QStringLiteral(" | ")));
}

}  // namespace

QString csvLine(const QStringList& fields) {
  QStringList written;
  for (const QString& field : fields) written << csvField(field);
  return written.join(u',') + QStringLiteral("\r\n");
}

QString tableText(const QAbstractItemModel& model, const QVector<int>& rows, TableFormat format) {
  const int columns = model.columnCount();
  QStringList heads, rule;
  for (int column = 0; column < columns; ++column) {
    heads << model.headerData(column, Qt::Horizontal).toString();
    rule << QStringLiteral("---");
  }
  QString text = lineOf(heads, format);
  if (format == TableFormat::Markdown) text += lineOf(rule, format);
  for (const int row : rows) {
    QStringList fields;
    for (int column = 0; column < columns; ++column) fields << model.index(row, column).data().toString();
    text += lineOf(fields, format);
  }
  return text;
}

QVector<int> allRows(const QAbstractItemModel& model) {
  QVector<int> rows(model.rowCount());
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

}  // namespace normlens::ui

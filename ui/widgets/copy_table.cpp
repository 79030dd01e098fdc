#include "ui/widgets/copy_table.h"

#include <QClipboard>
#include <QCoreApplication>
#include <QGuiApplication>
#include <QItemSelectionModel>
#include <QShortcut>
#include <algorithm>

namespace normlens::ui {

void copyTable(const QTableView& table, TableFormat format) {
  QVector<int> rows;
  for (const QModelIndex& index : table.selectionModel()->selectedRows()) rows << index.row();
  std::sort(rows.begin(), rows.end());
  if (rows.isEmpty()) rows = allRows(*table.model());
  QGuiApplication::clipboard()->setText(tableText(*table.model(), rows, format));
}

void addCopyActions(QMenu* menu, QTableView* table) {
  const QPair<TableFormat, QString> formats[] = {
      {TableFormat::Csv, QCoreApplication::translate("CopyTable", "Copy as CSV")},
      {TableFormat::Markdown, QCoreApplication::translate("CopyTable", "Copy as Markdown")}};
  for (const auto& [format, title] : formats) {
    QAction* action = menu->addAction(title);
    action->setObjectName(format == TableFormat::Csv ? QStringLiteral("copyCsv") : QStringLiteral("copyMarkdown"));
    QObject::connect(action, &QAction::triggered, table, [table, format = format] { copyTable(*table, format); });
  }
}

void addCopyShortcut(QTableView* table) {
  auto* shortcut = new QShortcut(QKeySequence::Copy, table, nullptr, nullptr, Qt::WidgetShortcut);
  QObject::connect(shortcut, &QShortcut::activated, table, [table] { copyTable(*table, TableFormat::Csv); });
}

}  // namespace normlens::ui

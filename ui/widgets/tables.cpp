#include "ui/widgets/tables.h"

#include <QClipboard>
#include <QCoreApplication>
#include <QGuiApplication>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QShortcut>
#include <algorithm>

#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"

namespace normlens::ui {

void copyTable(const QTableView& table, TableFormat format, CopyRows which) {
  QVector<int> rows;
  const auto chosen = which == CopyRows::All ? QModelIndexList() : table.selectionModel()->selectedRows();
  for (const QModelIndex& index : chosen) rows << index.row();
  std::sort(rows.begin(), rows.end());
  if (rows.isEmpty()) rows = allRows(*table.model());
  QGuiApplication::clipboard()->setText(tableText(*table.model(), rows, format));
}

void addCopyActions(QMenu* menu, QTableView* table, CopyRows which) {
  struct Entry {
    TableFormat format;
    const char* name;
    QString title;
  };
  const Entry entries[] = {
      {TableFormat::Csv, "copyCsv", QCoreApplication::translate("CopyTable", "Copy as CSV")},
      {TableFormat::Markdown, "copyMarkdown", QCoreApplication::translate("CopyTable", "Copy as Markdown")},
      {TableFormat::Latex, "copyLatex", QCoreApplication::translate("CopyTable", "Copy as LaTeX")}};
  for (const Entry& entry : entries) {
    QAction* action = menu->addAction(entry.title);
    action->setObjectName(QLatin1String(entry.name));
    QObject::connect(action, &QAction::triggered, table,
                     [table, which, format = entry.format] { copyTable(*table, format, which); });
  }
}

void addCopyShortcut(QTableView* table) {
  auto* shortcut = new QShortcut(QKeySequence::Copy, table, nullptr, nullptr, Qt::WidgetShortcut);
  QObject::connect(shortcut, &QShortcut::activated, table, [table] { copyTable(*table, TableFormat::Csv); });
}

QTableView* makeRowTable(const QString& objectName, const QString& accessibleName, int rowHeight, QWidget* parent) {
  auto* table = new QTableView(parent);
  table->setObjectName(objectName);
  table->setAccessibleName(accessibleName);
  table->setShowGrid(false);
  table->setTabKeyNavigation(false);
  table->verticalHeader()->hide();
  table->verticalHeader()->setMinimumSectionSize(1);
  followText(table, [table, rowHeight] { table->verticalHeader()->setDefaultSectionSize(grown(rowHeight)); });
  table->horizontalHeader()->setHighlightSections(false);
  return table;
}

void makeRowsSelectable(QTableView* table) {
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::ExtendedSelection);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table->setWordWrap(false);
}

}  // namespace normlens::ui

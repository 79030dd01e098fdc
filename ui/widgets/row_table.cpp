#include "ui/widgets/row_table.h"

#include <QHeaderView>

#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"

namespace normlens::ui {

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

// Copying from a table: Ctrl+C copies the chosen rows (all, where none is chosen) as CSV, the context menu as CSV,
// Markdown or LaTeX. Both take what is shown, in the order in which it is shown.
#pragma once

#include <QMenu>
#include <QTableView>

#include "ui/models/table_text.h"

namespace normlens::ui {

enum class CopyRows { Chosen, All };

void copyTable(const QTableView& table, TableFormat format, CopyRows which = CopyRows::Chosen);
// "Copy as CSV", "Copy as Markdown", "Copy as LaTeX".
void addCopyActions(QMenu* menu, QTableView* table, CopyRows which = CopyRows::Chosen);
// Ctrl+C while the table has the focus.
void addCopyShortcut(QTableView* table);

// The tables of the panels: plain rows without a grid.
[[nodiscard]] QTableView* makeRowTable(const QString& objectName, const QString& accessibleName, int rowHeight,
                                       QWidget* parent);
// Rows to choose, several at a time, and not to write in.
void makeRowsSelectable(QTableView* table);

}  // namespace normlens::ui

// The tables of the panels: plain rows without a grid.
#pragma once

#include <QTableView>

namespace normlens::ui {

[[nodiscard]] QTableView* makeRowTable(const QString& objectName, const QString& accessibleName, int rowHeight,
                                       QWidget* parent);
// Rows to choose, several at a time, and not to write in.
void makeRowsSelectable(QTableView* table);

}  // namespace normlens::ui

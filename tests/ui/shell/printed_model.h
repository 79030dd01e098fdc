// What a view would show of an item model, and what checks the model while a test runs.
#pragma once

#include <QAbstractItemModelTester>

namespace normlens::ui {

constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::QtTest;

// One line per row, children indented: what a tree view would show.
inline QString printed(const QAbstractItemModel& model, const QModelIndex& parent = {}, int depth = 0) {
  QString text;
  for (int row = 0; row < model.rowCount(parent); ++row) {
    const QModelIndex at = model.index(row, 0, parent);
    text += QString(qsizetype{2} * depth, u' ') + at.data().toString() + u'\n' + printed(model, at, depth + 1);
  }
  return text;
}

}  // namespace normlens::ui

// A window on its Benchmark page, with a folded model, and what tests of it ask again and again.
#pragma once

#include <QChart>
#include <QLineEdit>
#include <QXYSeries>

#include "tests/ui/shell/shown_window.h"
#include "ui/charts/chart_view.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

struct BenchShown : Shown {
  explicit BenchShown(const QString& model, const QStringList& mischief = {}) : Shown(model, mischief) {
    fold();
    window.workspace()->bottom()->showTab(BottomPanel::Benchmark);
  }
};

inline QXYSeries* lineNamed(const ChartView& view, const QString& name) {
  for (QAbstractSeries* series : view.chart()->series()) {
    if (series->name() == name) return qobject_cast<QXYSeries*>(series);
  }
  return nullptr;
}

inline void type(Shown& shown, const char* field, const QString& words) {
  auto* edit = shown.child<QLineEdit>(field);
  edit->setFocus();
  edit->selectAll();
  QTest::keyClicks(edit, words);
}

}  // namespace normlens::ui

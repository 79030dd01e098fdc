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

inline void showBenchmark(Shown& shown, const QString& model) {
  shown.openAndAnalyse(model);
  shown.session.fold();
  QTRY_VERIFY(shown.session.foldResult().has_value() && !shown.session.busy());
  shown.window.workspace()->bottom()->showTab(BottomPanel::Benchmark);
}

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

#include "ui/graphview/overlays/shortcut_sheet.h"

#include <QGridLayout>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "ui/theme/theme.h"

namespace normlens::graphview {

ShortcutSheet::ShortcutSheet(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("shortcutSheet"));
  setAccessibleName(tr("Graph keys"));
  setToolTip(tr("Click to close."));
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(20, 16, 20, 16);
  grid->setHorizontalSpacing(24);
  grid->setVerticalSpacing(6);
  const QString rows[][2] = {
      {tr("Arrow keys"), tr("along the edges, and to neighbors")},
      {tr("Enter"), tr("open or close a group")},
      {tr("Backspace"), tr("to the enclosing group")},
      {tr("Esc"), tr("one step back: what is open, then the selection")},
      {tr("+  −  Ctrl+0"), tr("zoom in, out, to actual size")},
      {tr("0  Home"), tr("show everything")},
      {tr("F"), tr("graph only, without the panels")},
      {tr("W"), tr("table of LayerNorms")},
      {tr("1 … 9"), tr("open that many levels of groups")},
      {tr("Shift+E  Shift+C"), tr("open all groups, close all")},
      {tr("B"), tr("the model before or after the plan")},
      {tr("G"), tr("to what blocks the selected LayerNorm")},
      {tr("Alt+Left  Alt+Right"), tr("back and forward, also with mouse buttons")},
      {tr("Ctrl+F  F3  Shift+F3"), tr("search, next, previous")},
      {tr("Menu"), tr("actions for the selection")},
      {tr("Wheel, Shift+wheel"), tr("zoom, move sideways")},
      {tr("Drag"), tr("move the graph")},
      {tr("Double-click"), tr("open or close a group")},
      {tr("?"), tr("all keys")},
  };
  int line = 0;
  for (const auto& [keysText, meaning] : rows) {
    auto* keys = new QLabel(keysText, this);
    QFont bold = keys->font();
    bold.setWeight(QFont::DemiBold);
    keys->setFont(bold);
    grid->addWidget(keys, line, 0);
    grid->addWidget(new QLabel(meaning, this), line++, 1);
  }
  hide();
}

void ShortcutSheet::toggle() {
  adjustSize();
  const QRect around = parentWidget()->rect();
  move(std::max(8, (around.width() - width()) / 2), std::max(8, (around.height() - height()) / 2));
  setVisible(!isVisible());
  raise();
}

void ShortcutSheet::paintEvent(QPaintEvent*) {
  const ui::Theme theme = ui::themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme.control, 1));
  painter.setBrush(theme.panel);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8);
}

void ShortcutSheet::mousePressEvent(QMouseEvent* event) {
  hide();
  event->accept();
}

}  // namespace normlens::graphview

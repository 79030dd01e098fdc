#include "ui/graphview/overlays/shortcut_sheet.h"

#include <QGridLayout>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "ui/theme/theme.h"

namespace normlens::graphview {
namespace {

struct Row {
  const char* keys;
  const char* meaning;
};

constexpr Row kRows[] = {
    {QT_TRANSLATE_NOOP("ShortcutSheet", "Arrow keys"),
     QT_TRANSLATE_NOOP("ShortcutSheet", "along the edges, and to what stands beside")},
    {QT_TRANSLATE_NOOP("ShortcutSheet", "Enter"), QT_TRANSLATE_NOOP("ShortcutSheet", "open or close a group")},
    {QT_TRANSLATE_NOOP("ShortcutSheet", "Backspace"), QT_TRANSLATE_NOOP("ShortcutSheet", "to the group around")},
    {QT_TRANSLATE_NOOP("ShortcutSheet", "Esc"), QT_TRANSLATE_NOOP("ShortcutSheet", "select nothing")},
    {QT_TRANSLATE_NOOP("ShortcutSheet", "+  −  Ctrl+0"),
     QT_TRANSLATE_NOOP("ShortcutSheet", "zoom in, out, to actual size")},
    {QT_TRANSLATE_NOOP("ShortcutSheet", "0  F  Home"), QT_TRANSLATE_NOOP("ShortcutSheet", "show everything")},
    {QT_TRANSLATE_NOOP("ShortcutSheet", "1 … 9"),
     QT_TRANSLATE_NOOP("ShortcutSheet", "open groups that many levels deep")},
    {QT_TRANSLATE_NOOP("ShortcutSheet", "Shift+E  Shift+C"),
     QT_TRANSLATE_NOOP("ShortcutSheet", "open all groups, close all")},
    {QT_TRANSLATE_NOOP("ShortcutSheet", "Alt+Left  Alt+Right"),
     QT_TRANSLATE_NOOP("ShortcutSheet", "back and forward, also with the mouse's buttons")},
    {QT_TRANSLATE_NOOP("ShortcutSheet", "Ctrl+F  F3  Shift+F3"),
     QT_TRANSLATE_NOOP("ShortcutSheet", "search, next, previous")},
    {QT_TRANSLATE_NOOP("ShortcutSheet", "Menu"),
     QT_TRANSLATE_NOOP("ShortcutSheet", "what can be done with the selected")},
    {QT_TRANSLATE_NOOP("ShortcutSheet", "Wheel, Shift+wheel"),
     QT_TRANSLATE_NOOP("ShortcutSheet", "zoom, move sideways")},
    {QT_TRANSLATE_NOOP("ShortcutSheet", "Drag"), QT_TRANSLATE_NOOP("ShortcutSheet", "move the graph")},
    {QT_TRANSLATE_NOOP("ShortcutSheet", "Double-click"), QT_TRANSLATE_NOOP("ShortcutSheet", "open or close a group")},
    {QT_TRANSLATE_NOOP("ShortcutSheet", "?"), QT_TRANSLATE_NOOP("ShortcutSheet", "this card")},
};

}  // namespace

ShortcutSheet::ShortcutSheet(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("shortcutSheet"));
  setAccessibleName(tr("Keys of the graph"));
  setToolTip(tr("Click to take this card away."));
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(20, 16, 20, 16);
  grid->setHorizontalSpacing(24);
  grid->setVerticalSpacing(6);
  int line = 0;
  for (const Row& row : kRows) {
    auto* keys = new QLabel(tr(row.keys), this);
    QFont bold = keys->font();
    bold.setWeight(QFont::DemiBold);
    keys->setFont(bold);
    grid->addWidget(keys, line, 0);
    grid->addWidget(new QLabel(tr(row.meaning), this), line++, 1);
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

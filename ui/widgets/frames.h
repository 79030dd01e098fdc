// Small pieces that every panel is put together from. The property "kind" is what the style sheet looks at.
#pragma once

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

class QComboBox;
class QPushButton;

namespace normlens::ui {

[[nodiscard]] QFrame* makeLine(Qt::Orientation orientation, QWidget* parent);
[[nodiscard]] QLabel* makeLabel(const QString& text, const char* kind, QWidget* parent);  // plain text
// A label that breaks its lines; kind: see makeLabel().
[[nodiscard]] QLabel* makeWords(const char* kind, QWidget* parent, const QString& text = {});
[[nodiscard]] QPushButton* makeButton(const QString& text, const char* kind, QWidget* parent);
[[nodiscard]] QFrame* makeCard(QWidget* parent);
// A choice among names, as wide as so many letters.
[[nodiscard]] QComboBox* makeNameChoice(int letters, QWidget* parent);
// The layout of `parent` (nullptr: of no widget yet). spacing: -1, that of the style. margins: left, top, right,
// bottom.
QVBoxLayout* makeColumn(QWidget* parent, int spacing = 0, const QMargins& margins = {});
QHBoxLayout* makeRow(QWidget* parent, int spacing = 0, const QMargins& margins = {});
// A bar of fixed height with a horizontal layout; objectName chooses its colors.
[[nodiscard]] QFrame* makeBar(const QString& objectName, int height, QWidget* parent);
[[nodiscard]] QHBoxLayout* layoutOf(QFrame* bar);

// Object name, tooltip and accessible name, each unless empty; gives the widget back.
template <typename Widget>
Widget* describe(Widget* widget, const char* name, const QString& tip = {}, const QString& accessible = {}) {
  widget->setObjectName(QLatin1String(name));
  if (!tip.isEmpty()) widget->setToolTip(tip);
  if (!accessible.isEmpty()) widget->setAccessibleName(accessible);
  return widget;
}

// Sets "kind" and makes the style sheet look again.
void setKind(QWidget* widget, const char* kind);

}  // namespace normlens::ui

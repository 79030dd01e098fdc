// Small pieces that every panel is put together from. The property "kind" is what the style sheet looks at.
#pragma once

#include <QFrame>
#include <QLabel>
#include <QString>

class QHBoxLayout;
class QPushButton;

namespace normlens::ui {

[[nodiscard]] QFrame* makeLine(Qt::Orientation orientation, QWidget* parent);
[[nodiscard]] QLabel* makeLabel(const QString& text, const char* kind, QWidget* parent);  // plain text
[[nodiscard]] QPushButton* makeButton(const QString& text, const char* kind, QWidget* parent);
// A bar of fixed height with a horizontal layout; objectName chooses its colors.
[[nodiscard]] QFrame* makeBar(const QString& objectName, int height, QWidget* parent);
[[nodiscard]] QHBoxLayout* layoutOf(QFrame* bar);

// Sets "kind" and makes the style sheet look again.
void setKind(QWidget* widget, const char* kind);

}  // namespace normlens::ui

// The keys and mouse gestures of the graph, on a card over it. Escape, a click or the same key again takes it away.
#pragma once

#include <QWidget>

namespace normlens::graphview {

class ShortcutSheet : public QWidget {
  Q_OBJECT

 public:
  explicit ShortcutSheet(QWidget* parent);

  void toggle();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
};

}  // namespace normlens::graphview

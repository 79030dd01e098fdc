// The keys and mouse gestures of the graph, on a card over it. Escape, a click or the same key again takes it away.
#pragma once

#include <QFrame>

namespace normlens::graphview {

class ShortcutSheet : public QFrame {
  Q_OBJECT

 public:
  explicit ShortcutSheet(QWidget* parent);

  void toggle();

 protected:
  void mousePressEvent(QMouseEvent* event) override;
};

}  // namespace normlens::graphview

// Paints a message on the canvas in place of a graph, or as a note beside one: what is being done, with a spinner, or
// what went wrong. Thread: GUI thread.
#pragma once

#include <QBasicTimer>
#include <QRectF>
#include <QString>

#include "ui/theme/theme.h"

class QPainter;
class QTimerEvent;

namespace normlens::graphview {

class CanvasMessage {
 public:
  QString busy;   // "Opening gpt2.pt"; empty: nothing is awaited from outside
  QString stage;  // The layout's stage.
  QString error;  // one plain sentence in place of the graph; empty: none

  // laysOut: a layout is on its way; overGraph: there is a graph to look at until then. The owner gets the timer's
  // events.
  void spinIfNeeded(QObject* owner, bool laysOut, bool overGraph);
  [[nodiscard]] bool spins() const { return timer_.isActive(); }
  bool turn(const QTimerEvent& event);  // false: another timer's
  // Paints it in the middle of the area, or in the corner of a graph.
  void paint(QPainter& painter, const QRectF& area, bool overGraph, const ui::Theme& theme) const;

 private:
  [[nodiscard]] QString text() const;
  void paintSpinner(QPainter& painter, const QPointF& center, double radius, const ui::Theme& theme) const;

  QBasicTimer timer_;
  double angle_ = 0;  // degrees
};

}  // namespace normlens::graphview

// Waits until a graph view has laid out and shows all that it was asked for. Thread: the window's.
#pragma once

#include <QCoreApplication>
#include <QElapsedTimer>

#include "ui/graphview/graph_view.h"

namespace normlens::test {

// False after the timeout.
inline bool waitForLayout(const graphview::GraphView& view, int milliseconds) {
  QElapsedTimer timer;
  timer.start();
  while (!view.isLaidOut() && timer.elapsed() < milliseconds)
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents | QEventLoop::ExcludeUserInputEvents, 20);
  return view.isLaidOut();
}

}  // namespace normlens::test

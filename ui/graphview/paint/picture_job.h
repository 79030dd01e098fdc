// Writes a picture of a graph to a file, on a thread of its own: SVG and PDF as shapes and text, PNG as pixels.
//
// Painted by the painter of the screen, without its stores of pixels. A PNG that is too large for one bitmap comes as
// numbered tiles ("graph_r1_c2.png"). A file has its name only when it is complete; a job that is cancelled or
// destroyed leaves none behind. Thread: made, cancelled and listened to in the GUI thread.
#pragma once

#include <QObject>
#include <QStringList>
#include <memory>
#include <thread>

#include "core/base/result.h"
#include "ui/graphview/paint/graph_painter.h"

namespace normlens::graphview {

// Everything that the picture shows, as it is when it is ordered.
struct PictureOrder {
  QString path;  // its ending chooses the format: svg, pdf, png
  Scene scene;
  Camera camera;
  QSizeF size;           // in the units of the screen
  double sharpness = 1;  // PNG: pixels per unit
  Marks marks;
  int selectedBox = -1, selectedValue = -1;
  ui::Theme theme;
};

class PictureJob : public QObject {
  Q_OBJECT
  Q_DISABLE_COPY_MOVE(PictureJob)

 public:
  static constexpr int kTileSide = 8192;                           // A picture that needs tiles has them.
  static constexpr qint64 kMostPixels = qint64{64} * 1024 * 1024;  // Limits a single bitmap.
  static constexpr int kMostSide = 32767;                          // Limits a single bitmap, in pixels.

  explicit PictureJob(PictureOrder order, QObject* parent = nullptr);
  ~PictureJob() override;  // cancels, and waits for the strip in work

  void cancel();

 Q_SIGNALS:
  void progressed(double fraction);         // negative: unknown
  void finished(const QStringList& files);  // Lists the files that were written.
  void failed(const QString& message);      // one sentence; empty after cancel()

 private:
  void work(const std::stop_token& stop);

  std::unique_ptr<const PictureOrder> order_;
  std::jthread thread_;  // last: ends before the rest goes
};

}  // namespace normlens::graphview

// Saves the figure of a step: as it is shown, or what it plays as a folder of frames. A frame a turn of the event loop,
// so that the window goes on; the figure is not to be touched meanwhile. Who stops it leaves nothing behind.
#pragma once

#include <QPointer>
#include <functional>

#include "ui/learn/figure.h"
#include "ui/window/writing_bar.h"

class QMenu;

namespace normlens::ui {

class FigureExport final : public WritingBar {
  Q_OBJECT
  Q_DISABLE_COPY_MOVE(FigureExport)

 public:
  using Shown = std::function<Figure*()>;
  using Name = std::function<QString()>;

  // shown: the figure of the step, or nullptr; name: what its files are called, without a suffix.
  FigureExport(Shown shown, Name name, QWidget* parent);
  ~FigureExport() override;

  void fill(QMenu* menu);  // with what can be saved now
  void savePicture(const QString& path);
  void saveFrames(const QString& folder);  // into a new one in it
  [[nodiscard]] bool writing() const { return figure_ != nullptr; }
  void stop();

 Q_SIGNALS:
  void written(const QString& path, const QString& words);
  void failed(const QString& message);  // a sentence

 private:
  void askForPicture();
  void askForFrames();
  void showFrame();
  void writeFrame();
  void removeFrames();
  void end();

  Shown shown_;
  Name name_;
  QString folder_;           // Holds the frames.
  QPointer<Figure> figure_;  // that is written
  int frame_ = 0;
  int waited_ = 0;  // ms, for the frame to be settled
};

}  // namespace normlens::ui

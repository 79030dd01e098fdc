#include "ui/window/learn/figure_export.h"

#include <QCoreApplication>
#include <QDir>
#include <QMenu>
#include <QStandardPaths>
#include <QTimer>

#include "ui/theme/theme.h"
#include "ui/widgets/plots/picture_file.h"
#include "ui/window/parts.h"

namespace normlens::ui {
namespace {

constexpr int kPauseMs = 5, kPatienceMs = 3000;  // while a figure is not settled

bool write(Figure& figure, const QString& path) {
  return writePicture(path, figure.pictureSize(), themeOf(&figure).canvas,
                      [&](QPainter& painter) { figure.paintPicture(painter); });
}

QString picturesFolder() { return QStandardPaths::writableLocation(QStandardPaths::PicturesLocation); }

// "lost", "lost-2" and so on: a folder that is not there yet. Empty: none can be made.
QString makeFolder(const QString& in, const QString& name) {
  constexpr int kMost = 1000;
  const QDir parent(in);
  for (int i = 1; i < kMost; ++i) {
    const QString tried = i == 1 ? name : QStringLiteral("%1-%2").arg(name).arg(i);
    if (parent.exists(tried)) continue;
    return parent.mkdir(tried) ? parent.filePath(tried) : QString();
  }
  return {};
}

}  // namespace

FigureExport::FigureExport(Shown shown, Name name, QWidget* parent)
    : WritingBar(parent), shown_(std::move(shown)), name_(std::move(name)) {
  connect(this, &WritingBar::stopWanted, this, &FigureExport::stop);
}

FigureExport::~FigureExport() {
  if (writing()) removeFrames();
}

void FigureExport::fill(QMenu* menu) {
  const Figure* figure = shown_();
  const bool free = figure != nullptr && !writing();
  menu->setToolTipsVisible(true);
  QAction* picture = menu->addAction(tr("Save picture of the figure…"), this, &FigureExport::askForPicture);
  picture->setObjectName(QStringLiteral("saveFigure"));
  picture->setToolTip(tr("The figure as shown, as SVG, PDF or PNG."));
  picture->setEnabled(free);
  QAction* frames = menu->addAction(tr("Save frames of the animation…"), this, &FigureExport::askForFrames);
  frames->setObjectName(QStringLiteral("saveFrames"));
  const bool plays = free && figure->film().length > 0;
  frames->setToolTip(plays ? tr("%1 pictures, for a video.").arg(figure->film().frames())
                           : tr("This step has no animation."));
  frames->setEnabled(plays);
}

void FigureExport::askForPicture() {
  askForFile(
      this,
      {QStringLiteral("figureDialog"), tr("Save picture of the figure"), pictureFilters(), picturesFolder(), name_()},
      [this](const QString& path) { savePicture(path); });
}

void FigureExport::askForFrames() {
  askForFolder(this, {QStringLiteral("framesDialog"), tr("Folder for the frames"), {}, picturesFolder()},
               [this](const QString& folder) { saveFrames(folder); });
}

void FigureExport::savePicture(const QString& path) {
  Figure* figure = shown_();
  if (figure == nullptr || writing()) return;
  if (write(*figure, path)) {
    Q_EMIT written(path, tr("Wrote %1.").arg(path));
  } else {
    Q_EMIT failed(tr("The picture could not be written to %1.").arg(path));
  }
}

void FigureExport::saveFrames(const QString& folder) {
  Figure* figure = shown_();
  if (figure == nullptr || writing() || figure->film().length <= 0) return;
  folder_ = makeFolder(folder, name_());
  if (folder_.isEmpty()) {
    Q_EMIT failed(tr("No folder for the frames could be made in %1.").arg(folder));
    return;
  }
  figure_ = figure;
  figure_->setAttribute(Qt::WA_TransparentForMouseEvents);
  frame_ = 0;
  begin(tr("Writing frames"));
  progress(0);
  parentWidget()->setFocus();  // its Esc stops it
  showFrame();
}

void FigureExport::showFrame() {
  if (!writing()) return;
  waited_ = 0;
  figure_->showTime(frame_ * figure_->film().frame);
  QTimer::singleShot(0, this, &FigureExport::writeFrame);
}

void FigureExport::writeFrame() {
  if (!writing()) return;
  if (!figure_->isSettled() && waited_ < kPatienceMs) {
    waited_ += kPauseMs;
    return QTimer::singleShot(kPauseMs, this, &FigureExport::writeFrame);
  }
  const Film film = figure_->film();
  const QString path = QDir(folder_).filePath(QStringLiteral("frame_%1.png").arg(frame_ + 1, 4, 10, QLatin1Char('0')));
  if (!write(*figure_, path)) {
    stop();
    Q_EMIT failed(tr("The frame could not be written to %1.").arg(path));
    return;
  }
  ++frame_;
  progress(static_cast<double>(frame_) / film.frames());
  if (frame_ < film.frames()) return showFrame();
  end();
  Q_EMIT written(path, tr("Wrote %1 frames to %2, one every %3 ms.").arg(frame_).arg(folder_).arg(film.frame));
}

// Removes the folder too, which was made for them.
void FigureExport::removeFrames() { QDir(folder_).removeRecursively(); }

void FigureExport::stop() {
  if (!writing()) return;
  removeFrames();
  end();
}

void FigureExport::end() {
  figure_->setAttribute(Qt::WA_TransparentForMouseEvents, false);
  figure_ = nullptr;
  hide();
}

}  // namespace normlens::ui

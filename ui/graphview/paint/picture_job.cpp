#include "ui/graphview/paint/picture_job.h"

#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QImageWriter>
#include <QMetaObject>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>
#include <QSvgGenerator>
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "core/base/handed_over.h"

namespace normlens::graphview {
namespace {

using Progress = std::function<void(double)>;

// Hands on to a file until it is to stop: then the one who packs a picture gives up.
class StoppableFile : public QIODevice {
 public:
  StoppableFile(QIODevice& file, const std::stop_token& stop) : file_(file), stop_(stop) {
    open(WriteOnly | Unbuffered);
  }
  [[nodiscard]] bool isSequential() const override { return true; }

 protected:
  qint64 readData(char*, qint64) override { return -1; }
  qint64 writeData(const char* data, qint64 size) override {
    return stop_.stop_requested() ? -1 : file_.write(data, size);
  }

 private:
  QIODevice& file_;
  const std::stop_token& stop_;
};

// Writes one kind of file; throws nothing, returns what went wrong.
class Writer {
 public:
  Writer(const PictureOrder& order, const std::stop_token& stop, Progress progress)
      : order_(order), stop_(stop), progress_(std::move(progress)), painter_(GraphPainter::Use::Picture) {}

  Result<QStringList> run() {
    const QString suffix = QFileInfo(order_.path).suffix().toLower();
    const Status status = suffix == QLatin1String("svg")   ? writeSvg()
                          : suffix == QLatin1String("pdf") ? writePdf()
                          : suffix == QLatin1String("png")
                              ? writePng()
                              : fail(ErrorCode::Usage, tr("Use a name ending in .svg, .pdf or .png."));
    if (!status) {
      for (const QString& file : files_) QFile::remove(file);
      return tl::unexpected(status.error());
    }
    return files_;
  }

 private:
  static std::string tr(const char* text) { return PictureJob::tr(text).toStdString(); }

  [[nodiscard]] Status check() const {
    return stop_.stop_requested() ? Status(fail(ErrorCode::Cancelled, "")) : Status();
  }

  [[nodiscard]] static Status unwritable(const QString& path) {
    return fail(ErrorCode::WriteFailed,
                PictureJob::tr("The picture could not be written to %1.").arg(path).toStdString());
  }

  // area: the part to paint, in the units of the screen.
  void paint(QPainter& painter, const Camera& camera, const QSizeF& size) {
    const ViewState state{.marks = &order_.marks,
                          .hover = {},
                          .selectedBox = order_.selectedBox,
                          .selectedValue = order_.selectedValue,
                          .stop = &stop_};
    painter_.paint(painter, order_.scene, camera, size, state, order_.theme);
  }

  Status commit(QSaveFile& file) {
    RETURN_IF_ERROR(check());
    if (!file.commit()) return unwritable(file.fileName());
    files_ << file.fileName();
    return {};
  }

  // shapes: what draws into the file; scale: its units to one of the screen.
  Status writeShapes(QSaveFile& file, QPaintDevice& shapes, double scale) {
    progress_(-1);
    {
      QPainter painter(&shapes);
      painter.scale(scale, scale);
      paint(painter, order_.camera, order_.size);
    }
    return commit(file);
  }

  Status writeSvg() {
    QSaveFile file(order_.path);
    if (!file.open(QIODevice::WriteOnly)) return unwritable(order_.path);
    QSvgGenerator generator;
    generator.setOutputDevice(&file);
    generator.setSize(order_.size.toSize());
    generator.setViewBox(QRectF(QPointF(0, 0), order_.size));
    generator.setResolution(96);
    generator.setTitle(QFileInfo(order_.path).completeBaseName());
    return writeShapes(file, generator, 1);
  }

  Status writePdf() {
    constexpr double kMostPoints = 14400;  // 200 inches: a page can be no larger
    constexpr int kDotsPerInch = 720;
    QSaveFile file(order_.path);
    if (!file.open(QIODevice::WriteOnly)) return unwritable(order_.path);
    const double side = std::max(order_.size.width(), order_.size.height());
    const double scale = std::min(0.75, kMostPoints / side);  // a unit of the screen is three quarters of a point
    QPdfWriter writer(&file);
    writer.setPageSize(QPageSize(order_.size * scale, QPageSize::Point));
    writer.setPageMargins({});
    writer.setResolution(kDotsPerInch);
    writer.setTitle(QFileInfo(order_.path).completeBaseName());
    return writeShapes(file, writer, scale * kDotsPerInch / 72);
  }

  Status writePng() {
    const auto pixels = [this](double units) {
      return std::max<qint64>(1, static_cast<qint64>(std::ceil(units * order_.sharpness)));
    };
    const qint64 width = pixels(order_.size.width()), height = pixels(order_.size.height());
    const bool one =
        width <= PictureJob::kMostSide && height <= PictureJob::kMostSide && width * height <= PictureJob::kMostPixels;
    const qint64 stepX = one ? width : PictureJob::kTileSide, stepY = one ? height : PictureJob::kTileSide;
    const double tiles = std::ceil(static_cast<double>(width) / static_cast<double>(stepX)) *
                         std::ceil(static_cast<double>(height) / static_cast<double>(stepY));
    double done = 0;
    for (qint64 y = 0; y < height; y += stepY) {
      for (qint64 x = 0; x < width; x += stepX) {
        const QSize size(static_cast<int>(std::min(stepX, width - x)), static_cast<int>(std::min(stepY, height - y)));
        const QString path = one ? order_.path : tilePath(static_cast<int>(y / stepY), static_cast<int>(x / stepX));
        const auto part = [&](double fraction) { progress_((done + fraction) / tiles); };
        RETURN_IF_ERROR(writeTile(path, {static_cast<double>(x), static_cast<double>(y)}, size, part));
        done += 1;
      }
    }
    return {};
  }

  [[nodiscard]] QString tilePath(int row, int column) const {
    const QFileInfo info(order_.path);
    return info.path() + QStringLiteral("/%1_r%2_c%3.png").arg(info.completeBaseName()).arg(row + 1).arg(column + 1);
  }

  // Writes the tile in strips, so that a request to stop takes effect soon.
  Status writeTile(const QString& path, const QPointF& corner, const QSize& size, const Progress& progress) {
    constexpr int kStrip = 256;
    constexpr double kPainting = 0.6;  // A share of the time; the rest is packing.
    QImage image(size, QImage::Format_RGB32);
    if (image.isNull()) return fail(ErrorCode::Unsupported, tr("There is not enough memory for the picture."));
    for (int top = 0; top < size.height(); top += kStrip) {
      RETURN_IF_ERROR(check());
      const int rows = std::min(kStrip, size.height() - top);
      QImage strip(image.scanLine(top), size.width(), rows, image.bytesPerLine(), image.format());
      Camera camera = order_.camera;
      camera.zoom *= order_.sharpness;
      camera.offset = camera.offset * order_.sharpness - corner - QPointF(0, top);
      QPainter painter(&strip);
      paint(painter, camera, QSizeF(strip.size()));
      progress(kPainting * (top + rows) / size.height());
    }
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return unwritable(path);
    StoppableFile stoppable(file, stop_);
    const bool written = QImageWriter(&stoppable, "png").write(image);
    RETURN_IF_ERROR(check());
    if (!written) return unwritable(path);
    return commit(file);
  }

  const PictureOrder& order_;
  const std::stop_token& stop_;
  Progress progress_;
  GraphPainter painter_;
  QStringList files_;
};

}  // namespace

PictureJob::PictureJob(PictureOrder order, QObject* parent)
    : QObject(parent), order_(std::make_unique<const PictureOrder>(std::move(order))) {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

PictureJob::~PictureJob() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void PictureJob::cancel() { thread_.request_stop(); }

void PictureJob::work(const std::stop_token& stop) {
  const auto post = [this](auto action) {
    QMetaObject::invokeMethod(this, HandedOver(std::move(action)), Qt::QueuedConnection);
  };
  const auto written =
      Writer(*order_, stop, [&](double fraction) { post([this, fraction] { Q_EMIT progressed(fraction); }); }).run();
  if (written) {
    post([this, files = *written] { Q_EMIT finished(files); });
  } else {
    post([this, message = QString::fromStdString(written.error().message)] { Q_EMIT failed(message); });
  }
}

}  // namespace normlens::graphview

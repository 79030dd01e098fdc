#include "ui/widgets/plots/picture_file.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QImage>
#include <QImageWriter>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>
#include <QSvgGenerator>

namespace normlens::ui {
namespace {

constexpr double kSharpness = 2;  // pixels of an image per unit of the screen
constexpr double kPointsPerUnit = 0.75;
constexpr int kDotsPerInch = 96, kPdfDotsPerInch = 720;

using Paint = std::function<void(QPainter& painter)>;

bool paintOn(QPaintDevice& device, double scale, const QSize& size, const QColor& ground, const Paint& paint) {
  QPainter painter;
  if (!painter.begin(&device)) return false;
  painter.setRenderHint(QPainter::Antialiasing);
  painter.scale(scale, scale);
  painter.fillRect(QRect({}, size), ground);
  paint(painter);
  return painter.end();
}

bool writeSvg(QIODevice& file, const QString& title, const QSize& size, const QColor& ground, const Paint& paint) {
  QSvgGenerator svg;
  svg.setOutputDevice(&file);
  svg.setSize(size);
  svg.setViewBox(QRect({}, size));
  svg.setResolution(kDotsPerInch);
  svg.setTitle(title);
  return paintOn(svg, 1, size, ground, paint);
}

bool writePdf(QIODevice& file, const QString& title, const QSize& size, const QColor& ground, const Paint& paint) {
  QPdfWriter pdf(&file);
  pdf.setPageSize(QPageSize(QSizeF(size) * kPointsPerUnit, QPageSize::Point));
  pdf.setPageMargins({});
  pdf.setResolution(kPdfDotsPerInch);
  pdf.setTitle(title);
  return paintOn(pdf, kPointsPerUnit * kPdfDotsPerInch / 72, size, ground, paint);
}

bool writeImage(QIODevice& file, const QString& suffix, const QSize& size, const QColor& ground, const Paint& paint) {
  QImage image(size * kSharpness, QImage::Format_RGB32);
  return !image.isNull() && paintOn(image, kSharpness, size, ground, paint) &&
         QImageWriter(&file, suffix.toLatin1()).write(image);
}

}  // namespace

bool writePicture(const QString& path, const QSize& size, const QColor& ground, const Paint& paint) {
  QSaveFile file(path);
  if (size.isEmpty() || !file.open(QIODevice::WriteOnly)) return false;
  const QString suffix = QFileInfo(path).suffix().toLower(), title = QFileInfo(path).completeBaseName();
  const bool written = suffix == QLatin1String("svg")   ? writeSvg(file, title, size, ground, paint)
                       : suffix == QLatin1String("pdf") ? writePdf(file, title, size, ground, paint)
                                                        : writeImage(file, suffix, size, ground, paint);
  return written && file.commit();
}

QStringList pictureFilters() {
  const auto tr = [](const char* text) { return QCoreApplication::translate("PictureFile", text); };
  return {tr("SVG (*.svg)"), tr("PDF (*.pdf)"), tr("PNG (*.png)")};
}

}  // namespace normlens::ui

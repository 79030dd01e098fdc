// Writes what a painter paints to a picture file: by its suffix .svg and .pdf as shapes and text, else an image of
// twice the size. A file has its name only when it is complete. Thread: that of what is painted.
#pragma once

#include <QColor>
#include <QSize>
#include <QString>
#include <QStringList>
#include <functional>

class QPainter;

namespace normlens::ui {

// paint: what lies within `size`, in the units of the screen. False: the file could not be written.
[[nodiscard]] bool writePicture(const QString& path, const QSize& size, const QColor& ground,
                                const std::function<void(QPainter& painter)>& paint);

// Returns the filters of the file dialog for one.
[[nodiscard]] QStringList pictureFilters();

}  // namespace normlens::ui

// Draws a graph as SVG for a page that has a light and a dark look: shapes and text, each color a variable of the page.
//
// The painter of the screen paints twice, once with each theme; the drawings differ in their colors alone. Every text
// keeps the width that it was laid out for, whatever font the page finds. Thread: any, one at a time.
#pragma once

#include <QColor>
#include <QString>
#include <string>
#include <utility>
#include <vector>

#include "ui/graphview/paint/picture_job.h"

namespace normlens::graphview {

// The colors of a page's drawings. Color 3 is called "var(--g3)".
class PageColors {
 public:
  [[nodiscard]] QByteArray name(const QColor& light, const QColor& dark);
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& all() const { return colors_; }

 private:
  std::vector<std::pair<std::string, std::string>> colors_;  // "#rrggbb" or "#rrggbbaa": light, dark
};

// The order's path, size on the screen and theme do not matter.
[[nodiscard]] std::string pageDrawing(PictureOrder order, PageColors& colors);

}  // namespace normlens::graphview

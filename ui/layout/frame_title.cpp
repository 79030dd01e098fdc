#include "ui/layout/frame_title.h"

#include <algorithm>
#include <cmath>

namespace normlens::layout {
namespace {

constexpr double kTitleGap = 8;  // on either side of the title

struct Span {
  double from = 0, to = 0;
};

// Returns the spans in which curves run through the title band, ascending.
std::vector<Span> crossings(const LocalLayout& layout) {
  std::vector<Span> spans;
  for (const auto& curve : layout.curves) {
    for (size_t i = 0; i + 3 < curve.size(); i += 3) {
      if (std::min({curve[i].y(), curve[i + 1].y(), curve[i + 2].y(), curve[i + 3].y()}) > kTitleBand) continue;
      const auto [low, high] = std::minmax({curve[i].x(), curve[i + 1].x(), curve[i + 2].x(), curve[i + 3].x()});
      spans.push_back({low, high});
    }
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.from < b.from; });
  return spans;
}

std::vector<Span> gapsBetween(const std::vector<Span>& crossed, double width) {
  std::vector<Span> gaps;
  double begin = 0;
  for (const Span& span : crossed) {
    if (span.from > begin) gaps.push_back({begin, span.from});
    begin = std::max(begin, span.to);
  }
  gaps.push_back({begin, width});
  return gaps;
}

bool fit(LocalLayout& layout, const std::vector<Span>& gaps, double width) {
  std::vector<size_t> order{0, gaps.size() - 1};
  for (size_t i = 1; i + 1 < gaps.size(); ++i) order.push_back(i);
  for (const size_t i : order) {
    if (gaps[i].to - gaps[i].from < width + 2 * kTitleGap) continue;
    const bool atRightEnd = i + 1 == gaps.size() && i > 0;
    layout.titleX = atRightEnd ? layout.size.width() - kTitleGap - width : gaps[i].from + kTitleGap;
    return true;
  }
  return false;
}

}  // namespace

bool fitTitle(LocalLayout& layout, double fullWidth, double nameWidth) {
  const std::vector<Span> gaps = gapsBetween(crossings(layout), layout.size.width());
  layout.titleShort = false;
  if (fit(layout, gaps, fullWidth)) return true;
  layout.titleShort = true;
  return fit(layout, gaps, nameWidth);
}

void widenForTitle(LocalLayout& layout, double nameWidth) {
  double begin = 0;
  for (const Span& span : crossings(layout)) begin = std::max(begin, span.to);
  const double width = std::max(layout.size.width(), begin + nameWidth + 2 * kTitleGap);
  layout.titleShort = true;
  layout.size.setWidth(2 * std::ceil(width / 2));  // even: its center is on a whole pixel
  layout.titleX = layout.size.width() - kTitleGap - nameWidth;
}

}  // namespace normlens::layout

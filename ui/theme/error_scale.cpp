#include "ui/theme/error_scale.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace normlens::ui {

namespace {

constexpr std::array<QRgb, 9> kStops = {0xff00224e, 0xff123570, 0xff3b496c, 0xff575d6d, 0xff707173,
                                        0xff8a8678, 0xffa59c74, 0xffc3b369, 0xfffee838};

int mixed(int a, int b, double share) { return static_cast<int>(std::lround(a + (b - a) * share)); }

}  // namespace

double errorShare(double error) {
  if (std::isnan(error) || error >= 1) return 1;
  if (error <= 0) return 0;
  return std::clamp(1 + std::log10(error) / kErrorDecades, 0.0, 1.0);
}

QColor shareColor(double share, const Theme& theme) {
  const double place = std::clamp(theme.dark ? share : 1 - share, 0.0, 1.0) * (kStops.size() - 1);
  const auto stop = std::min(static_cast<size_t>(place), kStops.size() - 2);
  const QColor a(kStops[stop]), b(kStops[stop + 1]);
  const double between = place - static_cast<double>(stop);
  return {mixed(a.red(), b.red(), between), mixed(a.green(), b.green(), between), mixed(a.blue(), b.blue(), between)};
}

QColor floorColor(const Theme& theme) { return theme.dark ? QColor(0x2A4A40) : QColor(0xCFE9E0); }

QColor errorColor(double error, const Theme& theme) { return shareColor(errorShare(error), theme); }

}  // namespace normlens::ui

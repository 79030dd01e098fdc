// The colours of errors, on a logarithmic scale from 1e-16 to 1: lightness grows or falls evenly and no step needs red
// or green to be told apart, so that they are readable with any kind of colour vision. Small errors are near the ground
// colour of the theme. (Stops after the cividis map of Nuñez, Anderton and Renslow, 2018.)
#pragma once

#include <QColor>

#include "ui/theme/theme.h"

namespace normlens::ui {

inline constexpr int kErrorDecades = 16;  // the scale begins at 10^-16

// 0 to 1: where an error lies on the scale. Exactly zero and what is below the scale: 0; above, infinite, NaN: 1.
[[nodiscard]] double errorShare(double error);
[[nodiscard]] QColor errorColor(double error, const Theme& theme);
// Of an error that rounding alone explains: calm, off the scale.
[[nodiscard]] QColor floorColor(const Theme& theme);
[[nodiscard]] QColor shareColor(double share, const Theme& theme);

}  // namespace normlens::ui

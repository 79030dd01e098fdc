// The colors of errors, on a logarithmic scale from 1e-16 to 1: lightness rises or drops evenly and no step needs red
// or green to be distinguished, so that any kind of color vision can read them. Small errors are near the ground color
// of the theme. (Stops after the cividis map of Nuñez, Anderton and Renslow, 2018.)
#pragma once

#include <QColor>

#include "ui/theme/theme.h"

namespace normlens::ui {

inline constexpr int kErrorDecades = 16;  // the scale begins at 10^-16

// 0 to 1: where an error lies on the scale. Exactly zero and what is below the scale: 0; above, infinite, NaN: 1.
[[nodiscard]] double errorShare(double error);
[[nodiscard]] QColor errorColor(double error, const Theme& theme);
// Returns the color of an error that rounding alone explains: calm, off the scale.
[[nodiscard]] QColor floorColor(const Theme& theme);
[[nodiscard]] QColor shareColor(double share, const Theme& theme);

}  // namespace normlens::ui

// The application's style sheet: resources/style/normlens.qss with a theme's colours put in.
#pragma once

#include <QString>

namespace normlens::ui {

struct Theme;

// Each "@name" of the sheet becomes the theme's colour of that name; sizes of text are taken times `textScale`. Empty
// if the resource is not linked in.
[[nodiscard]] QString styleSheetFor(const Theme& theme, double textScale = 1);

}  // namespace normlens::ui

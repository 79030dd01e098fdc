// The norms' formulas and the vectors' geometry (core/base/geometry), as the lessons call them.
#pragma once

#include "core/base/geometry/norm_formulas.h"

namespace normlens::ui {

using geometry::Vector;

using geometry::distance;
using geometry::lengthOf;
using geometry::meanOf;

using geometry::layerNormOf;
using geometry::meanPart;
using geometry::rmsNormOf;
using geometry::scaledAndShifted;
using geometry::withoutMean;

using geometry::BatchStatistics;
using geometry::standardized;
using geometry::statisticsOf;

using geometry::compressed;
using geometry::crmsNormOf;
using geometry::reflected;
using geometry::restored;

}  // namespace normlens::ui

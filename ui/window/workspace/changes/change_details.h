// Lists the details of one change: names, shapes and figures on both sides.
#pragma once

#include <QVector>

#include "ui/widgets/property_list.h"
#include "ui/window/workspace/changes/change_table.h"

namespace normlens::ui {

[[nodiscard]] QVector<Property> changeDetails(const ChangeRow& row, const ComparedGraphs& graphs);

}  // namespace normlens::ui

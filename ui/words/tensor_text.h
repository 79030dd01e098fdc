// A tensor's figures in words and numbers: for the inspector's rows and for the clipboard.
#pragma once

#include <QPair>
#include <QString>
#include <QVector>

#include "core/protocol/messages.h"

namespace normlens::ui {

using TensorFact = QPair<QString, QString>;  // name, value

[[nodiscard]] QVector<TensorFact> tensorFacts(const protocol::TensorStats& stats,
                                              const protocol::TensorFigures& figures, int digits);
[[nodiscard]] QString tensorText(const protocol::TensorStats& stats, int digits);
// The absolute value that takes the full color in a heat map: of the cells of the original, so that what the plan
// leaves can be compared with it.
[[nodiscard]] double heatReach(const protocol::TensorStats& stats);

}  // namespace normlens::ui

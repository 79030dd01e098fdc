// Puts a message on a figure's graph while it has no model, or nothing to walk to.
#pragma once

#include <QString>

namespace normlens::graphview {
class GraphView;
}

namespace normlens::ui {

struct OpenModel;

// Returns why a figure has no model yet, or none at all; empty: it has one.
[[nodiscard]] QString missingModel(const OpenModel& model);
// Returns whether the verdict of a LayerNorm is unknown.
[[nodiscard]] bool someUnknown(const OpenModel& model);
// trouble: what else is in the way; empty: nothing.
void showModelState(graphview::GraphView& view, const OpenModel& model, const QString& trouble);

}  // namespace normlens::ui

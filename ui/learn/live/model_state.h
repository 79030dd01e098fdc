// What a figure's graph shows while it has none, or nothing to walk to.
#pragma once

#include <QString>

namespace normlens::graphview {
class GraphView;
}

namespace normlens::ui {

struct OpenModel;

// trouble: what else is in the way; empty: nothing.
void showModelState(graphview::GraphView& view, const OpenModel& model, const QString& trouble);

}  // namespace normlens::ui

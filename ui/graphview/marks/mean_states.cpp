#include "ui/graphview/marks/mean_states.h"

#include <QPen>
#include <algorithm>

#include "ui/graphview/box_style.h"

namespace normlens::graphview {

MeanStates::MeanStates(const Scene& scene, const protocol::ZeroMeanMap& map) {
  if (scene.layout == nullptr) return;
  std::vector<MeanState> values(scene.hierarchy->document->values.size(), MeanState::Unknown);
  const auto put = [&](const std::vector<int>& ids, MeanState state) {
    counts_[static_cast<size_t>(state)] = static_cast<int>(ids.size());
    for (const int id : ids) {
      if (const int index = scene.hierarchy->values.of(id); index >= 0) values[static_cast<size_t>(index)] = state;
    }
  };
  put(map.now, MeanState::Now);
  put(map.planned, MeanState::Planned);
  put(map.not_zero, MeanState::NotZero);
  edges_.assign(scene.layout->edges.size(), MeanState::Unknown);
  for (size_t i = 0; i < edges_.size(); ++i) {
    for (const layout::DataEdge& data : scene.dataOf(static_cast<int>(i))) {
      if (data.value >= 0) edges_[i] = std::max(edges_[i], values[static_cast<size_t>(data.value)]);
    }
  }
}

QColor meanColor(MeanState state, const ui::Theme& theme) {
  switch (state) {
    case MeanState::Now:
      return theme.linearLine;
    case MeanState::Planned:
      return theme.dark ? theme.classes.scalar : mixed(theme.classes.scalar, theme.text, 0.8);
    case MeanState::NotZero:
      return theme.opaqueLine;
    case MeanState::Unknown:
      break;
  }
  return mixed(theme.textFaint, theme.canvas, 0.4);
}

void setMeanDashes(QPen& pen, MeanState state) {
  if (state == MeanState::Planned) pen.setDashPattern({4, 1.6});
  if (state == MeanState::NotZero) pen.setDashPattern({1, 1.2});
}

}  // namespace normlens::graphview

// Marks the edges of a layout by their values: zero-mean now, after the plan, or not.
#pragma once

#include <vector>

#include "core/protocol/messages.h"
#include "ui/graphview/scene.h"
#include "ui/theme/theme.h"

class QPen;

namespace normlens::graphview {

enum class MeanState : uint8_t { Unknown, Now, Planned, NotZero };  // Unknown: no LayerNorm depends on it

class MeanStates {
 public:
  MeanStates() = default;
  MeanStates(const Scene& scene, const protocol::ZeroMeanMap& map);

  [[nodiscard]] bool active() const { return !edges_.empty(); }
  // Returns the state of an edge's value; if it carries several, of the one that is farthest from zero mean.
  [[nodiscard]] MeanState edge(int index) const {
    return active() ? edges_[static_cast<size_t>(index)] : MeanState::Unknown;
  }
  // Counts the values of the model that are in a state.
  [[nodiscard]] int count(MeanState state) const { return counts_[static_cast<size_t>(state)]; }

 private:
  std::vector<MeanState> edges_;
  int counts_[4] = {};
};

[[nodiscard]] QColor meanColor(MeanState state, const ui::Theme& theme);
// Lines show the states without colors: whole, dashed, dotted.
void setMeanDashes(QPen& pen, MeanState state);

}  // namespace normlens::graphview

// Which edges of a layout carry values that are zero-mean now, after the plan, or not.
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
  // Of several values the one that is farthest from zero mean.
  [[nodiscard]] MeanState edge(int index) const {
    return active() ? edges_[static_cast<size_t>(index)] : MeanState::Unknown;
  }
  // How many values of the model are in a state.
  [[nodiscard]] int count(MeanState state) const { return counts_[static_cast<size_t>(state)]; }

 private:
  std::vector<MeanState> edges_;
  int counts_[4] = {};
};

[[nodiscard]] QColor meanColor(MeanState state, const ui::Theme& theme);
// Lines tell the states apart without colours: whole, dashed, dotted.
void setMeanDashes(QPen& pen, MeanState state);

}  // namespace normlens::graphview

// Finds the boxes and edges that a highlighted zero-mean graph lights up, for one layout.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/protocol/messages.h"
#include "ui/graphview/scene.h"

namespace normlens::graphview {

// Names the color that a lit edge takes.
enum class LitEdge : uint8_t { Dark, Stream, Linear, IntoNorm, Blocker, Other };

struct BoxLight {
  bool lit = false;
  char letter = 0;             // An op's or a closed one-op group's.
  bool chosen = false;         // the norm itself
  bool blocker = false;        // the end of the blocker path
  std::map<char, int> inside;  // A closed group's vertices by class.
};

// The lit upper part of a stream edge that is itself dark: as far as where a lit branch leaves it.
struct LitPart {
  int edge = -1;
  QPointF until;
};

class Lighting {
 public:
  Lighting() = default;
  Lighting(const Scene& scene, const protocol::ZeroMeanGraph& graph, const std::vector<int>& blockerPath);

  [[nodiscard]] bool active() const { return active_; }
  // Dark while nothing is lit.
  [[nodiscard]] const BoxLight& box(int index) const { return active_ ? boxes_[static_cast<size_t>(index)] : kDark; }
  [[nodiscard]] LitEdge edge(int index) const { return active_ ? edges_[static_cast<size_t>(index)] : LitEdge::Dark; }
  [[nodiscard]] const std::vector<LitPart>& parts() const { return parts_; }
  [[nodiscard]] int blockerBox() const { return blockerBox_; }
  [[nodiscard]] int chosenBox() const { return chosenBox_; }  // The norm's; -1.
  [[nodiscard]] const std::string& blockerNote() const { return blockerNote_; }
  // Returns the graph's note on the vertex at an item; empty when there is none.
  [[nodiscard]] std::string note(int item) const {
    const auto found = notes_.find(item);
    return found == notes_.end() ? std::string() : found->second;
  }
  [[nodiscard]] QRectF nearBounds() const { return nearBounds_; }  // Bounds the norm, the blocker and their groups.
  [[nodiscard]] QPointF focus() const { return focus_; }           // the norm

 private:
  void lightBoxes(const Scene& scene, const protocol::ZeroMeanGraph& graph);
  void lightPath(const Scene& scene, const std::vector<int>& blockerPath);
  void lightEdges(const Scene& scene, const protocol::ZeroMeanGraph& graph, const std::vector<int>& blockerPath);
  void lightStreamParts(const Scene& scene);
  void measure(const Scene& scene);

  static inline const BoxLight kDark{};

  bool active_ = false;
  std::vector<BoxLight> boxes_;
  std::vector<LitEdge> edges_;
  std::vector<LitPart> parts_;
  std::unordered_map<int, char> letterOfItem_;
  std::unordered_map<int, std::string> notes_;
  int blockerBox_ = -1, chosenBox_ = -1;
  std::string blockerNote_;
  QRectF nearBounds_;
  QPointF focus_;
};

// The closed groups that hide something of a highlight and are worth opening, the ones near the norm first: those
// around the norm and around the blocker path always, others while the whole stays easy to look at.
[[nodiscard]] layout::GroupSet groupsToOpen(const layout::Hierarchy& hierarchy, const layout::GroupSet& open,
                                            const protocol::ZeroMeanGraph& graph, const std::vector<int>& blockerPath);

}  // namespace normlens::graphview

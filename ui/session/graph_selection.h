// Holds what is selected in the graph, and the zero-mean graph of a selected LayerNorm. Thread: GUI thread.
#pragma once

#include <QObject>
#include <optional>

#include "core/protocol/messages.h"

namespace normlens::ui {

class Session;

// At most one of the first three is set. A group may be set next to a norm, which keeps its highlight meanwhile.
struct Selection {
  int norm = -1;  // index of a LayerNorm
  int node = -1;
  int value = -1;  // an edge
  int scope = -1;  // a group whose page is shown
  bool operator==(const Selection&) const = default;
};

class GraphSelection final : public QObject {
  Q_OBJECT

 public:
  explicit GraphSelection(Session* session);  // its owner

  [[nodiscard]] const Selection& current() const { return current_; }
  [[nodiscard]] const std::optional<protocol::ZeroMeanGraph>& zeroMean() const { return zeroMean_; }

  void select(const Selection& selection);
  void selectNorm(int norm) { select({.norm = norm}); }
  void selectNode(int node);  // a node of a norm selects the norm
  void selectValue(int value);
  void selectGroup(int scope);
  void clear() { select({}); }

  // ---- for the session
  void forget();       // another model; emits nothing
  void askZeroMean();  // Asks about the selected norm, where the model is analyzed.

 Q_SIGNALS:
  void changed();
  void zeroMeanChanged();

 private:
  Session* session_;
  Selection current_;
  std::optional<protocol::ZeroMeanGraph> zeroMean_;
};

}  // namespace normlens::ui

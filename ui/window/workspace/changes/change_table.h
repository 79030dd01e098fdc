// Lists the differences between two models, or between two plans of one, a row each: kind, place, largest change or the
// edit. Figures of weights may come later.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/protocol/weight_messages.h"
#include "ui/graphview/compare/change_list.h"
#include "ui/models/record_table.h"

namespace normlens::ui {

// Names the classes that the list can be narrowed to.
enum class ChangeClass : uint8_t { All, RmsNorms, Centered, Shifts, Weights, Ops };
inline constexpr int kChangeClasses = 6;

// The two graphs; the list holds them while it is shown.
struct ComparedGraphs {
  std::shared_ptr<const protocol::GraphDocument> a, b;

  // nullptr for -1. place: in the document's nodes.
  [[nodiscard]] const protocol::GraphNode* nodeA(int place) const { return nodeOf(a, place); }
  [[nodiscard]] const protocol::GraphNode* nodeB(int place) const { return nodeOf(b, place); }

 private:
  static const protocol::GraphNode* nodeOf(const std::shared_ptr<const protocol::GraphDocument>& graph, int place) {
    return place < 0 ? nullptr : &graph->nodes[static_cast<size_t>(place)];
  }
};

struct ChangeRow {
  graphview::Change change;
  int order = 0;          // among all
  QString where;          // name of the weight, the norm or the operator
  QString before, after;  // Name the operators; empty: there is none.
  QChar mark;             // letter of the node's class
  std::vector<std::optional<protocol::WeightChange>>
      figures;  // One for each of change.weights; nullopt: not read, or the same.

  [[nodiscard]] ChangeClass kind() const;
  [[nodiscard]] QString kindWord() const;
  [[nodiscard]] QString title() const;  // "h.0.ln_2: LayerNorm → RMSNorm"
  [[nodiscard]] QString largest() const;
};

class ChangeTable final : public RecordTable<ChangeRow> {
  Q_OBJECT

 public:
  enum Column { Kind, Where, Largest };
  enum Role { MarkRole = kSortRole + 1, ClassRole };  // letter of the mark; a ChangeClass by its number, as text

  // Value ids: of a, of b.
  using Weights = std::pair<int, int>;

  explicit ChangeTable(QObject* parent = nullptr);

  void show(ComparedGraphs graphs, std::vector<graphview::Change> changes);
  [[nodiscard]] const ComparedGraphs& graphs() const { return graphs_; }
  [[nodiscard]] std::vector<Weights> differingWeights() const;
  // changes: of `weights`, one after another.
  void setFigures(const std::vector<Weights>& weights, const std::vector<protocol::WeightChange>& changes);

  [[nodiscard]] std::array<int, kChangeClasses> counts() const;  // by ChangeClass
  [[nodiscard]] QString summary() const;                         // "9 LayerNorm → RMSNorm · 16 centered · ..."

 private:
  ComparedGraphs graphs_;
};

}  // namespace normlens::ui

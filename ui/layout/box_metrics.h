// Sizes of boxes in pixels at zoom 1, measured with the fonts that the view paints with.
#pragma once

#include <QFont>
#include <QHash>
#include <QSizeF>
#include <QString>

#include "ui/layout/hierarchy.h"

namespace normlens::layout {

inline constexpr double kNodeHeight = 24;
inline constexpr double kStreamNodeHeight = 28;
inline constexpr double kSumDiameter = 26;  // residual adds
inline constexpr double kCardHeight = 44;   // a closed group
inline constexpr double kBadgeRoom = 24;    // on either side of a node's label: class badge, expand badge
inline constexpr double kTitleBand = 26;    // An open group has it.
inline constexpr double kMaxLabel = 210;    // longer labels are elided

enum class BoxKind : uint8_t { Op, Sum, Terminal, Slim, Card, Frame };

// Returns the kind of box that an item is drawn as while it is closed.
[[nodiscard]] BoxKind closedKind(const Hierarchy& hierarchy, int index);

// "22 ops · 7.1M parameters"
[[nodiscard]] QString opSummary(const Item& item);
// "2 LayerNorms"; empty when there is none.
[[nodiscard]] QString normSummary(const Item& item);
// "7.1M", "540"
[[nodiscard]] QString shortCount(int64_t count);
// The class without its module path: "GPT2Block"
[[nodiscard]] QString shortType(const Item& item);

// Thread: one at a time (it remembers what it measured).
class BoxMetrics {
 public:
  [[nodiscard]] QSizeF closedSize(const Hierarchy& hierarchy, int index);
  // Width that an open group needs for its title: the - badge, the name and, withType, the class.
  [[nodiscard]] double titleWidth(const Hierarchy& hierarchy, int index, bool withType);

 private:
  double textWidth(const QString& text, int pixels, bool bold);
  QHash<QString, double> known_;
};

// The font of the view's labels: Inter where installed, else the application's.
[[nodiscard]] QFont labelFont(int pixels, bool bold);

}  // namespace normlens::layout

#include "ui/graphview/find_nodes.h"

#include <algorithm>

namespace normlens::graphview {

std::vector<int> findNodes(const layout::Hierarchy& hierarchy, const QString& text) {
  const QString wanted = text.trimmed().toLower();
  if (wanted.isEmpty()) return {};
  std::vector<std::pair<int, int>> ranked;  // rank, item
  for (size_t i = 0; i < hierarchy.items.size(); ++i) {
    const layout::Item& item = hierarchy.items[i];
    if (item.kind != layout::ItemKind::Op) continue;
    const QString title = QString::fromStdString(item.title).toLower();
    const QString path = QString::fromStdString(hierarchy.path(static_cast<int>(i))).toLower();
    const auto& node = hierarchy.document->nodes[static_cast<size_t>(item.node)];
    int rank = -1;
    if (title == wanted || path == wanted)
      rank = 0;
    else if (path.endsWith(wanted))
      rank = 1;
    else if (title.startsWith(wanted))
      rank = 2;
    else if (path.contains(wanted))
      rank = 3;
    else if (QString::fromStdString(node.op + " " + item.type).toLower().contains(wanted))
      rank = 4;
    if (rank >= 0) ranked.emplace_back(rank, static_cast<int>(i));
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<int> nodes;
  for (const auto& [rank, item] : ranked) {
    nodes.push_back(hierarchy.document->nodes[static_cast<size_t>(hierarchy.item(item).node)].id);
  }
  return nodes;
}

}  // namespace normlens::graphview

#include "ui/graphview/hit_text.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <map>

#include "ui/graphview/paint/graph_painter.h"

namespace normlens::graphview {
namespace {

QString tr(const char* words, int n = -1) { return QCoreApplication::translate("HitText", words, nullptr, n); }

QString escaped(const std::string& text) { return QString::fromStdString(text).toHtmlEscaped(); }

// "12 MatMul, 6 Add, …": what a group is made of, the most frequent first.
QString opCounts(const layout::Hierarchy& hierarchy, int group) {
  constexpr size_t kMost = 6;
  std::map<std::string, int> counts;
  std::vector<int> open{group};
  while (!open.empty()) {
    const layout::Item& item = hierarchy.item(open.back());
    open.pop_back();
    open.insert(open.end(), item.children.begin(), item.children.end());
    if (item.kind != layout::ItemKind::Op || item.ops == 0) continue;
    const auto& node = hierarchy.document->nodes[static_cast<size_t>(item.node)];
    ++counts[node.label.empty() ? node.op : node.label];
  }
  std::vector<std::pair<int, std::string>> ranked;
  for (const auto& [label, count] : counts) ranked.emplace_back(count, label);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  QStringList words;
  for (size_t i = 0; i < std::min(ranked.size(), kMost); ++i)
    words << QStringLiteral("%1 %2").arg(ranked[i].first).arg(escaped(ranked[i].second));
  if (ranked.size() > kMost) words << QStringLiteral("…");
  return words.isEmpty() ? QString() : QStringLiteral("<br>") + words.join(QStringLiteral(", "));
}

QString verdictWords(const layout::Hierarchy& hierarchy, const NormVerdicts& verdicts, int group) {
  const auto found = verdicts.inGroup.find(group);
  if (found == verdicts.inGroup.end()) {
    const QString norms = layout::normSummary(hierarchy.item(group));
    return norms.isEmpty() ? QString() : QStringLiteral("<br>") + norms;
  }
  const auto of = [&](Verdict verdict) { return found->second[static_cast<size_t>(verdict)]; };
  const int unknown = of(Verdict::Unknown);
  return QStringLiteral("<br>") +
         tr("LayerNorms: %1 free, %2 with centering, %3 blocked")
             .arg(of(Verdict::Free))
             .arg(of(Verdict::Centering))
             .arg(of(Verdict::Blocked)) +
         (unknown > 0 ? tr(", %1 unknown").arg(unknown) : QString());
}

}  // namespace

QString hitText(const Scene& scene, const Hit& hit, const NormVerdicts& verdicts, const Lighting& lighting) {
  const auto& document = *scene.hierarchy->document;
  const auto describe = [&](const protocol::GraphValue& value) { return valueText(value).toHtmlEscaped(); };
  if (hit.edge >= 0) {
    const int index = scene.valueOfEdge(hit.edge);
    if (index < 0) return tr("%n values", scene.edge(hit.edge).dataCount);
    const auto& value = document.values[static_cast<size_t>(index)];
    // By what makes it: values of TorchScript are named x.1 or 9.
    const std::string maker = scene.hierarchy->path(scene.dataOf(hit.edge).front().from);
    const QString name = maker == value.name ? QString() : QStringLiteral("<br>") + escaped(value.name);
    return QStringLiteral("<b>%1</b><br>%2%3").arg(escaped(maker), describe(value), name);
  }
  if (hit.box < 0) return {};
  const int index = scene.box(hit.box).item;
  const layout::Item& item = scene.hierarchy->item(index);
  QString text = QStringLiteral("<b>%1</b>").arg(escaped(scene.hierarchy->path(index)));
  if (item.kind == layout::ItemKind::Group) {
    if (!item.type.empty()) text += QStringLiteral("<br>") + escaped(item.type);
    text += QStringLiteral("<br>") + layout::opSummary(item);
    text += opCounts(*scene.hierarchy, index) + verdictWords(*scene.hierarchy, verdicts, index);
  } else {
    const auto& node = document.nodes[static_cast<size_t>(item.node)];
    text += QStringLiteral("<br>") + escaped(node.op);
    if (item.type != node.op && !item.type.empty()) text += QStringLiteral(" · ") + escaped(item.type);
    if (const int value = scene.hierarchy->values.of(scene.hierarchy->outputOf(index)); value >= 0) {
      const QString shape = describe(document.values[static_cast<size_t>(value)]);
      if (!shape.isEmpty()) text += QStringLiteral("<br>") + shape;
    }
  }
  if (const std::string note = lighting.note(index); !note.empty()) text += QStringLiteral("<br>") + escaped(note);
  return text;
}

}  // namespace normlens::graphview

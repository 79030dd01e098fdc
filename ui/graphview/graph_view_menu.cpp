// GraphView: the context menu and the texts of tooltips.
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QMenu>
#include <QMetaMethod>
#include <algorithm>
#include <map>

#include "ui/graphview/graph_view.h"
#include "ui/graphview/overlays/shortcut_sheet.h"

namespace normlens::graphview {
namespace {

QString escaped(const std::string& text) { return QString::fromStdString(text).toHtmlEscaped(); }

}  // namespace

int GraphView::outputValueOf(int item) const {
  const int node = shown_.scene.hierarchy->item(item).node;
  if (node < 0) return -1;
  const auto& outputs = shown_.scene.hierarchy->document->nodes[static_cast<size_t>(node)].outputs;
  return outputs.empty() ? -1 : outputs.front();
}

void GraphView::contextMenuEvent(QContextMenuEvent* event) {
  if (shown_.scene.empty()) return;
  if (event->reason() == QContextMenuEvent::Mouse) {
    const Hit hit = hitAt(event->pos());
    if (hit.box >= 0 || hit.edge >= 0) selectByUser(hit);
    showMenu(hit, event->globalPos());
  } else if (shown_.selectedItem >= 0) {
    const int box = shown_.scene.layout->shownBox(*shown_.scene.hierarchy, shown_.selectedItem);
    const QRectF rect = camera_.toScreen(shown_.scene.layout->boxes[static_cast<size_t>(box)].rect);
    showMenu({box, -1, false}, mapToGlobal(rect.center().toPoint()));
  }
}

void GraphView::showMenu(const Hit& hit, const QPoint& globalPosition) {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const int item = hit.box < 0 ? -1 : shown_.scene.layout->boxes[static_cast<size_t>(hit.box)].item;
  const bool group = item >= 0 && shown_.scene.hierarchy->item(item).kind == layout::ItemKind::Group;
  int value = item >= 0 ? outputValueOf(item) : -1;
  QString name = item >= 0 ? QString::fromStdString(shown_.scene.hierarchy->path(item)) : QString();
  if (hit.edge >= 0 && shown_.scene.valueOfEdge(hit.edge) >= 0) {
    const auto& v = shown_.scene.hierarchy->document->values[static_cast<size_t>(shown_.scene.valueOfEdge(hit.edge))];
    value = v.id;
    name = QString::fromStdString(v.name);
  }
  if (value >= 0) {
    QAction* center = menu->addAction(tr("Center here"), this, [this, value] { Q_EMIT centerHereRequested(value); });
    center->setToolTip(tr("Subtract the mean at run time at this place"));
  }
  // A graph beside another one has nobody to ask.
  if (value >= 0 && isSignalConnected(QMetaMethod::fromSignal(&GraphView::compareHereRequested))) {
    QAction* compare =
        menu->addAction(tr("Compare values here"), this, [this, value] { Q_EMIT compareHereRequested(value); });
    compare->setToolTip(tr("Add this value to the differences between the two models"));
  }
  if (item >= 0 && shown_.scene.hierarchy->item(item).role == 'L' && shown_.scene.hierarchy->item(item).node >= 0) {
    const int node =
        shown_.scene.hierarchy->document->nodes[static_cast<size_t>(shown_.scene.hierarchy->item(item).node)].id;
    QAction* cone =
        menu->addAction(tr("Show what its centering reaches"), this, [this, node] { Q_EMIT shiftConeRequested(node); });
    cone->setToolTip(
        tr("Light up the values that shift when the plan centers its weights, as far as anything notices"));
  }
  if (!name.isEmpty()) menu->addAction(tr("Copy name"), this, [name] { QApplication::clipboard()->setText(name); });
  if (group) {
    const bool open = shown_.scene.layout->boxes[static_cast<size_t>(hit.box)].kind == layout::BoxKind::Frame;
    // Another hierarchy may be on screen before the menu is answered.
    const auto itemNow = [this, item, of = shown_.scene.hierarchy] {
      return shown_.scene.hierarchy == nullptr ? -1 : counterpart(item, *of, *shown_.scene.hierarchy);
    };
    menu->addSeparator();
    menu->addAction(open ? tr("Collapse") : tr("Expand"), this, [this, itemNow] { toggle(itemNow()); });
    menu->addAction(tr("Expand all below"), this, [this, itemNow] {
      const int now = itemNow();
      anchorAt(now);
      setOpen(now, true, true);
      requestLayout();
    });
  }
  if (item < 0) {
    menu->addAction(tr("Show everything"), this, &GraphView::fit);
    menu->addAction(tr("Expand all"), this, &GraphView::expandAll);
    menu->addAction(tr("Collapse all"), this, &GraphView::collapseAll);
    menu->addAction(tr("Groups as at first"), this, &GraphView::resetGroups);
    menu->addAction(tr("Keys and gestures"), this, [this] { shortcuts_->toggle(); });
  }
  menu->popup(globalPosition);
}

// "12 MatMul, 6 Add, …": what a group is made of, the most frequent first.
QString GraphView::opCounts(int group) const {
  constexpr size_t kMost = 6;
  std::map<std::string, int> counts;
  std::vector<int> open{group};
  while (!open.empty()) {
    const layout::Item& item = shown_.scene.hierarchy->item(open.back());
    open.pop_back();
    open.insert(open.end(), item.children.begin(), item.children.end());
    if (item.kind != layout::ItemKind::Op || item.ops == 0) continue;
    const auto& node = shown_.scene.hierarchy->document->nodes[static_cast<size_t>(item.node)];
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

QString GraphView::verdictWords(int group) const {
  const auto found = verdictCounts_.find(group);
  if (found == verdictCounts_.end()) {
    const QString norms = layout::normSummary(shown_.scene.hierarchy->item(group));
    return norms.isEmpty() ? QString() : QStringLiteral("<br>") + norms;
  }
  const auto of = [&](Verdict verdict) { return found->second[static_cast<size_t>(verdict)]; };
  return QStringLiteral("<br>") + tr("LayerNorms: %1 free, %2 with centering, %3 blocked")
                                      .arg(of(Verdict::Free))
                                      .arg(of(Verdict::Centering))
                                      .arg(of(Verdict::Blocked));
}

QString GraphView::tooltipFor(const Hit& hit) const {
  const auto& document = *shown_.scene.hierarchy->document;
  const auto describe = [&](const protocol::GraphValue& value) { return valueText(value).toHtmlEscaped(); };
  if (hit.edge >= 0) {
    const int index = shown_.scene.valueOfEdge(hit.edge);
    if (index < 0) return tr("%n values", nullptr, shown_.scene.layout->edges[static_cast<size_t>(hit.edge)].dataCount);
    const auto& value = document.values[static_cast<size_t>(index)];
    return QStringLiteral("<b>%1</b><br>%2").arg(escaped(value.name), describe(value));
  }
  if (hit.box < 0) return {};
  const int index = shown_.scene.layout->boxes[static_cast<size_t>(hit.box)].item;
  const layout::Item& item = shown_.scene.hierarchy->item(index);
  QString text = QStringLiteral("<b>%1</b>").arg(escaped(shown_.scene.hierarchy->path(index)));
  if (item.kind == layout::ItemKind::Group) {
    if (!item.type.empty()) text += QStringLiteral("<br>") + escaped(item.type);
    text += QStringLiteral("<br>") + layout::opSummary(item);
    text += opCounts(index) + verdictWords(index);
  } else {
    const auto& node = document.nodes[static_cast<size_t>(item.node)];
    text += QStringLiteral("<br>") + escaped(node.op);
    if (item.type != node.op && !item.type.empty()) text += QStringLiteral(" · ") + escaped(item.type);
    if (const int value = shown_.scene.hierarchy->valueIndex(outputValueOf(index)); value >= 0) {
      const QString shape = describe(document.values[static_cast<size_t>(value)]);
      if (!shape.isEmpty()) text += QStringLiteral("<br>") + shape;
    }
  }
  if (const std::string note = lighting_.note(index); !note.empty()) text += QStringLiteral("<br>") + escaped(note);
  return text;
}

}  // namespace normlens::graphview

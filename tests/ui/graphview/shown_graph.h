// A graph view on the offscreen screen, with what tests of it ask again and again.
#pragma once

#include <QApplication>
#include <QTest>
#include <memory>
#include <string>

#include "tests/support/graph_documents.h"
#include "tests/support/wait_for_layout.h"
#include "ui/graphview/graph_view.h"

namespace normlens::test {

// Where an item is on the screen, and so a node or a group by its id; empty when it is not laid out.
inline QRectF screenRectOfItem(const graphview::GraphView& view, int item) {
  const int box = view.scene().boxOf(item);
  return box < 0 ? QRectF() : view.camera().toScreen(view.scene().box(box).rect);
}
inline QRectF screenRectOf(const graphview::GraphView& view, int node) {
  return screenRectOfItem(view, view.scene().hierarchy->itemOfId(node));
}
inline QRectF screenRectOfScope(const graphview::GraphView& view, int scope) {
  return screenRectOfItem(view, view.scene().hierarchy->itemOfScope(scope));
}

struct ShownGraph {
  graphview::GraphView view;
  std::shared_ptr<const protocol::GraphDocument> document;

  explicit ShownGraph(std::shared_ptr<const protocol::GraphDocument> shown) : document(std::move(shown)) {
    view.setAnimated(false);
    view.resize(1400, 900);
    view.setDocument(document);
    view.show();
    settle();
    view.setFocus();
  }

  void settle() { QVERIFY(waitForLayout(view, 10000)); }

  [[nodiscard]] int scopeOf(const std::string& path) const {
    for (const auto& scope : document->scopes) {
      if (scope.path == path) return scope.id;
    }
    return -1;
  }
  [[nodiscard]] int nodeIn(const std::string& path, const std::string& label) const {
    const int scope = scopeOf(path);
    for (const auto& node : document->nodes) {
      if (node.scope == scope && node.label == label) return node.id;
    }
    return -1;
  }
  void open(const std::string& path) {
    view.setScopesOpen({{scopeOf(path), true}});
    settle();
    view.revealScope(scopeOf(path));
    settle();
  }
  void click(const QRectF& rect) { QTest::mouseClick(&view, Qt::LeftButton, {}, rect.center().toPoint()); }
};

}  // namespace normlens::test

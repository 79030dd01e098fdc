// A graph view on the offscreen screen, with what tests of it ask again and again.
#pragma once

#include <QApplication>
#include <QTest>
#include <memory>
#include <string>

#include "tests/support/graph_documents.h"
#include "ui/graphview/graph_view.h"

namespace normlens::test {

struct ShownGraph {
  graphview::GraphView view;
  std::shared_ptr<const protocol::GraphDocument> document;

  explicit ShownGraph(std::shared_ptr<const protocol::GraphDocument> shown) : document(std::move(shown)) {
    view.setAnimated(false);
    view.setTheme(ui::lightTheme());
    view.resize(1400, 900);
    view.setDocument(document);
    view.show();
    settle();
    view.setFocus();
  }

  void settle() { QVERIFY(view.waitForLayout(10000)); }

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
    view.expandScope(scopeOf(path));
    settle();
    view.revealScope(scopeOf(path));
    settle();
  }
  void click(const QRectF& rect) { QTest::mouseClick(&view, Qt::LeftButton, {}, rect.center().toPoint()); }
};

}  // namespace normlens::test

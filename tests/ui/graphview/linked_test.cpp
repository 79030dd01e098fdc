// Two graphs that go together: the same groups stand open in both.
#include <QTest>
#include <algorithm>

#include "tests/ui/graphview/shown_graph.h"
#include "ui/graphview/linked_views.h"

namespace normlens::graphview {

using test::gpt2Document;
using test::ShownGraph;

class LinkedTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void groupsOpenAndCloseInBoth() {
    ShownGraph a(gpt2Document()), b(gpt2Document());
    const LinkedViews links(&a.view, &b.view, nullptr);
    const auto& scopes = a.document->scopes;
    const auto openIn = [&](const GraphView& view) {
      return std::ranges::count_if(scopes, [&](const auto& scope) { return view.isScopeOpen(scope.id); });
    };
    const auto same = [&] {
      return a.view.isLaidOut() && b.view.isLaidOut() && std::ranges::all_of(scopes, [&](const auto& scope) {
               return a.view.isScopeOpen(scope.id) == b.view.isScopeOpen(scope.id);
             });
    };
    a.view.setScopesOpen({{a.scopeOf("transformer.h.3.attn"), true}});
    QTRY_VERIFY(b.view.isScopeOpen(b.scopeOf("transformer.h.3.attn")));
    QTRY_VERIFY(same());
    b.view.expandAll();
    QTRY_VERIFY(openIn(a.view) > 24);
    QTRY_VERIFY(same());
    a.view.expandToDepth(1);
    QTRY_COMPARE(openIn(b.view), 2);  // the model and the transformer
    QTRY_VERIFY(same());
  }

  void aContainerThatIsNotDrawnIsItsFirstBlock() {
    ShownGraph graph(gpt2Document());
    const QRectF block = test::screenRectOfScope(graph.view, graph.scopeOf("transformer.h.0"));
    QVERIFY(!block.isEmpty());
    QCOMPARE(test::screenRectOfScope(graph.view, graph.scopeOf("transformer.h")), block);
    QVERIFY(test::screenRectOfScope(graph.view, 9999).isEmpty());
    QVERIFY(test::screenRectOfScope(graph.view, -1).isEmpty());
  }
};

}  // namespace normlens::graphview

QTEST_MAIN(normlens::graphview::LinkedTest)
#include "linked_test.moc"

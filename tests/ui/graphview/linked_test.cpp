// Two graphs that go together: the same groups stand open in both, and that is cheap in large models.
#include <QElapsedTimer>
#include <QTest>
#include <algorithm>

#include "tests/ui/graphview/shown_graph.h"
#include "ui/graphview/linked_views.h"

namespace normlens::graphview {

using test::gpt2Document;
using test::ShownGraph;

namespace {

// What a user takes for at once, and ten times that where a sanitizer slows everything down.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr qint64 kAtOnceMs = 10000;
#else
constexpr qint64 kAtOnceMs = 1000;
#endif

// Modules that leave no op behind, as dropouts do when a model is traced, beside a long chain of ops.
std::shared_ptr<const protocol::GraphDocument> manyEmptyModules(int modules, int ops) {
  test::DocumentBuilder b;
  for (int i = 0; i < modules; ++i) b.scope(0, "drop_" + std::to_string(i), "Dropout");
  int x = b.op(0, "input", "I", {}, {8});
  for (int i = 0; i < ops; ++i) x = b.op(0, "relu", "O", {x}, {8});
  return b.take();
}

}  // namespace

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
    a.view.expandScope(a.scopeOf("transformer.h.3.attn"));
    QTRY_VERIFY(b.view.isScopeOpen(b.scopeOf("transformer.h.3.attn")));
    QTRY_VERIFY(same());
    b.view.expandAll();
    QTRY_VERIFY(openIn(a.view) > 24);
    QTRY_VERIFY(same());
    a.view.expandToDepth(1);
    QTRY_COMPARE(openIn(b.view), 2);  // the model and the transformer
    QTRY_VERIFY(same());
  }

  void largeModelsAreComparedAtOnce() {
    const auto document = manyEmptyModules(6000, 10000);
    ShownGraph a(document), b(document);
    LinkedViews links(&a.view, &b.view, nullptr);
    QElapsedTimer timer;
    timer.start();
    links.setLinked(true);
    qInfo("6,000 modules, 10,000 nodes: %lld ms", timer.elapsed());
    QVERIFY(timer.elapsed() < kAtOnceMs);
  }

  void aContainerThatIsNotDrawnIsItsFirstBlock() {
    ShownGraph graph(gpt2Document());
    const QRectF block = graph.view.screenRectOfScope(graph.scopeOf("transformer.h.0"));
    QVERIFY(!block.isEmpty());
    QCOMPARE(graph.view.screenRectOfScope(graph.scopeOf("transformer.h")), block);
    QVERIFY(graph.view.screenRectOfScope(9999).isEmpty());
    QVERIFY(graph.view.screenRectOfScope(-1).isEmpty());
  }
};

}  // namespace normlens::graphview

QTEST_MAIN(normlens::graphview::LinkedTest)
#include "linked_test.moc"

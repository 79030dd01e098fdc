// A graph that stays on screen while its hierarchy is made anew: it can be used, and what was done to it is kept.
#include <QContextMenuEvent>
#include <QElapsedTimer>
#include <QHelpEvent>
#include <QMenu>
#include <QTest>
#include <algorithm>

#include "tests/ui/graphview/shown_graph.h"

namespace normlens::graphview {

using test::gpt2Document;
using test::ShownGraph;

namespace {

constexpr layout::HierarchyOptions kWithHelpers{.showHelpers = true, .foldRepeats = false};

// As after a probe that finds no residual stream.
std::shared_ptr<const protocol::GraphDocument> withoutStreams(const protocol::GraphDocument& document) {
  auto streamless = std::make_shared<protocol::GraphDocument>(document);
  for (auto& value : streamless->values) value.stream = false;
  return streamless;
}

QMenu* menuAt(GraphView& view, const QPoint& at) {
  QContextMenuEvent event(QContextMenuEvent::Mouse, at, view.mapToGlobal(at));
  QApplication::sendEvent(&view, &event);
  return view.findChild<QMenu*>();
}

}  // namespace

class RebuildTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void theGraphCanBeUsedMeanwhile() {
    ShownGraph graph(gpt2Document());
    graph.open("transformer.h.3");
    const int norm = graph.nodeIn("transformer.h.3.ln_1", "layer_norm");
    graph.view.updateDocument(withoutStreams(*graph.document));
    QVERIFY(!graph.view.isLaidOut());

    const QRectF rect = test::screenRectOf(graph.view, norm);
    graph.click(rect);
    QCOMPARE(graph.view.selectedNode(), norm);
    const QPoint middle = rect.center().toPoint();
    QHelpEvent help(QEvent::ToolTip, middle, graph.view.mapToGlobal(middle));
    QApplication::sendEvent(&graph.view, &help);
    QTest::keyClick(&graph.view, Qt::Key_Down);
    QVERIFY(graph.view.selectedNode() != norm);
    QVERIFY(graph.view.canGoBack());
    QTest::keyClick(&graph.view, Qt::Key_Left, Qt::AltModifier);
    graph.view.grab();
    QVERIFY(!graph.view.isLaidOut());
    QMenu* menu = menuAt(graph.view, test::screenRectOf(graph.view, norm).center().toPoint());
    QVERIFY(menu != nullptr);
    menu->close();
    QCOMPARE(graph.view.selectedNode(), norm);

    graph.settle();
    QCOMPARE(graph.view.selectedNode(), norm);
    QVERIFY(graph.view.isScopeOpen(graph.scopeOf("transformer.h.3")));
  }

  void whatIsOpenedMeanwhileIsOpenAfterwards() {
    ShownGraph graph(gpt2Document());
    graph.view.setOptions(kWithHelpers);
    const int block = graph.scopeOf("transformer.h.3");
    QTest::mouseDClick(&graph.view, Qt::LeftButton, {}, test::screenRectOfScope(graph.view, block).center().toPoint());
    graph.settle();
    QVERIFY(graph.view.isScopeOpen(block));
    QVERIFY(!graph.view.isScopeOpen(graph.scopeOf("transformer.h.2")));
  }

  void theSelectionStandsThroughout() {
    ShownGraph graph(gpt2Document());
    graph.open("transformer.h.3");  // which takes a second layout after the usual groups
    const int norm = graph.nodeIn("transformer.ln_f", "layer_norm");
    graph.view.selectNode(norm);
    const int before = graph.view.scene().hierarchy->itemOfId(norm);
    graph.view.setOptions(kWithHelpers);
    QElapsedTimer timer;
    timer.start();
    while (!graph.view.isLaidOut() && timer.elapsed() < 10000) {
      QCOMPARE(graph.view.selectedNode(), norm);
      graph.view.grab();
      QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 20);
    }
    QVERIFY(graph.view.isLaidOut());
    QCOMPARE(graph.view.selectedNode(), norm);
    QVERIFY(graph.view.scene().hierarchy->itemOfId(norm) != before);
    QVERIFY(graph.view.isScopeOpen(graph.scopeOf("transformer.h.3")));
  }

  void aNodeThatOnlyTheNextHierarchyHasIsRevealed() {
    ShownGraph graph(gpt2Document());
    const int helper = graph.nodeIn("transformer.h.3.attn.c_attn", "size");
    graph.view.setOptions(kWithHelpers);
    graph.view.reveal(helper);
    graph.settle();
    QCOMPARE(graph.view.selectedNode(), helper);
    QVERIFY(graph.view.rect().contains(test::screenRectOf(graph.view, helper).center().toPoint()));
  }

  void aMenuFromBeforeMeansTheSameGroup() {
    ShownGraph graph(gpt2Document());
    const int block = graph.scopeOf("transformer.h.11");
    QMenu* menu = menuAt(graph.view, test::screenRectOfScope(graph.view, block).center().toPoint());
    QVERIFY(menu != nullptr);
    graph.view.setOptions(kWithHelpers);
    graph.settle();
    const auto actions = menu->actions();
    const auto expand = std::find_if(actions.begin(), actions.end(),
                                     [](const QAction* action) { return action->text() == QStringLiteral("Expand"); });
    QVERIFY(expand != actions.end());
    (*expand)->trigger();
    graph.settle();
    QVERIFY(graph.view.isScopeOpen(block));
    menu->close();
  }
};

}  // namespace normlens::graphview

QTEST_MAIN(normlens::graphview::RebuildTest)
#include "rebuild_test.moc"

// The graph view as a user meets it: clicks, keys, the wheel, highlights, states, and what a frame costs.
#include <QApplication>
#include <QElapsedTimer>
#include <QMenu>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>
#include <algorithm>

#include "tests/ui/graphview/shown_graph.h"

namespace normlens::graphview {

// What the window promises, and ten times that where a sanitizer slows everything down.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr qint64 kPromisedMs = 10000;
#else
constexpr qint64 kPromisedMs = 1000;
#endif

using test::bertDocument;
using test::flatDocument;
using test::gpt2Document;
using test::gpt2ZeroMean;
using test::ShownGraph;

class GraphViewTest : public QObject {
  Q_OBJECT

  static QPoint middleOf(const QRectF& rect) { return rect.center().toPoint(); }

  static void wheel(GraphView& view, const QPoint& at, int delta) {
    QWheelEvent event(at, view.mapToGlobal(at), {}, {0, delta}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(&view, &event);
  }

 private Q_SLOTS:
  void emptyBusyAndErrorStatesPaint() {
    GraphView view;
    view.setAnimated(false);
    view.resize(1400, 900);
    view.show();
    const QImage empty = view.grab().toImage();
    view.setBusy("Opening gpt2.pt");
    const QImage busy = view.grab().toImage();
    QVERIFY(busy != empty);
    view.setBusy({});
    view.setError("gpt2.pt is not a model that NormLens can read.");
    QVERIFY(view.grab().toImage() != empty);
    view.setError({});
    QCOMPARE(view.grab().toImage(), empty);
  }

  void aBlockOpensOnDoubleClickAndKeepsItsPlace() {
    ShownGraph graph(gpt2Document());
    const int block = graph.scopeOf("transformer.h.3");
    const QRectF before = test::screenRectOfScope(graph.view, block);
    QVERIFY(graph.view.rect().contains(before.toRect()));
    QVERIFY(!graph.view.isScopeOpen(block));
    QTest::mouseDClick(&graph.view, Qt::LeftButton, {}, middleOf(before));
    graph.settle();
    QVERIFY(graph.view.isScopeOpen(block));
    const QRectF after = test::screenRectOfScope(graph.view, block);
    QVERIFY(std::abs(after.top() - before.top()) < 2);
    QVERIFY(after.height() > before.height());
    // On its title, again.
    QTest::mouseDClick(&graph.view, Qt::LeftButton, {}, (after.bottomRight() - QPointF(8, 8)).toPoint());
    graph.settle();
    QVERIFY(!graph.view.isScopeOpen(block));
  }

  void theBadgeOpensWithOneClick() {
    ShownGraph graph(gpt2Document());
    const QRectF card = test::screenRectOfScope(graph.view, graph.scopeOf("transformer.h.2"));
    const double zoom = graph.view.zoom();
    QTest::mouseClick(&graph.view, Qt::LeftButton, {}, QPointF(card.right() - 21 * zoom, card.center().y()).toPoint());
    graph.settle();
    QVERIFY(graph.view.isScopeOpen(graph.scopeOf("transformer.h.2")));
  }

  void aClickSelects() {
    ShownGraph graph(gpt2Document());
    graph.open("transformer.h.3");
    QSignalSpy nodes(&graph.view, &GraphView::nodeSelected), scopes(&graph.view, &GraphView::scopeSelected);
    const int norm = graph.nodeIn("transformer.h.3.ln_1", "layer_norm");
    graph.click(test::screenRectOf(graph.view, norm));
    QCOMPARE(nodes.count(), 1);
    QCOMPARE(nodes.first().first().toInt(), norm);
    QCOMPARE(graph.view.selectedNode(), norm);
    graph.click(test::screenRectOfScope(graph.view, graph.scopeOf("transformer.h.3.attn")));
    QCOMPARE(scopes.count(), 1);
    QCOMPARE(scopes.first().first().toInt(), graph.scopeOf("transformer.h.3.attn"));
    QTest::mouseClick(&graph.view, Qt::LeftButton, {}, {5, 5});
    QCOMPARE(nodes.last().first().toInt(), -1);
  }

  void anEdgeCanBeSelected() {
    ShownGraph graph(gpt2Document());
    graph.open("transformer.h.3");
    QSignalSpy edges(&graph.view, &GraphView::edgeSelected);
    const int norm = graph.nodeIn("transformer.h.3.ln_1", "layer_norm");
    const QRectF rect = test::screenRectOf(graph.view, norm);
    QTest::mouseClick(&graph.view, Qt::LeftButton, {}, QPointF(rect.center().x(), rect.bottom() + 8).toPoint());
    QCOMPARE(edges.count(), 1);
    QCOMPARE(edges.first().first().toInt(), graph.document->nodes[static_cast<size_t>(norm)].outputs.front());
  }

  void theWheelZoomsAboutTheCursor() {
    ShownGraph graph(gpt2Document());
    const QPoint at(500, 300);
    const QPointF world = graph.view.camera().toWorld(at);
    const QImage before = graph.view.grab().toImage();
    const double zoom = graph.view.zoom();
    wheel(graph.view, at, 240);
    QVERIFY(graph.view.zoom() > zoom * 1.2);
    QVERIFY((graph.view.camera().toScreen(world) - at).manhattanLength() < 1);
    QVERIFY(graph.view.grab().toImage() != before);
  }

  void aDragPans() {
    ShownGraph graph(gpt2Document());
    const QRectF before = test::screenRectOfScope(graph.view, graph.scopeOf("transformer.h.0"));
    QSignalSpy nodes(&graph.view, &GraphView::nodeSelected);
    QTest::mousePress(&graph.view, Qt::LeftButton, {}, {200, 400});
    QTest::mouseMove(&graph.view, {220, 420});
    QTest::mouseMove(&graph.view, {260, 370});
    QTest::mouseRelease(&graph.view, Qt::LeftButton, {}, {260, 370});
    const QRectF after = test::screenRectOfScope(graph.view, graph.scopeOf("transformer.h.0"));
    QVERIFY((after.topLeft() - before.topLeft() - QPointF(60, -30)).manhattanLength() < 2);
    QCOMPARE(nodes.count(), 0);
  }

  void arrowsMoveAndEnterOpens() {
    ShownGraph graph(gpt2Document());
    graph.view.setFocus();
    graph.click(test::screenRectOfScope(graph.view, graph.scopeOf("transformer.h.1")));
    QSignalSpy scopes(&graph.view, &GraphView::scopeSelected);
    QTest::keyClick(&graph.view, Qt::Key_Down);
    QCOMPARE(scopes.count(), 1);
    QCOMPARE(scopes.first().first().toInt(), graph.scopeOf("transformer.h.2"));
    QTest::keyClick(&graph.view, Qt::Key_Return);
    graph.settle();
    QVERIFY(graph.view.isScopeOpen(graph.scopeOf("transformer.h.2")));
    const double zoom = graph.view.zoom();
    QTest::keyClick(&graph.view, Qt::Key_Minus);
    QVERIFY(graph.view.zoom() < zoom);
  }

  void aHighlightOpensLightsAndDims() {
    ShownGraph graph(gpt2Document());
    const int norm = graph.nodeIn("transformer.h.3.ln_2", "layer_norm");
    graph.view.setHighlight(gpt2ZeroMean(*graph.document, 7));
    graph.settle();
    QVERIFY(graph.view.hasHighlight());
    QVERIFY(graph.view.isScopeOpen(graph.scopeOf("transformer.h.3")));
    QVERIFY(graph.view.isScopeOpen(graph.scopeOf("transformer.h.3.attn")));
    QVERIFY(!graph.view.isScopeOpen(graph.scopeOf("transformer.h.3.mlp")));
    const Scene& scene = graph.view.scene();
    const auto lightOf = [&](int node) {
      return graph.view.lighting().box(scene.layout->shownBox(*scene.hierarchy, scene.hierarchy->itemOfId(node)));
    };
    QVERIFY(lightOf(norm).chosen);
    QVERIFY(lightOf(graph.nodeIn("transformer.h.3.attn.c_proj", "addmm")).lit);
    QCOMPARE(lightOf(graph.nodeIn("transformer.h.3.attn.c_proj", "addmm")).letter, 'L');
    QVERIFY(!lightOf(graph.nodeIn("transformer.h.3.attn.c_attn", "addmm")).lit);
    QVERIFY(!lightOf(graph.nodeIn("transformer.h.4.ln_1", "layer_norm")).lit);
    // A closed block that lies on it says what it holds.
    QCOMPARE(lightOf(graph.nodeIn("transformer.h.1", "add")).inside.at('L'), 2);
    // The dimmed box is paler than without the highlight, and the norm is in sight.
    const QRectF dimmed = test::screenRectOf(graph.view, graph.nodeIn("transformer.h.3.attn.c_attn", "addmm"));
    const QPoint probe = (dimmed.topLeft() + QPointF(3, dimmed.height() / 2)).toPoint();
    QVERIFY(graph.view.rect().contains(middleOf(test::screenRectOf(graph.view, norm))));
    const QColor pale = graph.view.grab().toImage().pixelColor(probe);
    graph.view.clearHighlight();
    QVERIFY(!graph.view.hasHighlight());
    const QColor full = graph.view.grab().toImage().pixelColor(probe);
    QVERIFY2(pale.lightness() > full.lightness() + 20, qPrintable(pale.name() + " " + full.name()));
  }

  void aHighlightAskedForBeforeTheLayoutComesWithIt() {
    ShownGraph graph(bertDocument(2));
    graph.document = gpt2Document();
    graph.view.setDocument(graph.document);
    graph.view.setHighlight(gpt2ZeroMean(*graph.document, 7));
    graph.settle();
    QVERIFY(graph.view.isScopeOpen(graph.scopeOf("transformer.h.3")));
  }

  void revealOpensTheGroupsAround() {
    ShownGraph graph(gpt2Document());
    const int node = graph.nodeIn("transformer.h.9.mlp.c_fc", "addmm");
    graph.view.reveal(node);
    graph.settle();
    QVERIFY(graph.view.isScopeOpen(graph.scopeOf("transformer.h.9.mlp")));
    QCOMPARE(graph.view.selectedNode(), node);
    QVERIFY(graph.view.rect().contains(middleOf(test::screenRectOf(graph.view, node))));
  }

  void shapesThatArriveLaterKeepTheView() {
    ShownGraph graph(gpt2Document());
    graph.open("transformer.h.3");
    const Camera before = graph.view.camera();
    auto shaped = std::make_shared<protocol::GraphDocument>(*graph.document);
    for (auto& value : shaped->values) {
      if (!value.shape.empty()) value.shape[0] = 8;
    }
    graph.view.updateDocument(shaped);
    graph.settle();
    QCOMPARE(graph.view.camera().offset, before.offset);
    QVERIFY(graph.view.isScopeOpen(graph.scopeOf("transformer.h.3")));
    auto streamless = std::make_shared<protocol::GraphDocument>(*shaped);
    for (auto& value : streamless->values) value.stream = false;
    graph.view.updateDocument(streamless);
    graph.settle();
    QVERIFY(graph.view.isScopeOpen(graph.scopeOf("transformer.h.3")));
  }

  void theMenuOffersCenterHere() {
    ShownGraph graph(gpt2Document());
    graph.open("transformer.h.3");
    QSignalSpy center(&graph.view, &GraphView::centerHereRequested);
    const int norm = graph.nodeIn("transformer.h.3.ln_1", "layer_norm");
    const QPoint at = middleOf(test::screenRectOf(graph.view, norm));
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, graph.view.mapToGlobal(at));
    QApplication::sendEvent(&graph.view, &event);
    auto* menu = graph.view.findChild<QMenu*>();
    QVERIFY(menu != nullptr);
    QVERIFY(menu->actions().size() >= 2);
    menu->actions().front()->trigger();
    QCOMPARE(center.count(), 1);
    QCOMPARE(center.first().first().toInt(), graph.document->nodes[static_cast<size_t>(norm)].outputs.front());
    menu->close();
  }

  void theMenuOffersToCompareWhereSomeoneDoesIt() {
    ShownGraph graph(gpt2Document());
    graph.open("transformer.h.3");
    const QPoint at = middleOf(test::screenRectOf(graph.view, graph.nodeIn("transformer.h.3.ln_1", "layer_norm")));
    const auto offered = [&] {
      QContextMenuEvent event(QContextMenuEvent::Mouse, at, graph.view.mapToGlobal(at));
      QApplication::sendEvent(&graph.view, &event);
      const std::unique_ptr<QMenu> menu(graph.view.findChild<QMenu*>());
      const auto actions = menu->actions();
      return std::any_of(actions.begin(), actions.end(),
                         [](const QAction* action) { return action->text() == QStringLiteral("Compare values here"); });
    };
    QVERIFY(!offered());
    const QSignalSpy compare(&graph.view, &GraphView::compareHereRequested);
    QVERIFY(offered());
  }

  void aNewDocumentForgetsTheOld() {
    ShownGraph graph(gpt2Document());
    graph.view.setHighlight(gpt2ZeroMean(*graph.document, 7));
    graph.settle();
    graph.view.setDocument(bertDocument(2));
    graph.settle();
    QVERIFY(!graph.view.hasHighlight());
    QCOMPARE(graph.view.selectedNode(), -1);
    graph.view.setDocument(nullptr);
    QVERIFY(!graph.view.isLaidOut());
    graph.view.grab();
  }

  void tenThousandNodesComeUpWithinASecond() {
    QElapsedTimer timer;
    timer.start();
    ShownGraph graph(flatDocument(10000));
    graph.view.grab();
    qInfo("10,000 nodes: %lld ms to the first picture", timer.elapsed());
    QVERIFY(timer.elapsed() < kPromisedMs);
  }

  // Printed, and bounded loosely: a shared machine is no stop-watch.
  void whatAFrameCosts() {
    ShownGraph graph(gpt2Document(48));
    graph.view.expandAll();
    graph.settle();
    const auto measure = [&](const char* what, auto&& step) {
      std::vector<double> times;
      for (int i = 0; i < 60; ++i) {
        step(i);
        QElapsedTimer timer;
        timer.start();
        graph.view.repaint();
        times.push_back(static_cast<double>(timer.nsecsElapsed()) / 1e6);
      }
      std::sort(times.begin(), times.end());
      qInfo("%-34s median %5.2f ms, p95 %5.2f ms", what, times[30], times[56]);
      QVERIFY(times[30] < 50);
    };
    const QRectF bounds = graph.view.scene().layout->bounds;
    graph.view.fit();
    measure("all 2,000 boxes in sight, panning", [&](int i) { graph.view.centerOn(bounds.center() + QPointF(i, i)); });
    graph.view.setZoom(0.3);
    measure("zoom 0.3, panning", [&](int i) { graph.view.centerOn(bounds.center() + QPointF(0, 40 * i)); });
    graph.view.setZoom(0.6);
    measure("zoom 0.6, panning", [&](int i) { graph.view.centerOn(bounds.center() + QPointF(0, 20 * i)); });
    measure("zooming 0.5 to 1.5", [&](int i) { graph.view.setZoom(0.5 + i / 60.0); });
    graph.view.setHighlight(gpt2ZeroMean(*graph.document, 60));
    graph.settle();
    graph.view.setZoom(0.6);
    measure("zoom 0.6 with a highlight, panning",
            [&](int i) { graph.view.centerOn(bounds.center() + QPointF(0, 20 * i)); });
  }
};

}  // namespace normlens::graphview

QTEST_MAIN(normlens::graphview::GraphViewTest)
#include "graph_view_test.moc"

// The graph view as a user meets it: clicks, keys, the wheel, highlights, states, and what a frame costs.
#include <QApplication>
#include <QElapsedTimer>
#include <QMenu>
#include <QSignalSpy>
#include <QTest>
#include <QTimer>
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

class GraphViewTest : public QObject {
  Q_OBJECT

  std::unique_ptr<GraphView> view_;
  std::shared_ptr<const protocol::GraphDocument> document_;

  [[nodiscard]] int scopeOf(const std::string& path) const {
    for (const auto& scope : document_->scopes) {
      if (scope.path == path) return scope.id;
    }
    return -1;
  }

  [[nodiscard]] int nodeIn(const std::string& path, const std::string& label) const {
    const int scope = scopeOf(path);
    for (const auto& node : document_->nodes) {
      if (node.scope == scope && node.label == label) return node.id;
    }
    return -1;
  }

  void show(std::shared_ptr<const protocol::GraphDocument> document) {
    document_ = std::move(document);
    view_->setDocument(document_);
    QVERIFY(test::waitForLayout(*view_, 5000));
  }

  void openScope(const std::string& path) {
    view_->setScopesOpen({{scopeOf(path), true}});
    QVERIFY(test::waitForLayout(*view_, 5000));
    view_->revealScope(scopeOf(path));
    QVERIFY(test::waitForLayout(*view_, 5000));
  }

  static QPoint middleOf(const QRectF& rect) { return rect.center().toPoint(); }

  void wheel(const QPoint& at, int delta) {
    QWheelEvent event(at, view_->mapToGlobal(at), {}, {0, delta}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                      false);
    QApplication::sendEvent(view_.get(), &event);
  }

 private Q_SLOTS:
  void init() {
    view_ = std::make_unique<GraphView>();
    view_->setAnimated(false);
    view_->resize(1400, 900);
    view_->show();
    QVERIFY(QTest::qWaitForWindowExposed(view_.get()));
  }
  void cleanup() { view_.reset(); }

  void emptyBusyAndErrorStatesPaint() {
    const QImage empty = view_->grab().toImage();
    view_->setBusy("Opening gpt2.pt");
    const QImage busy = view_->grab().toImage();
    QVERIFY(busy != empty);
    view_->setBusy({});
    view_->setError("gpt2.pt is not a model that NormLens can read.");
    QVERIFY(view_->grab().toImage() != empty);
    view_->setError({});
    QCOMPARE(view_->grab().toImage(), empty);
  }

  void aBlockOpensOnDoubleClickAndKeepsItsPlace() {
    show(gpt2Document());
    const int block = scopeOf("transformer.h.3");
    const QRectF before = test::screenRectOfScope(*view_, block);
    QVERIFY(view_->rect().contains(before.toRect()));
    QVERIFY(!view_->isScopeOpen(block));
    QTest::mouseDClick(view_.get(), Qt::LeftButton, {}, middleOf(before));
    QVERIFY(test::waitForLayout(*view_, 5000));
    QVERIFY(view_->isScopeOpen(block));
    const QRectF after = test::screenRectOfScope(*view_, block);
    QVERIFY(std::abs(after.top() - before.top()) < 2);
    QVERIFY(after.height() > before.height());
    // On its title, again.
    QTest::mouseDClick(view_.get(), Qt::LeftButton, {}, (after.bottomRight() - QPointF(8, 8)).toPoint());
    QVERIFY(test::waitForLayout(*view_, 5000));
    QVERIFY(!view_->isScopeOpen(block));
  }

  void theBadgeOpensWithOneClick() {
    show(gpt2Document());
    const QRectF card = test::screenRectOfScope(*view_, scopeOf("transformer.h.2"));
    const double zoom = view_->zoom();
    QTest::mouseClick(view_.get(), Qt::LeftButton, {}, QPointF(card.right() - 21 * zoom, card.center().y()).toPoint());
    QVERIFY(test::waitForLayout(*view_, 5000));
    QVERIFY(view_->isScopeOpen(scopeOf("transformer.h.2")));
  }

  void aClickSelects() {
    show(gpt2Document());
    openScope("transformer.h.3");
    QSignalSpy nodes(view_.get(), &GraphView::nodeSelected), scopes(view_.get(), &GraphView::scopeSelected);
    const int norm = nodeIn("transformer.h.3.ln_1", "layer_norm");
    QTest::mouseClick(view_.get(), Qt::LeftButton, {}, middleOf(test::screenRectOf(*view_, norm)));
    QCOMPARE(nodes.count(), 1);
    QCOMPARE(nodes.first().first().toInt(), norm);
    QCOMPARE(view_->selectedNode(), norm);
    QTest::mouseClick(view_.get(), Qt::LeftButton, {},
                      middleOf(test::screenRectOfScope(*view_, scopeOf("transformer.h.3.attn"))));
    QCOMPARE(scopes.count(), 1);
    QCOMPARE(scopes.first().first().toInt(), scopeOf("transformer.h.3.attn"));
    QTest::mouseClick(view_.get(), Qt::LeftButton, {}, {5, 5});
    QCOMPARE(nodes.last().first().toInt(), -1);
  }

  void anEdgeCanBeSelected() {
    show(gpt2Document());
    openScope("transformer.h.3");
    QSignalSpy edges(view_.get(), &GraphView::edgeSelected);
    const int norm = nodeIn("transformer.h.3.ln_1", "layer_norm");
    const QRectF rect = test::screenRectOf(*view_, norm);
    QTest::mouseClick(view_.get(), Qt::LeftButton, {}, QPointF(rect.center().x(), rect.bottom() + 8).toPoint());
    QCOMPARE(edges.count(), 1);
    QCOMPARE(edges.first().first().toInt(), document_->nodes[static_cast<size_t>(norm)].outputs.front());
  }

  void theWheelZoomsAboutTheCursor() {
    show(gpt2Document());
    const QPoint at(500, 300);
    const QPointF world = view_->camera().toWorld(at);
    const QImage before = view_->grab().toImage();
    const double zoom = view_->zoom();
    wheel(at, 240);
    QVERIFY(view_->zoom() > zoom * 1.2);
    QVERIFY((view_->camera().toScreen(world) - at).manhattanLength() < 1);
    QVERIFY(view_->grab().toImage() != before);
  }

  void aDragPans() {
    show(gpt2Document());
    const QRectF before = test::screenRectOfScope(*view_, scopeOf("transformer.h.0"));
    QSignalSpy nodes(view_.get(), &GraphView::nodeSelected);
    QTest::mousePress(view_.get(), Qt::LeftButton, {}, {200, 400});
    QTest::mouseMove(view_.get(), {220, 420});
    QTest::mouseMove(view_.get(), {260, 370});
    QTest::mouseRelease(view_.get(), Qt::LeftButton, {}, {260, 370});
    const QRectF after = test::screenRectOfScope(*view_, scopeOf("transformer.h.0"));
    QVERIFY((after.topLeft() - before.topLeft() - QPointF(60, -30)).manhattanLength() < 2);
    QCOMPARE(nodes.count(), 0);
  }

  void arrowsMoveAndEnterOpens() {
    show(gpt2Document());
    view_->setFocus();
    QTest::mouseClick(view_.get(), Qt::LeftButton, {},
                      middleOf(test::screenRectOfScope(*view_, scopeOf("transformer.h.1"))));
    QSignalSpy scopes(view_.get(), &GraphView::scopeSelected);
    QTest::keyClick(view_.get(), Qt::Key_Down);
    QCOMPARE(scopes.count(), 1);
    QCOMPARE(scopes.first().first().toInt(), scopeOf("transformer.h.2"));
    QTest::keyClick(view_.get(), Qt::Key_Return);
    QVERIFY(test::waitForLayout(*view_, 5000));
    QVERIFY(view_->isScopeOpen(scopeOf("transformer.h.2")));
    const double zoom = view_->zoom();
    QTest::keyClick(view_.get(), Qt::Key_Minus);
    QVERIFY(view_->zoom() < zoom);
  }

  void aHighlightOpensLightsAndDims() {
    show(gpt2Document());
    const int norm = nodeIn("transformer.h.3.ln_2", "layer_norm");
    view_->setHighlight(gpt2ZeroMean(*document_, 7));
    QVERIFY(test::waitForLayout(*view_, 5000));
    QVERIFY(view_->hasHighlight());
    QVERIFY(view_->isScopeOpen(scopeOf("transformer.h.3")));
    QVERIFY(view_->isScopeOpen(scopeOf("transformer.h.3.attn")));
    QVERIFY(!view_->isScopeOpen(scopeOf("transformer.h.3.mlp")));
    const Scene& scene = view_->scene();
    const auto lightOf = [&](int node) {
      return view_->lighting().box(scene.layout->shownBox(*scene.hierarchy, scene.hierarchy->itemOfId(node)));
    };
    QVERIFY(lightOf(norm).chosen);
    QVERIFY(lightOf(nodeIn("transformer.h.3.attn.c_proj", "addmm")).lit);
    QCOMPARE(lightOf(nodeIn("transformer.h.3.attn.c_proj", "addmm")).letter, 'L');
    QVERIFY(!lightOf(nodeIn("transformer.h.3.attn.c_attn", "addmm")).lit);
    QVERIFY(!lightOf(nodeIn("transformer.h.4.ln_1", "layer_norm")).lit);
    // A closed block that lies on it says what it holds.
    QCOMPARE(lightOf(nodeIn("transformer.h.1", "add")).inside.at('L'), 2);
    // The dimmed box is paler than without the highlight, and the norm is in sight.
    const QRectF dimmed = test::screenRectOf(*view_, nodeIn("transformer.h.3.attn.c_attn", "addmm"));
    const QPoint probe = (dimmed.topLeft() + QPointF(3, dimmed.height() / 2)).toPoint();
    QVERIFY(view_->rect().contains(middleOf(test::screenRectOf(*view_, norm))));
    const QColor pale = view_->grab().toImage().pixelColor(probe);
    view_->clearHighlight();
    QVERIFY(!view_->hasHighlight());
    const QColor full = view_->grab().toImage().pixelColor(probe);
    QVERIFY2(pale.lightness() > full.lightness() + 20, qPrintable(pale.name() + " " + full.name()));
  }

  void aHighlightAskedForBeforeTheLayoutComesWithIt() {
    document_ = gpt2Document();
    view_->setDocument(document_);
    view_->setHighlight(gpt2ZeroMean(*document_, 7));
    QVERIFY(test::waitForLayout(*view_, 5000));
    QVERIFY(view_->isScopeOpen(scopeOf("transformer.h.3")));
  }

  void revealOpensTheGroupsAround() {
    show(gpt2Document());
    const int node = nodeIn("transformer.h.9.mlp.c_fc", "addmm");
    view_->reveal(node);
    QVERIFY(test::waitForLayout(*view_, 5000));
    QVERIFY(view_->isScopeOpen(scopeOf("transformer.h.9.mlp")));
    QCOMPARE(view_->selectedNode(), node);
    QVERIFY(view_->rect().contains(middleOf(test::screenRectOf(*view_, node))));
  }

  void shapesThatArriveLaterKeepTheView() {
    show(gpt2Document());
    openScope("transformer.h.3");
    const Camera before = view_->camera();
    auto shaped = std::make_shared<protocol::GraphDocument>(*document_);
    for (auto& value : shaped->values) {
      if (!value.shape.empty()) value.shape[0] = 8;
    }
    view_->updateDocument(shaped);
    QVERIFY(test::waitForLayout(*view_, 5000));
    QCOMPARE(view_->camera().offset, before.offset);
    QVERIFY(view_->isScopeOpen(scopeOf("transformer.h.3")));
    auto streamless = std::make_shared<protocol::GraphDocument>(*shaped);
    for (auto& value : streamless->values) value.stream = false;
    view_->updateDocument(streamless);
    QVERIFY(test::waitForLayout(*view_, 5000));
    QVERIFY(view_->isScopeOpen(scopeOf("transformer.h.3")));
  }

  void theMenuOffersCenterHere() {
    show(gpt2Document());
    openScope("transformer.h.3");
    QSignalSpy center(view_.get(), &GraphView::centerHereRequested);
    const int norm = nodeIn("transformer.h.3.ln_1", "layer_norm");
    const QPoint at = middleOf(test::screenRectOf(*view_, norm));
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, view_->mapToGlobal(at));
    QApplication::sendEvent(view_.get(), &event);
    auto* menu = view_->findChild<QMenu*>();
    QVERIFY(menu != nullptr);
    QVERIFY(menu->actions().size() >= 2);
    menu->actions().front()->trigger();
    QCOMPARE(center.count(), 1);
    QCOMPARE(center.first().first().toInt(), document_->nodes[static_cast<size_t>(norm)].outputs.front());
    menu->close();
  }

  void theMenuOffersToCompareWhereSomeoneDoesIt() {
    show(gpt2Document());
    openScope("transformer.h.3");
    const QPoint at = middleOf(test::screenRectOf(*view_, nodeIn("transformer.h.3.ln_1", "layer_norm")));
    const auto offered = [&] {
      QContextMenuEvent event(QContextMenuEvent::Mouse, at, view_->mapToGlobal(at));
      QApplication::sendEvent(view_.get(), &event);
      const std::unique_ptr<QMenu> menu(view_->findChild<QMenu*>());
      const auto actions = menu->actions();
      return std::any_of(actions.begin(), actions.end(),
                         [](const QAction* action) { return action->text() == QStringLiteral("Compare values here"); });
    };
    QVERIFY(!offered());
    const QSignalSpy compare(view_.get(), &GraphView::compareHereRequested);
    QVERIFY(offered());
  }

  void aNewDocumentForgetsTheOld() {
    show(gpt2Document());
    view_->setHighlight(gpt2ZeroMean(*document_, 7));
    QVERIFY(test::waitForLayout(*view_, 5000));
    show(bertDocument(2));
    QVERIFY(!view_->hasHighlight());
    QCOMPARE(view_->selectedNode(), -1);
    view_->setDocument(nullptr);
    QVERIFY(!view_->isLaidOut());
    view_->grab();
  }

  void tenThousandNodesComeUpWithinASecond() {
    document_ = flatDocument(10000);
    QElapsedTimer timer;
    timer.start();
    view_->setDocument(document_);
    QVERIFY(test::waitForLayout(*view_, 5000));
    view_->grab();
    qInfo("10,000 nodes: %lld ms to the first picture", timer.elapsed());
    QVERIFY(timer.elapsed() < kPromisedMs);
  }

  // Printed, and bounded loosely: a shared machine is no stop-watch.
  void whatAFrameCosts() {
    show(gpt2Document(48));
    view_->expandAll();
    QVERIFY(test::waitForLayout(*view_, 10000));
    const auto measure = [&](const char* what, auto&& step) {
      std::vector<double> times;
      for (int i = 0; i < 60; ++i) {
        step(i);
        QElapsedTimer timer;
        timer.start();
        view_->repaint();
        times.push_back(static_cast<double>(timer.nsecsElapsed()) / 1e6);
      }
      std::sort(times.begin(), times.end());
      qInfo("%-34s median %5.2f ms, p95 %5.2f ms", what, times[30], times[56]);
      QVERIFY(times[30] < 50);
    };
    const QRectF bounds = view_->scene().layout->bounds;
    view_->fit();
    measure("all 2,000 boxes in sight, panning", [&](int i) { view_->centerOn(bounds.center() + QPointF(i, i)); });
    view_->setZoom(0.3);
    measure("zoom 0.3, panning", [&](int i) { view_->centerOn(bounds.center() + QPointF(0, 40 * i)); });
    view_->setZoom(0.6);
    measure("zoom 0.6, panning", [&](int i) { view_->centerOn(bounds.center() + QPointF(0, 20 * i)); });
    measure("zooming 0.5 to 1.5", [&](int i) { view_->setZoom(0.5 + i / 60.0); });
    view_->setHighlight(gpt2ZeroMean(*document_, 60));
    QVERIFY(test::waitForLayout(*view_, 10000));
    view_->setZoom(0.6);
    measure("zoom 0.6 with a highlight, panning",
            [&](int i) { view_->centerOn(bounds.center() + QPointF(0, 20 * i)); });
  }
};

}  // namespace normlens::graphview

QTEST_MAIN(normlens::graphview::GraphViewTest)
#include "graph_view_test.moc"

// Finding one's way in a graph: depth, direction, repeated blocks, keys, back and forward, the path under the pointer,
// the overlay of zero-mean values.
#include <QSignalSpy>
#include <QTest>
#include <algorithm>

#include "tests/ui/graphview/shown_graph.h"
#include "ui/graphview/overlays/blocker_chip.h"
#include "ui/graphview/overlays/minimap.h"
#include "ui/graphview/overlays/shortcut_sheet.h"
#include "ui/graphview/overlays/zoom_control.h"

namespace normlens::graphview {

using test::gpt2Document;
using test::ShownGraph;

class ReadingTest : public QObject {
  Q_OBJECT

  static int openGroups(const GraphView& view) {
    const auto& boxes = view.scene().layout->boxes;
    return static_cast<int>(
        std::count_if(boxes.begin(), boxes.end(), [](const auto& box) { return box.kind == layout::BoxKind::Frame; }));
  }

 private Q_SLOTS:
  void digitsOpenThatManyLevels() {
    ShownGraph graph(gpt2Document());
    QTest::keyClick(&graph.view, Qt::Key_C, Qt::ShiftModifier);
    graph.settle();
    QCOMPARE(openGroups(graph.view), 0);
    QTest::keyClick(&graph.view, Qt::Key_1);
    graph.settle();
    QCOMPARE(openGroups(graph.view), 1);  // transformer
    QTest::keyClick(&graph.view, Qt::Key_2);
    graph.settle();
    QCOMPARE(openGroups(graph.view), 13);  // and its blocks
    QVERIFY(!graph.view.isScopeOpen(graph.scopeOf("transformer.h.3.attn")));
    QTest::keyClick(&graph.view, Qt::Key_E, Qt::ShiftModifier);
    graph.settle();
    QVERIFY(graph.view.isScopeOpen(graph.scopeOf("transformer.h.3.attn")));
  }

  void dataRunsToTheRightWhenAsked() {
    ShownGraph graph(gpt2Document());
    graph.view.setDirection(layout::Direction::Right);
    graph.settle();
    for (int block = 1; block < 12; ++block) {
      const QRectF before =
          test::screenRectOfScope(graph.view, graph.scopeOf("transformer.h." + std::to_string(block - 1)));
      const QRectF after = test::screenRectOfScope(graph.view, graph.scopeOf("transformer.h." + std::to_string(block)));
      QVERIFY(before.right() < after.left());
      QVERIFY(before.width() > before.height());  // the box itself is not turned
    }
    graph.click(test::screenRectOfScope(graph.view, graph.scopeOf("transformer.h.0")));
    QSignalSpy scopes(&graph.view, &GraphView::scopeSelected);
    QTest::keyClick(&graph.view, Qt::Key_Right);
    QCOMPARE(scopes.last().first().toInt(), graph.scopeOf("transformer.h.1"));
  }

  void allOfTheGraphIsClearOfTheZoomControl() {
    ShownGraph graph(gpt2Document(2));
    for (const QSize size : {QSize(700, 430), QSize(520, 800), QSize(1400, 900), QSize(420, 330)}) {
      graph.view.resize(size);
      graph.view.fit();
      for (const QWidget* over : {static_cast<QWidget*>(graph.view.findChild<ZoomControl*>()),
                                  static_cast<QWidget*>(graph.view.findChild<Minimap*>())}) {
        for (const layout::Box& box : graph.view.scene().layout->boxes) {
          const QRect shown = graph.view.camera().toScreen(box.rect).toAlignedRect();
          QVERIFY2(over->isHidden() || !shown.intersects(over->geometry()),
                   qPrintable(QStringLiteral("%1×%2").arg(size.width()).arg(size.height())));
        }
      }
    }
  }

  void theFirstLookAtALongModelIsClearOfTheMinimap() {
    ShownGraph graph(gpt2Document(12));
    graph.view.resize(520, 430);
    const auto* map = graph.view.findChild<Minimap*>();
    QVERIFY(!map->isHidden());
    const auto inSight = [&](const layout::Box& box) { return graph.view.camera().toScreen(box.rect).toAlignedRect(); };
    const auto& boxes = graph.view.scene().layout->boxes;
    QVERIFY(!graph.view.rect().contains(inSight(boxes.back())));  // the model goes on below
    for (const layout::Box& box : boxes) QVERIFY(!inSight(box).intersects(map->geometry()));
  }

  // However many kinds of verdicts there are in it.
  void countsOfAGroupStayClearOfWhatOpensIt() {
    ShownGraph graph(gpt2Document());
    graph.view.collapseAll();
    graph.settle();
    graph.view.setZoom(1);
    const int box = graph.view.scene().boxOf(graph.view.scene().hierarchy->itemOfScope(graph.scopeOf("transformer")));
    const QRectF opens = graph.view.camera().toScreen(Scene::badgeRect(graph.view.scene().box(box)));
    const QRect around = opens.toAlignedRect().adjusted(-2, -2, 2, 2);
    const QImage before = graph.view.grab().toImage();
    std::vector<protocol::NormInfo> norms;
    for (const auto& node : graph.document->nodes) {
      if (node.role != NodeClass::LayerNorm) continue;
      protocol::NormInfo norm;
      norm.index = static_cast<int>(norms.size());
      norm.node = node.id;
      norm.verdict = static_cast<Verdict>(norms.size() % 4);
      norms.push_back(norm);
    }
    graph.view.setNorms(norms);
    const QImage after = graph.view.grab().toImage();
    QVERIFY(after != before);
    QCOMPARE(after.copy(around), before.copy(around));
  }

  void aBlockerOutOfSightIsBeyondOneEdge() {
    const QRectF visible(0, 0, 100, 100);
    QCOMPARE(beyondEdge({40, -60, 20, 20}, visible, true), Beyond::Top);
    QCOMPARE(beyondEdge({40, 130, 20, 20}, visible, true), Beyond::Bottom);
    QCOMPARE(beyondEdge({-60, 40, 20, 20}, visible, true), Beyond::Left);
    QCOMPARE(beyondEdge({130, -60, 20, 20}, visible, true), Beyond::Top);     // the way the data runs counts first
    QCOMPARE(beyondEdge({130, -60, 20, 20}, visible, false), Beyond::Right);  // whichever way that is
    QCOMPARE(beyondEdge({40, -8, 20, 20}, visible, true), Beyond::Nothing);   // more than half of it is in sight
    QCOMPARE(beyondEdge({-500, -500, 1100, 1100}, visible, true), Beyond::Nothing);
  }

  void blocksAreCountedBetweenThem() {
    ShownGraph graph(gpt2Document());
    const layout::Hierarchy& hierarchy = *graph.view.scene().hierarchy;
    const auto item = [&](const char* path) { return hierarchy.itemOfScope(graph.scopeOf(path)); };
    QCOMPARE(blocksBetween(hierarchy, item("transformer.h.3.ln_1"), item("transformer.h.2.ln_2")), 1);
    QCOMPARE(blocksBetween(hierarchy, item("transformer.h.1.ln_1"), item("transformer.h.4.attn")), 3);
    QCOMPARE(blocksBetween(hierarchy, item("transformer.h.3.ln_1"), item("transformer.h.3.ln_2")), 0);
    QCOMPARE(blocksBetween(hierarchy, item("transformer.h.3.ln_1"), -1), 0);
  }

  void equalBlocksAreShownOnce() {
    ShownGraph graph(gpt2Document());
    const size_t before = graph.view.scene().layout->boxes.size();
    graph.view.setOptions({.showHelpers = false, .foldRepeats = true});
    graph.settle();
    const Scene& scene = graph.view.scene();
    QCOMPARE(scene.layout->boxes.size(), before - 11);
    const auto run = std::find_if(scene.layout->boxes.begin(), scene.layout->boxes.end(),
                                  [&](const auto& box) { return scene.itemOf(box).repeats > 1; });
    QVERIFY(run != scene.layout->boxes.end());
    QCOMPARE(scene.itemOf(*run).repeats, 12);
    QCOMPARE(scene.itemOf(*run).title, std::string("h.0 … h.11"));
    // What it holds can be gone to.
    graph.view.reveal(graph.nodeIn("transformer.h.7.mlp.c_fc", "addmm"));
    graph.settle();
    QVERIFY(graph.view.isScopeOpen(graph.scopeOf("transformer.h.7.mlp")));
  }

  void blocksThatDifferAreNotFolded() {
    test::DocumentBuilder b;
    int x = b.op(0, "input", "I", {}, {8, 32});
    for (const char* inner : {"relu", "gelu"}) {
      const int block = b.scope(0, inner, "Block");
      for (int i = 0; i < 14; ++i) x = b.op(block, i % 2 == 0 ? "linear" : inner, i % 2 == 0 ? "L" : "O", {x}, {8, 32});
    }
    b.node(0, "output", "y", "G", {x}, {});
    ShownGraph graph(b.take());
    graph.view.setOptions({.showHelpers = false, .foldRepeats = true});
    graph.settle();
    for (const auto& item : graph.view.scene().hierarchy->items) QCOMPARE(item.repeats, 1);
  }

  void arrowsFollowTheEdges() {
    ShownGraph graph(gpt2Document());
    graph.open("transformer.h.3");
    const int norm = graph.nodeIn("transformer.h.3.ln_2", "layer_norm");
    graph.click(test::screenRectOf(graph.view, norm));
    QSignalSpy nodes(&graph.view, &GraphView::nodeSelected), scopes(&graph.view, &GraphView::scopeSelected);
    QTest::keyClick(&graph.view, Qt::Key_Down);
    QCOMPARE(scopes.last().first().toInt(), graph.scopeOf("transformer.h.3.mlp"));
    QTest::keyClick(&graph.view, Qt::Key_Up);
    QCOMPARE(nodes.last().first().toInt(), norm);
    QTest::keyClick(&graph.view, Qt::Key_Backspace);  // to the block around
    QCOMPARE(scopes.last().first().toInt(), graph.scopeOf("transformer.h.3"));
    QTest::keyClick(&graph.view, Qt::Key_Escape);
    QCOMPARE(nodes.last().first().toInt(), -1);
  }

  void backAndForwardReturnToPlaces() {
    ShownGraph graph(gpt2Document());
    QVERIFY(!graph.view.canGoBack());
    graph.view.reveal(graph.nodeIn("transformer.h.2.mlp.c_fc", "addmm"));
    graph.settle();
    const int first = graph.nodeIn("transformer.h.2.mlp.c_fc", "addmm");
    const QPointF there = test::screenRectOf(graph.view, first).center();
    graph.view.reveal(graph.nodeIn("transformer.h.10.mlp.c_fc", "addmm"));
    graph.settle();
    QVERIFY(!graph.view.rect().contains(test::screenRectOf(graph.view, first).center().toPoint()));
    QTest::keyClick(&graph.view, Qt::Key_Left, Qt::AltModifier);
    graph.settle();
    QVERIFY((test::screenRectOf(graph.view, first).center() - there).manhattanLength() < 3);
    QVERIFY(graph.view.canGoForward());
    QTest::mouseClick(&graph.view, Qt::ForwardButton, {}, {300, 300});
    graph.settle();
    const QRectF second = test::screenRectOf(graph.view, graph.nodeIn("transformer.h.10.mlp.c_fc", "addmm"));
    QVERIFY(graph.view.rect().contains(second.center().toPoint()));
    QVERIFY(!graph.view.canGoForward());
  }

  void thePathUnderThePointerIsLit() {
    ShownGraph graph(gpt2Document());
    graph.open("transformer.h.3");
    const QImage before = graph.view.grab().toImage();
    const QRectF norm = test::screenRectOf(graph.view, graph.nodeIn("transformer.h.3.ln_2", "layer_norm"));
    QTest::mouseMove(&graph.view, norm.center().toPoint());
    QTRY_VERIFY(graph.view.reach().active());
    QVERIFY(graph.view.grab().toImage() != before);
    const Scene& scene = graph.view.scene();
    const auto sideInto = [&](int node) {
      const int item = scene.hierarchy->itemOfId(node);
      for (size_t i = 0; i < scene.layout->edges.size(); ++i) {
        const auto& edge = scene.layout->edges[i];
        for (int k = 0; k < edge.dataCount; ++k) {
          const int data = scene.layout->edgeData[static_cast<size_t>(edge.firstData) + static_cast<size_t>(k)];
          if (scene.hierarchy->edges[static_cast<size_t>(data)].to == item)
            return graph.view.reach().edge(static_cast<int>(i));
        }
      }
      return Side::None;
    };
    QCOMPARE(sideInto(graph.nodeIn("transformer.h.3.ln_1", "layer_norm")), Side::Upstream);
    QCOMPARE(sideInto(graph.nodeIn("transformer.h.9.ln_1", "layer_norm")), Side::Downstream);
    // q and k of the same block are no way to a norm's own branch: the feed forward beside the second sum is not above.
    QTest::mouseMove(&graph.view, {3, 3});
    QTRY_VERIFY(!graph.view.reach().active());
  }

  void valuesAreMarkedByTheirMean() {
    ShownGraph graph(gpt2Document(2));
    protocol::ZeroMeanMap map;
    const auto& nodes = graph.document->nodes;
    const auto outputOf = [&](int node) { return nodes[static_cast<size_t>(node)].outputs.front(); };
    map.now = {outputOf(graph.nodeIn("transformer.wte", "embedding"))};
    map.planned = {outputOf(graph.nodeIn("transformer.wpe", "embedding"))};
    map.not_zero = {outputOf(graph.nodeIn("transformer.drop", "dropout"))};
    const QImage before = graph.view.grab().toImage();
    graph.view.setZeroMeanMap(map);
    const QImage with = graph.view.grab().toImage();
    QVERIFY(with != before);
    const MeanStates& states = graph.view.meanStates();
    QCOMPARE(states.count(MeanState::Now), 1);
    std::array<int, 4> edges{};
    for (size_t i = 0; i < graph.view.scene().layout->edges.size(); ++i)
      ++edges[static_cast<size_t>(states.edge(static_cast<int>(i)))];
    QVERIFY(edges[1] >= 1 && edges[2] >= 1 && edges[3] >= 1 && edges[0] > 3);
    // A new layout keeps the overlay.
    graph.view.expandAll();
    graph.settle();
    QVERIFY(graph.view.meanStates().active());
    graph.view.setZeroMeanMap(std::nullopt);
    QVERIFY(!graph.view.meanStates().active());
  }

  void groupsTellTheirParameters() {
    test::DocumentBuilder b;
    const int x = b.value("x", {8, 32});
    b.node(0, "input", "x", "I", {}, {x});
    const int block = b.scope(0, "block", "Block");
    const int shared = b.weight("shared.weight", {100, 32}), own = b.weight("own.bias", {32});
    int y = b.op(block, "linear", "L", {x, shared, own}, {8, 100});
    y = b.op(block, "linear", "L", {y, shared}, {8, 32});
    y = b.op(0, "linear", "L", {y, shared}, {8, 100});
    b.node(0, "output", "y", "G", {y}, {});
    const auto hierarchy = layout::buildHierarchy(b.take());
    QCOMPARE(hierarchy.item(0).parameters, 3232);
    for (const auto& item : hierarchy.items) {
      if (item.title == "block") QCOMPARE(item.parameters, 3232);
    }
    QCOMPARE(layout::shortCount(3232), QStringLiteral("3232"));
    QCOMPARE(layout::shortCount(124'439'808), QStringLiteral("124M"));
    QCOMPARE(layout::shortCount(7'100'000), QStringLiteral("7.1M"));
    QCOMPARE(layout::shortCount(50'000), QStringLiteral("50k"));
  }

  // A weight has no edge on which its centering could stand.
  void aCenteringOfAWeightStandsBesideTheOpThatReadsIt() {
    test::DocumentBuilder b;
    const int position = b.weight("position", {1, 16, 8});
    const int embedded = b.op(0, "embedding", "L", {}, {1, 16, 8});
    const int sum = b.op(0, "add", "R", {embedded, position}, {1, 16, 8}, true);
    const int add = b.lastNode();
    b.op(0, "gelu", "O", {sum}, {1, 16, 8});
    ShownGraph graph(b.take());
    const auto marks = [&](int value) {
      PlanPicture picture;
      picture.centerings = {{value, add}};
      graph.view.setPlan(picture);
      return graph.view.planMarks().centerings;
    };
    const auto& scene = graph.view.scene();
    const QRectF box = scene.box(scene.boxOf(scene.hierarchy->itemOfId(add))).rect;
    const auto ofWeight = marks(position);
    QCOMPARE(ofWeight.size(), size_t{1});
    QVERIFY(!box.contains(ofWeight.front()) && box.adjusted(-20, 0, 0, 0).contains(ofWeight.front()));
    const auto onEdge = marks(embedded);
    QCOMPARE(onEdge.size(), size_t{1});
    QVERIFY(onEdge.front() != ofWeight.front());
  }

  void aSmallClosedGroupHasTheMarksOfItsOneNorm() {
    test::DocumentBuilder b;
    const int scope = b.scope(0, "norm", "Norm");
    const int x = b.op(0, "linear", "L", {}, {1, 16, 8});
    const int normed = b.op(scope, "layer_norm", "N", {x}, {1, 16, 8});
    const int norm = b.lastNode();
    b.op(0, "gelu", "O", {b.op(scope, "mul", "S", {normed}, {1, 16, 8})}, {1, 16, 8});
    ShownGraph graph(b.take());
    const int group = graph.view.scene().hierarchy->itemOfScope(scope);
    QVERIFY(graph.view.scene().hierarchy->item(group).slim);
    const QImage before = graph.view.grab().toImage();
    PlanPicture picture;
    picture.norms = {{norm, ui::PlanState::NotRun}};
    graph.view.setPlan(picture);
    QCOMPARE(graph.view.planMarks().stateOf(group), ui::PlanState::NotRun);
    QVERIFY2(graph.view.planMarks().isRmsNorm(group), "its letter");
    const QImage dashed = graph.view.grab().toImage();
    QVERIFY(dashed != before);
    picture.norms = {{norm, ui::PlanState::Folded}};
    graph.view.setPlan(picture);
    QVERIFY(graph.view.grab().toImage() != dashed);
  }

  void theSheetOfKeysComesAndGoes() {
    ShownGraph graph(gpt2Document(2));
    auto* sheet = graph.view.findChild<ShortcutSheet*>();
    QVERIFY(sheet != nullptr && !sheet->isVisible());
    QTest::keyClick(&graph.view, Qt::Key_Question, Qt::ShiftModifier);
    QVERIFY(sheet->isVisible());
    QTest::keyClick(&graph.view, Qt::Key_Escape);
    QVERIFY(!sheet->isVisible());
  }
};

}  // namespace normlens::graphview

QTEST_MAIN(normlens::graphview::ReadingTest)
#include "reading_test.moc"

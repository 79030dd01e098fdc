// Equal blocks are one above a number of them: when, and how what they hold is reached all the same.
#include <QTest>
#include <set>

#include "tests/ui/graphview/shown_graph.h"

namespace normlens::layout {
namespace {

std::vector<const Item*> runsOf(const Hierarchy& hierarchy) {
  std::vector<const Item*> runs;
  for (const Item& item : hierarchy.items) {
    if (item.repeats > 1) runs.push_back(&item);
  }
  return runs;
}

// Blocks of a linear and a norm; the one at `other` has another width, or reads its input twice.
std::shared_ptr<const protocol::GraphDocument> blocks(int count, int other, bool width) {
  test::DocumentBuilder b;
  int x = b.op(0, "input", "I", {}, {8, 32});
  for (int i = 0; i < count; ++i) {
    const int block = b.scope(0, "b" + std::to_string(i), "Block");
    const int64_t inner = width && i == other ? 48 : 64;
    const int up = b.op(block, "linear", "L", {x, b.weight("up", {inner, 32})}, {8, inner});
    const int bent = b.op(block, "softmax", "O", {up}, {8, inner});
    const int down = b.op(block, "linear", "L", {bent, b.weight("down", {32, inner})}, {8, 32});
    x = b.op(block, "add", "R", {down, !width && i == other ? down : x}, {8, 32}, true);
  }
  b.node(0, "output", "y", "G", {x}, {});
  return b.take();
}

}  // namespace

class RepeatsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  // Scores and their mask are called a stream by the engine, before it knows their shapes.
  void onlyWhatIsAsWideAsANormIsAStream() {
    test::DocumentBuilder b;
    const int x = b.op(0, "input", "I", {}, {8, 32}, true);
    const int norm = b.op(0, "layer_norm", "N", {x}, {8, 32});
    const int mask = b.op(0, "where", "S", {x}, {1, 4, 8, 8}, true);
    const int scores = b.op(0, "add", "R", {b.op(0, "linear", "L", {norm}, {1, 4, 8, 8}), mask}, {1, 4, 8, 8}, true);
    const int sum = b.op(0, "add", "R", {b.op(0, "linear", "L", {scores}, {8, 32}), x}, {8, 32}, true);
    b.node(0, "output", "y", "G", {sum}, {});
    auto document = std::make_shared<protocol::GraphDocument>(*b.take());
    const auto streams = [&](const std::shared_ptr<const protocol::GraphDocument>& of) {
      std::set<int> values;
      for (const DataEdge& edge : buildHierarchy(of).edges) {
        if (edge.stream) values.insert(edge.value);
      }
      return values;
    };
    QCOMPARE(streams(document), (std::set<int>{x, sum}));
    for (auto& value : document->values) value.has_shape = false;
    QCOMPARE(streams(document), std::set<int>());
  }

  void onlyManyAreOne() {
    QVERIFY(runsOf(buildHierarchy(test::gpt2Document(kMaxEqual))).empty());
    const Hierarchy h = buildHierarchy(test::gpt2Document(kMaxEqual + 1));
    QCOMPARE(runsOf(h).size(), size_t{1});
    QCOMPARE(runsOf(h).front()->repeats, kMaxEqual + 1);
    QCOMPARE(runsOf(h).front()->type, std::string("GPT2Block ×25"));
  }

  void anotherWidthOrWayPartsTheRow() {
    for (const bool width : {true, false}) {
      const Hierarchy h = buildHierarchy(blocks(70, 35, width));
      QCOMPARE(runsOf(h).size(), size_t{2});
      QCOMPARE(runsOf(h)[0]->repeats, 35);
      QCOMPARE(runsOf(h)[1]->repeats, 34);
    }
  }

  void aThousandAreRowsInARow() {
    const Hierarchy h = buildHierarchy(test::gpt2Document(1000));
    const auto runs = runsOf(h);
    QCOMPARE(runs.size(), size_t{6});
    QCOMPARE(runs[0]->title, std::string("h.0 … h.999"));
    QCOMPARE(runs[0]->repeats, 1000);
    QCOMPARE(runs[2]->title, std::string("h.200 … h.399"));
    QCOMPARE(runs[2]->type, std::string("GPT2Block ×200"));
    QCOMPARE(runs[0]->layerNorms, 2000);
  }

  void aNormInsideIsGoneTo() {
    test::ShownGraph graph(test::gpt2Document(96));
    const size_t closed = graph.view.scene().layout->boxes.size();
    QVERIFY(closed < 20);
    const int norm = graph.nodeIn("transformer.h.57.ln_2", "layer_norm");
    graph.view.reveal(norm);
    graph.settle();
    QCOMPARE(graph.view.selectedNode(), norm);
    QVERIFY(graph.view.isScopeOpen(graph.scopeOf("transformer.h.57")));
    QVERIFY(QRectF(graph.view.rect()).contains(test::screenRectOf(graph.view, norm)));
  }

  void aDoubleClickShowsThemAll() {
    test::ShownGraph graph(test::gpt2Document(96));
    const auto& hierarchy = *graph.view.scene().hierarchy;
    const int run = static_cast<int>(runsOf(hierarchy).front() - hierarchy.items.data());
    QTest::mouseDClick(&graph.view, Qt::LeftButton, {}, test::screenRectOfItem(graph.view, run).center().toPoint());
    graph.settle();
    for (const int block : graph.view.scene().hierarchy->item(run).children)
      QVERIFY(graph.view.scene().layout->boxOfItem[static_cast<size_t>(block)] >= 0);
  }

  void escStopsALayout() {
    test::ShownGraph graph(test::gpt2Document(96));
    const size_t before = graph.view.scene().layout->boxes.size();
    graph.view.expandAll();
    QVERIFY(!graph.view.isLaidOut());
    QTest::keyClick(&graph.view, Qt::Key_Escape);
    QVERIFY(graph.view.isLaidOut());
    QTest::qWait(100);
    QCOMPARE(graph.view.scene().layout->boxes.size(), before);
    // Nothing of what was stopped comes back with the next request.
    graph.view.reveal(graph.nodeIn("transformer.ln_f", "layer_norm"));
    graph.settle();
    QCOMPARE(graph.view.scene().layout->boxes.size(), before);
  }

  void escBeforeTheFirstPictureCanBeTakenBack() {
    graphview::GraphView view;
    view.resize(800, 600);
    view.show();
    view.setDocument(test::gpt2Document(12));
    QTest::keyClick(&view, Qt::Key_Escape);
    QVERIFY(view.scene().empty());
    QTest::keyClick(&view, Qt::Key_Return);
    QVERIFY(test::waitForLayout(view, 10'000));
    QVERIFY(!view.scene().empty());
  }
};

}  // namespace normlens::layout

QTEST_MAIN(normlens::layout::RepeatsTest)
#include "repeats_test.moc"

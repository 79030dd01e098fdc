// The layered layout: every box placed, none on another, edges forward, in time and memory that grow with the graph.
#include <QElapsedTimer>
#include <QTest>
#include <algorithm>
#include <random>

#include "ui/layout/layers/layered_layout.h"
#include "ui/layout/layers/layers.h"

namespace normlens::layout {
namespace {

// Blocks on a residual stream, each with a branch; all read one mask at the top.
DotGraph blocks(int count) {
  DotGraph graph;
  const auto add = [&](double width, bool stream) {
    graph.boxes.push_back({.width = width, .height = 24, .stream = stream, .topPorts = {}, .bottomPorts = {}});
    return static_cast<int>(graph.boxes.size()) - 1;
  };
  const int mask = add(90, false);
  int stream = add(60, true);
  for (int i = 0; i < count; ++i) {
    const int norm = add(80, false), mix = add(120, false), sum = add(26, true);
    graph.edges.push_back({.from = stream, .to = norm});
    graph.edges.push_back({.from = norm, .to = mix, .chain = true});
    graph.edges.push_back({.from = mask, .to = mix});
    graph.edges.push_back({.from = mix, .to = sum});
    graph.edges.push_back({.from = stream, .to = sum, .stream = true});
    stream = sum;
  }
  return graph;
}

DotGraph tangle(int boxes, int edges, bool circles) {
  std::mt19937 random(7);
  DotGraph graph;
  for (int i = 0; i < boxes; ++i)
    graph.boxes.push_back({.width = 40.0 + static_cast<double>(random() % 120),
                           .height = 20.0 + static_cast<double>(random() % 60),
                           .topPorts = {},
                           .bottomPorts = {}});
  for (int i = 0; i < edges; ++i) {
    int from = static_cast<int>(random() % static_cast<unsigned>(boxes)),
        to = static_cast<int>(random() % static_cast<unsigned>(boxes));
    if (!circles && from == to) continue;
    if (!circles && from > to) std::swap(from, to);
    graph.edges.push_back({.from = from, .to = to});
  }
  return graph;
}

// Sorted by their tops, so that only neighbours in height are compared.
int overlaps(const DotDrawing& drawing) {
  std::vector<QRectF> boxes = drawing.boxes;
  std::ranges::sort(boxes, [](const QRectF& a, const QRectF& b) {
    return std::pair(a.center().y(), a.left()) < std::pair(b.center().y(), b.left());
  });
  int found = 0;
  for (size_t i = 1; i < boxes.size(); ++i) found += boxes[i].adjusted(0.1, 0.1, -0.1, -0.1).intersects(boxes[i - 1]);
  return found;
}

}  // namespace

class LayeredLayoutTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void theStreamIsStraightAndEdgesGoDown() {
    const DotGraph graph = blocks(60);
    const DotDrawing drawing = layOutInLayers(graph);
    QCOMPARE(drawing.boxes.size(), graph.boxes.size());
    QCOMPARE(overlaps(drawing), 0);
    for (size_t i = 0; i < graph.edges.size(); ++i) {
      const DotEdge& edge = graph.edges[i];
      const QRectF &from = drawing.boxes[static_cast<size_t>(edge.from)],
                   &to = drawing.boxes[static_cast<size_t>(edge.to)];
      QVERIFY(from.bottom() < to.top());
      const auto& curve = drawing.curves[i];
      QVERIFY(curve.size() >= 4 && curve.size() % 3 == 1);
      QVERIFY(QLineF(curve.front(), {from.center().x(), from.bottom()}).length() < 0.01);
      // Onto the top's middle, or into the right side where the top is the stream's or a lane is beside it.
      const QPointF top(to.center().x(), to.top());
      const bool beside =
          std::abs(curve.back().x() - to.right()) < 0.01 && to.adjusted(0, 1, 1, -1).contains(curve.back());
      QVERIFY(beside || QLineF(curve.back(), top).length() < 0.01);
      if (!edge.stream && graph.boxes[static_cast<size_t>(edge.to)].stream) QVERIFY(beside);
      for (const QPointF& p : curve) {
        QVERIFY(drawing.bounds.adjusted(-0.01, -0.01, 0.01, 0.01).contains(p));
        if (edge.stream) QVERIFY2(std::abs(p.x() - curve.front().x()) < 0.5, "the stream bends");
      }
    }
  }

  void noCurveCrossesABox() {
    const DotGraph graph = tangle(60, 150, true);
    const DotDrawing drawing = layOutInLayers(graph);
    QCOMPARE(overlaps(drawing), 0);
    for (size_t i = 0; i < graph.edges.size(); ++i) {
      const auto& c = drawing.curves[i];
      for (size_t k = 0; k + 3 < c.size(); k += 3) {
        for (double t = 0.05; t < 1; t += 0.05) {
          const double u = 1 - t;
          const QPointF p =
              u * u * u * c[k] + 3 * u * u * t * c[k + 1] + 3 * u * t * t * c[k + 2] + t * t * t * c[k + 3];
          for (const QRectF& box : drawing.boxes)
            QVERIFY2(!box.adjusted(0.5, 0.5, -0.5, -0.5).contains(p), qPrintable(QString("edge %1").arg(i)));
        }
      }
    }
  }

  void pinsAreFirstAndLast() {
    DotGraph graph = blocks(5);
    const DotBox pin{.width = 1, .height = 1, .topPorts = {}, .bottomPorts = {}};
    graph.boxes.insert(graph.boxes.end(), {pin, pin});
    const int in = static_cast<int>(graph.boxes.size()) - 2, out = in + 1;
    graph.edges.push_back({.from = in, .to = 3});
    graph.edges.push_back({.from = 1, .to = out});
    graph.sources = {in};
    graph.sinks = {out};
    const std::vector<int> rank = findRanks(graph);
    for (size_t i = 0; i < rank.size(); ++i) {
      if (static_cast<int>(i) == in || static_cast<int>(i) == out) continue;
      QVERIFY(rank[i] > rank[static_cast<size_t>(in)] && rank[i] < rank[static_cast<size_t>(out)]);
    }
  }

  void sizeStaysLinear_data() {
    QTest::addColumn<DotGraph>("graph");
    QTest::newRow("a mask that 25,000 blocks read") << blocks(33'333);
    QTest::newRow("any graph without circles") << tangle(100'000, 150'000, false);
    QTest::newRow("any graph") << tangle(100'000, 150'000, true);
  }
  void sizeStaysLinear() {
    QFETCH(DotGraph, graph);
    QElapsedTimer timer;
    timer.start();
    const Layers layers = makeLayers(graph);
    QVERIFY(layers.rank.size() <= 5 * (graph.boxes.size() + graph.edges.size()));
    const DotDrawing drawing = layOutInLayers(graph);
    qInfo("%zu boxes, %zu edges: %lld ms", graph.boxes.size(), graph.edges.size(), timer.elapsed());
    QCOMPARE(drawing.boxes.size(), graph.boxes.size());
    QCOMPARE(overlaps(drawing), 0);
    size_t points = 0;
    for (const auto& curve : drawing.curves) points += curve.size();
    QVERIFY(points <= 50 * (graph.boxes.size() + graph.edges.size()));
  }
};

}  // namespace normlens::layout

QTEST_MAIN(normlens::layout::LayeredLayoutTest)
#include "layered_layout_test.moc"

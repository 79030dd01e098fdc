// Graphviz in its process: what happens when it is slow, dies, talks nonsense or is not there, and when nobody waits.
#include <sys/wait.h>

#include <QElapsedTimer>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>
#include <memory>
#include <thread>

#include "tests/support/graph_documents.h"
#include "ui/layout/dot/dot_wire.h"
#include "ui/layout/group_layouter.h"
#include "ui/layout/layout_worker.h"

namespace normlens::layout {
namespace {

DotGraph chain() {
  DotGraph graph;
  for (int i = 0; i < 3; ++i) graph.boxes.push_back({.width = 60, .height = 24, .topPorts = {20}, .bottomPorts = {}});
  graph.edges = {{.from = 0, .to = 1, .toPort = 0}, {.from = 1, .to = 2}};
  return graph;
}

bool isAlive(pid_t pid) { return ::kill(pid, 0) == 0; }

}  // namespace

class DotProcessTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;

  // A program of one line of shell in place of normlens-layout.
  DotProgram fake(const QByteArray& line) {
    static int count = 0;
    const QString path = folder_.filePath(QString::number(++count));
    QFile file(path);
    if (!file.open(QFile::WriteOnly)) qFatal("no fake");
    file.write("#!/bin/sh\n" + line + "\n");
    file.close();
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return {path, std::chrono::milliseconds(100)};
  }

 private Q_SLOTS:
  void initTestCase() { qRegisterMetaType<LayoutResult>(); }

  void whatIsSentArrives() {
    const QByteArray frame = framed(chain());
    const std::optional<DotGraph> graph = graphFrom(frame.mid(4));
    QVERIFY(graph.has_value());
    QCOMPARE(framed(*graph), frame);
    for (qsizetype cut = 4; cut < frame.size(); ++cut) QVERIFY(!graphFrom(frame.mid(4, cut - 4)).has_value());
    QVERIFY(!drawingFrom(QByteArray(64, '\xff')).has_value());
  }

  void aGraphComesBackDrawn() {
    DotProcess dot;
    const Result<DotDrawing> drawing = dot.run(chain());
    QVERIFY(drawing.has_value());
    QVERIFY(drawing->boxes[0].bottom() < drawing->boxes[1].top());
    const pid_t first = dot.pid();
    QVERIFY(dot.run(chain()).has_value());
    QCOMPARE(dot.pid(), first);
  }

  void aKilledProcessIsStartedAgain() {
    DotProcess dot;
    QVERIFY(dot.run(chain()).has_value());
    ::kill(dot.pid(), SIGKILL);
    QVERIFY(!dot.run(chain()).has_value());
    QCOMPARE(dot.pid(), -1);
    QVERIFY(dot.run(chain()).has_value());
  }

  void aStopEndsTheWait() {
    DotProgram slow = fake(R"(printf '\0\0\0\0' >&0; exec sleep 100)");
    slow.deadline = std::chrono::minutes(1);
    DotProcess dot(slow);
    std::stop_source stop;
    std::jthread later([&] {
      QTest::qSleep(50);
      stop.request_stop();
    });
    QElapsedTimer timer;
    timer.start();
    const Result<DotDrawing> drawing = dot.run(chain(), stop.get_token());
    QCOMPARE(drawing.error().code, ErrorCode::Cancelled);
    QVERIFY(timer.elapsed() < 10'000);
    QCOMPARE(dot.pid(), -1);
  }

  void itEndsWithItsOwner() {
    pid_t pid = -1;
    {
      DotProcess dot;
      QVERIFY(dot.run(chain()).has_value());
      pid = dot.pid();
      QVERIFY(isAlive(pid));
    }
    QVERIFY(!isAlive(pid));
  }

  // A window that is killed kills nothing: the process sees to it itself.
  void itEndsWithTheThreadThatStartedIt() {
    std::unique_ptr<DotProcess> dot;
    std::thread([&] {
      dot = std::make_unique<DotProcess>();
      QVERIFY(dot->run(chain()).has_value());
    }).join();
    siginfo_t how{};
    QCOMPARE(::waitid(P_PID, static_cast<id_t>(dot->pid()), &how, WEXITED | WNOWAIT), 0);
    QCOMPARE(how.si_code, int{CLD_KILLED});
  }

  void thereIsAPictureWithoutIt_data() {
    QTest::addColumn<QByteArray>("line");
    QTest::newRow("slow") << QByteArray(R"(printf '\0\0\0\0' >&0; exec sleep 100)");
    QTest::newRow("killed") << QByteArray("kill -9 $$");
    QTest::newRow("nonsense") << QByteArray(R"(printf '\0\0\0\0\3\0\0\0abc' >&0; exec cat >/dev/null)");
    QTest::newRow("too much") << QByteArray(R"(printf '\0\0\0\0\377\377\377\377' >&0; exec cat >/dev/null)");
    QTest::newRow("not there") << QByteArray();
  }
  void thereIsAPictureWithoutIt() {
    QFETCH(QByteArray, line);
    GroupLayouter layouter(line.isEmpty() ? DotProgram{"/nowhere", {}} : fake(line));
    const Hierarchy h = buildHierarchy(test::gpt2Document(3));
    GroupSet all;
    for (size_t i = 0; i < h.items.size(); ++i) all.insert(static_cast<int>(i));
    const Result<Layout> layout = layouter.layOut(h, all, {});
    QVERIFY(layout.has_value());
    for (size_t i = 1; i < h.items.size(); ++i) QVERIFY(layout->boxOfItem[i] >= 0);
    QCOMPARE(layouter.dotRuns(), GroupLayouter::kMostFailures);
  }

  void anotherModelDoesNotWait() {
    DotProgram slow = fake(R"(printf '\0\0\0\0' >&0; exec sleep 100)");
    slow.deadline = std::chrono::minutes(1);
    QElapsedTimer timer;
    timer.start();
    {
      LayoutWorker worker(nullptr, slow);
      worker.request({test::gpt2Document(), nullptr, {}, {}, std::nullopt});
      QTest::qWait(100);
      worker.request({test::gpt2Document(1), nullptr, {}, {}, std::nullopt});
      QTest::qWait(100);
      worker.cancel();
      worker.request({test::gpt2Document(2), nullptr, {}, {}, std::nullopt});
      QTest::qWait(50);
      QVERIFY(worker.busy());
    }
    QVERIFY2(timer.elapsed() < 20'000, "the end waited for Graphviz");
  }

  void whatGraphvizIsGivenIsBounded() {
    GroupLayouter layouter;
    for (const auto& document : {test::flatDocument(5000), test::bertDocument(96), test::gpt2Document(200)}) {
      const Hierarchy h = buildHierarchy(document);
      GroupSet all;
      for (size_t i = 0; i < h.items.size(); ++i) all.insert(static_cast<int>(i));
      QVERIFY(layouter.layOut(h, all, {}).has_value());
    }
    QVERIFY(layouter.largestDotRun() <= kMostForDot + 10);  // orders that rails add
    QVERIFY2(layouter.dotRuns() < 200, qPrintable(QString::number(layouter.dotRuns())));
  }
};

}  // namespace normlens::layout

QTEST_MAIN(normlens::layout::DotProcessTest)
#include "dot_process_test.moc"

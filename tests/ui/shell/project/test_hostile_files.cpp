// Files of any content where the window looks for a project, for work that was put aside, or for its settings.
#include <sys/stat.h>

#include <QAbstractButton>
#include <QRegularExpression>
#include <QSettings>

#include "tests/ui/shell/shown_window.h"
#include "ui/client/engine_client.h"
#include "ui/session/project/recent_files.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/screenshot.h"

namespace normlens::ui {

namespace {

constexpr int kDeep = 100'000;

// moc reads no raw strings with quotes in them.
QByteArray json(const char* text) { return QByteArray(text).replace('\'', '"'); }

QByteArray projectWith(const QByteArray& member, const QByteArray& content) {
  const QByteArray whole = json(
      "{'normlens_project': 1, 'model': {'path': 'gpt2.pt', 'beside': 'gpt2.pt'}, 'plan': {'policy': 'balanced'}, "
      "'view': {}, 'inputs': {}}");
  const qsizetype at = whole.indexOf('"' + member + "\": ");
  if (at < 0) return whole.chopped(1) + ", \"" + member + "\": " + content + '}';
  const qsizetype from = at + member.size() + 4;
  return whole.left(from) + content + whole.mid(whole.indexOf('}', from) + 1);
}

QByteArray listOf(const QByteArray& item, int times) {
  return '[' + QByteArray(item + ',').repeated(times).chopped(1) + ']';
}

// All of a measurement's numbers are this one.
QByteArray benchOf(const QByteArray& number) {
  QByteArray whole = json("{'points': [P, P]}");
  whole.replace(
      "P", json("{'at': [['seq', '8']], 'device': 'cpu', 'a': S, 'b': S, 'rounds': [[N, N], [1, N]], 'speedup': N, "
                "'ci_low': N, 'ci_high': N, 'fold_ms': N, 'break_even': N, 'complete': true}"));
  whole.replace("S", json("{'latency': L, 'samples_ms': [N, 1, 2, N], 'ops': [{'op': 'x', 'count': 3, 'ms': N}], "
                          "'norm_share': N}"));
  whole.replace("L", json("{'median_ms': N, 'mean_ms': N, 'p5_ms': N, 'p95_ms': N, 'p99_ms': N, 'throughput': N}"));
  return whole.replace("N", number);
}

}  // namespace

class TestHostileFiles final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    QSettings().clear();
    folder_ = std::make_unique<QTemporaryDir>();
    model_ = test::modelFile(*folder_);
    project_ = folder_->filePath(QStringLiteral("mine.normlens"));
  }

  void aProjectThatIsNoneIsToldInASentence_data() {
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QString>("words");
    const QString none = QStringLiteral("this is not a NormLens project");
    const QString lacks = QStringLiteral("the project has no valid model or plan");
    QTest::newRow("empty") << QByteArray() << none;
    // NOLINTNEXTLINE(modernize-raw-string-literal): moc does not read such a string
    QTest::newRow("cut off") << QByteArray("{\"normlens_project\":1,\"model\":{\"pa") << none;
    QTest::newRow("deep list") << QByteArray("[").repeated(kDeep) + QByteArray("]").repeated(kDeep) << none;
    QTest::newRow("deep within") << projectWith("bench",
                                                QByteArray("[").repeated(kDeep) + QByteArray("]").repeated(kDeep))
                                 << none;
    QTest::newRow("deep objects") << QByteArray("{\"a\":").repeated(kDeep) + '1' + QByteArray("}").repeated(kDeep)
                                  << none;
    QTest::newRow("infinite zoom") << projectWith("view", json("{'zoom': 1e999}")) << none;
    QTest::newRow("long text") << projectWith("plan", json("{'policy': '") + QByteArray(1 << 20, 'x') + "\"}") << none;
    QTest::newRow("500,000 kept") << projectWith("plan",
                                                 json("{'policy': 'all', 'kept': ") + listOf("\"a\"", 500'000) + '}')
                                  << QStringLiteral("its list 'kept' has 500000 entries, more than 100000");
    QTest::newRow("500,000 runs") << projectWith("bench_runs", listOf("{}", 500'000))
                                  << QStringLiteral("its list 'bench_runs' has 500000 entries");
    const QString beyond = QStringLiteral("its inputs are larger than any model allows");
    QTest::newRow("long input") << projectWith("inputs", "{\"specs\": [\"" + QByteArray(60'000, 'x') + "\"]}")
                                << beyond;
    QTest::newRow("2,000 inputs") << projectWith("inputs", "{\"assume\": " + listOf("\"a\"", 2000) + '}') << beyond;
    QTest::newRow("number beside") << projectWith("model", json("{'path': 'gpt2.pt', 'beside': 5}")) << lacks;
    QTest::newRow("model is a list") << projectWith("model", "[]") << lacks;
    QTest::newRow("kept is an object") << projectWith("plan", json("{'policy': 'all', 'kept': {'a': 1}}"))
                                       << QStringLiteral("'kept' is not a list");
    QTest::newRow("kept numbers") << projectWith("plan", json("{'policy': 'all', 'kept': [1]}")) << lacks;
    QTest::newRow("huge bytes") << projectWith("model", json("{'path': 'gpt2.pt', 'bytes': 1e300}"))
                                << QStringLiteral("'bytes' is not a whole number");
    QTest::newRow("centered by a fraction")
        << projectWith("plan", json("{'policy': 'all', 'centered': [{'value': 1e300}]}"))
        << QStringLiteral("'value' is not a whole number");
    QTest::newRow("newer") << QByteArray("{\"normlens_project\": 18446744073709551615}") << lacks;
    QTest::newRow("not UTF-8") << QByteArray("\xff\xfe\x00", 3) << none;
  }
  void aProjectThatIsNoneIsToldInASentence() {
    QFETCH(QByteArray, content);
    QFETCH(QString, words);
    test::write(project_, content);
    screenshotTells(words);
  }

  void whatIsNoFileIsNoProject_data() {
    QTest::addColumn<QString>("kind");
    for (const char* kind : {"pipe", "folder", "device", "2 GB", "missing"}) QTest::newRow(kind) << kind;
  }
  void whatIsNoFileIsNoProject() {
    QFETCH(QString, kind);
    QString words = QStringLiteral("a project is a file");
    if (kind == u"pipe") QCOMPARE(::mkfifo(qPrintable(project_), 0600), 0);
    if (kind == u"folder") QVERIFY(QDir().mkpath(project_));
    if (kind == u"device") QVERIFY(QFile::link(QStringLiteral("/dev/zero"), project_));
    if (kind == u"2 GB") {
      test::write(project_, {});
      QVERIFY(QFile::resize(project_, qint64{2} << 30));
      words = QStringLiteral("too large to be a project");
    }
    if (kind == u"missing") words = QStringLiteral("cannot be read");
    screenshotTells(words);
  }

  void aProjectOfWildNumbersOpens_data() {
    QTest::addColumn<QByteArray>("content");
    for (const char* number : {"1e308", "-1e308", "5e-324", "0", "\"inf\"", "\"-inf\"", "\"nan\""}) {
      QTest::newRow(qPrintable(QStringLiteral("measured %1").arg(QLatin1String(number))))
          << projectWith("bench", benchOf(number));
    }
    QTest::newRow("far view") << projectWith("view", json("{'zoom': 1e308, 'x': 1e308, 'y': -1e308}"));
    QTest::newRow("just in view") << projectWith("view", json("{'zoom': 1e308, 'x': 1e9, 'y': -1e9}"));
    QTest::newRow("tiny zoom") << projectWith("view", json("{'zoom': 5e-324, 'x': 0, 'y': 0}"));
    QTest::newRow("turned zoom") << projectWith("view", json("{'zoom': -1, 'x': 0, 'y': 0}"));
    QTest::newRow("90,000 lost") << projectWith("plan", json("{'policy': 'all', 'kept': ") + listOf("\"a\"", 90'000) +
                                                            json(", 'centered': ") + listOf("{}", 90'000) + '}');
    QTest::newRow("90,000 open") << projectWith("view", json("{'zoom': 1, 'open': ") + listOf("\"h.0\"", 90'000) + '}');
    QTest::newRow("90,000 points") << projectWith("bench_params", json("{'sweep': ") + listOf("\"a=1\"", 90'000) + '}');
  }
  void aProjectOfWildNumbersOpens() {
    QFETCH(QByteArray, content);
    test::write(project_, content);
    MainWindow window({test::fakeEngine(), ColorScheme::Light, false, false});
    const QString picture = folder_->filePath(QStringLiteral("out.png"));
    int status = -1;
    Screenshot screenshot(&window, {picture, QSize(1200, 800), {}}, [&](int given, const QString&) { status = given; });
    screenshot.start(project_);
    QTRY_COMPARE_WITH_TIMEOUT(status, 0, 20'000);
    QCOMPARE(QImage(picture).size(), QSize(1200, 800));
    QCOMPARE(window.session()->measurements()->last().has_value(),
             QByteArray(QTest::currentDataTag()).startsWith("measured"));
    const auto charts = window.findChildren<QAbstractButton*>(
        QRegularExpression(QStringLiteral("^bench(Latency|Distribution|Speedup|Ops|BreakEven|TableButton)$")));
    QCOMPARE(charts.size(), 6);
    for (QAbstractButton* chart : charts) {
      chart->click();
      QVERIFY(!window.grab().isNull());
    }
  }

  void whatWasPutAsideMayBeAnything_data() { aProjectThatIsNoneIsToldInASentence_data(); }
  void whatWasPutAsideMayBeAnything() {
    QFETCH(QByteArray, content);
    const QString recovery = folder_->filePath(QStringLiteral("recovery"));
    QVERIFY(QDir().mkpath(recovery));
    test::write(QDir(recovery).filePath(QStringLiteral("dead.normlens")), content);
    Shown shown({}, false, recovery);
    QTRY_COMPARE(shown.window.engine()->state(), EngineClient::State::Ready);
    QVERIFY(!shown.window.infoBar()->isVisible());
    shown.openAndAnalyse(model_);
  }

  void settingsMayBeAnything() {
    QSettings settings;
    for (const char* key : {"recent/size", "inputs/size"}) settings.setValue(QLatin1String(key), 2'147'483'647);
    for (const char* key : {"window/geometry", "window/across", "window/down", "window/upper", "window/font",
                            "numbers/digits", "projects/autosave", "graph/leftToRight", "recent/1/path"}) {
      settings.setValue(QLatin1String(key), QByteArray("\x01\xd9\xd0\xcb\x00\x03\xff\xff\xff\xff", 10).repeated(8));
    }
    settings.sync();
    Shown shown(model_, {}, true);
    QCOMPARE(recentFiles().size(), 1);
  }

 private:
  // One sentence in the window, and the exit status of a picture of it.
  void screenshotTells(const QString& words) {
    MainWindow window({test::fakeEngine(), ColorScheme::Light, false, false});
    int status = -1;
    QString line;
    Screenshot screenshot(&window, {folder_->filePath(QStringLiteral("out.png")), QSize(800, 600), {}},
                          [&](int given, const QString& text) {
                            status = given;
                            line = text;
                          });
    screenshot.start(project_);
    QTRY_COMPARE_WITH_TIMEOUT(status, 3, 20'000);
    QVERIFY2(line.contains(words) && line.contains(QStringLiteral("mine.normlens")), qPrintable(line));
    QVERIFY(!line.contains(u'\n'));
    QVERIFY(window.infoBar()->showsError());
  }

  std::unique_ptr<QTemporaryDir> folder_;
  QString model_, project_;
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestHostileFiles>(argc, argv); }

#include "test_hostile_files.moc"

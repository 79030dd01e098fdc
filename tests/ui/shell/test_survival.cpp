// What the window outlives: engines that are silent, hostile or die again and again; files of any content.
#include <sys/stat.h>

#include <QAction>
#include <QLabel>
#include <QPushButton>
#include <QRegularExpression>
#include <QSettings>
#include <algorithm>
#include <csignal>

#include "tests/ui/shell/shown_window.h"
#include "ui/client/engine_client.h"
#include "ui/session/project/project_keeper.h"
#include "ui/session/project/recent_files.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/frame/story_bar.h"
#include "ui/window/screenshot.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

namespace {

constexpr int kNoticed = EngineClient::kSilence * 1000 + 600;
constexpr int kDeep = 100'000;

QStringList attack(const char* method, const QString& how) {
  return {QStringLiteral("--attack"), QLatin1String(method) + u'=' + how};
}

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

void write(const QString& path, const QByteArray& content) {
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(content);
}

}  // namespace

class TestSurvival final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    QSettings().clear();
    folder_ = std::make_unique<QTemporaryDir>();
    model_ = test::modelFile(*folder_);
    project_ = folder_->filePath(QStringLiteral("mine.normlens"));
  }

  // ---- what an engine says

  void anEngineThatSpeaksNonsenseIsEnded_data() {
    QTest::addColumn<QString>("words");
    QTest::newRow("deep list") << "nested more than 64 deep";
    QTest::newRow("deep object") << "nested more than 64 deep";
    QTest::newRow("many values") << "holds more than 33554432 values";
    QTest::newRow("long text") << "a text of more than 16777216 bytes";
    QTest::newRow("frame of 10 GB") << "a message of 10000000000 bytes is too large";
    QTest::newRow("not JSON") << "the message is not JSON";
    QTest::newRow("not an object") << "the message is not an object";
    QTest::newRow("id is a text") << "id must be a whole number";
    QTest::newRow("text without end") << "something that is no message came";
    QTest::newRow("lines without end") << "something that is no message came";
    QTest::newRow("empty lines without end") << "something that is no message came";
    QTest::newRow("frames without end") << "the message is not JSON";
  }
  void anEngineThatSpeaksNonsenseIsEnded() {
    QFETCH(QString, words);
    const QString flag = test::modelFile(*folder_, QStringLiteral("attack.flag"));
    Shown shown(attack("plan", QLatin1String(QTest::currentDataTag())) + QStringList{QStringLiteral("--while"), flag});
    shown.window.openFile(model_);
    QTRY_VERIFY_WITH_TIMEOUT(shown.window.infoBar()->showsError(), 20'000);
    const QString told = shown.window.infoBar()->message();
    QVERIFY2(told.startsWith(QStringLiteral("The engine speaks nonsense: ")) && told.contains(words), qPrintable(told));
    QVERIFY(!shown.session.busy());
    shown.click("infoAction");
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QVERIFY(!shown.window.infoBar()->isVisible());
  }

  void whatNobodyAskedForIsDropped_data() {
    QTest::addColumn<bool>("unused");
    for (const char* how : {"answers to nobody", "answers again and again", "huge ids", "progress of nobody",
                            "progress of wrong types", "unknown notification", "lines on the side"}) {
      QTest::newRow(how) << true;
    }
  }
  void whatNobodyAskedForIsDropped() {
    Shown shown(attack("analyze", QLatin1String(QTest::currentDataTag())));
    shown.openAndAnalyse(model_);
    QVERIFY(shown.session.plan().has_value());
    QVERIFY(!shown.window.infoBar()->isVisible());
  }

  // ---- silence

  void aSilentEngineIsNoticed_data() {
    QTest::addColumn<EngineCommand>("engine");
    for (const char* how : {"stop", "half a message", "half a header"}) {
      QTest::newRow(how) << test::fakeEngine(attack("open", QLatin1String(how)));
    }
    QTest::newRow("from its start") << EngineCommand{QStringLiteral("/bin/sleep"), QStringLiteral("1000")};
  }
  void aSilentEngineIsNoticed() {
    QFETCH(EngineCommand, engine);
    MainWindow window({engine, ColorScheme::Light, false, false});
    window.show();
    window.openFile(model_);
    QTRY_VERIFY_WITH_TIMEOUT(window.infoBar()->isVisible(), kNoticed);
    QCOMPARE(window.infoBar()->message(), QStringLiteral("The engine has not answered for 5 s."));
    QCOMPARE(window.findChild<QLabel*>(QStringLiteral("engineState"))->text(), QStringLiteral("Engine silent for 5 s"));
    QTRY_COMPARE(window.infoBar()->message(), QStringLiteral("The engine has not answered for 6 s."));
  }

  void anEngineAtLongWorkIsNotSilent() {
    Shown shown({QStringLiteral("--deaf"), QStringLiteral("open=%1").arg(kNoticed + 1000)});
    QSignalSpy silence(shown.window.engine(), &EngineClient::silenceChanged);
    shown.window.openFile(model_);
    QTRY_VERIFY_WITH_TIMEOUT(shown.session.model().has_value(), kNoticed + 5000);
    QCOMPARE(silence.count(), 0);
  }

  void waitingHidesTheBarAndASignOfLifeEndsIt() {
    Shown shown;
    shown.openAndAnalyse(model_);
    const auto engine = static_cast<pid_t>(shown.window.engine()->processId());
    ::kill(engine, SIGSTOP);
    QTRY_VERIFY_WITH_TIMEOUT(shown.window.infoBar()->isVisible(), kNoticed);
    ::kill(engine, SIGCONT);
    QTRY_VERIFY(!shown.window.infoBar()->isVisible());
    QCOMPARE(shown.child<QLabel>("engineState")->text(), QStringLiteral("Engine ready"));
    ::kill(engine, SIGSTOP);
    QTRY_VERIFY_WITH_TIMEOUT(shown.window.infoBar()->isVisible(), kNoticed);
    shown.click("infoAction");
    QVERIFY(!shown.window.infoBar()->isVisible());
    QTRY_COMPARE(shown.window.engine()->silence(), 7);
    QVERIFY(!shown.window.infoBar()->isVisible());
    ::kill(engine, SIGCONT);
    QTRY_COMPARE(shown.window.engine()->silence(), 0);
  }

  void aRestartKeepsPlanProofAndCharts() {
    Shown shown;
    shown.openAndAnalyse(model_);
    shown.session.choices()->keepNorm(2, true);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    shown.session.fold();
    QTRY_VERIFY(shown.session.foldResult().has_value());
    shown.session.measure();
    QTRY_VERIFY(shown.session.measurements()->last().has_value());
    ::kill(static_cast<pid_t>(shown.window.engine()->processId()), SIGSTOP);
    QTRY_VERIFY_WITH_TIMEOUT(shown.window.infoBar()->isVisible(), kNoticed);
    QCOMPARE(shown.child<QPushButton>("infoOther")->text(), QStringLiteral("Restart engine"));
    shown.click("infoOther");
    QTRY_VERIFY(shown.session.served() && shown.session.plan() && !shown.session.busy());
    QVERIFY(!shown.window.infoBar()->isVisible());
    QCOMPARE(shown.session.choices()->params().keep_norms, std::vector<int>{2});
    QVERIFY(shown.session.choices()->undoStack()->canUndo());
    QVERIFY(shown.session.foldResult() && shown.session.foldResult()->verify);
    QVERIFY(shown.session.measurements()->last().has_value());
    shown.session.choices()->keepNorm(2, false);
    QVERIFY(!shown.session.foldResult().has_value());
  }

  // ---- death

  void theBarOfACrashLeavesOnceAnEngineIsReady() {
    Shown shown;
    shown.openAndAnalyse(model_);
    ::kill(static_cast<pid_t>(shown.window.engine()->processId()), SIGKILL);
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    shown.child<QAction>("restartEngine")->trigger();
    QTRY_COMPARE(shown.window.engine()->state(), EngineClient::State::Ready);
    QTRY_VERIFY(!shown.window.infoBar()->isVisible());
  }

  void thePlanIsShownAndChangedWhileTheEngineIsAway() {
    Shown shown;
    shown.openAndAnalyse(model_);
    shown.window.workspace()->bottom()->showTab(BottomPanel::Inputs);
    QVERIFY(shown.child<QAbstractButton>("inputsGuess")->isEnabled());
    ::kill(static_cast<pid_t>(shown.window.engine()->processId()), SIGKILL);
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    QVERIFY(!shown.child<QAbstractButton>("inputsGuess")->isEnabled());
    QVERIFY(!shown.child<QAbstractButton>("inputsLoad")->isEnabled());
    shown.session.choices()->keepNorm(2, true);
    QVERIFY(shown.session.plan());
    shown.child<QAction>("restartEngine")->trigger();
    QTRY_VERIFY(shown.session.served() && shown.session.plan() && !shown.session.busy());
    QVERIFY2(!shown.session.folds(2), "asked for once it was back");
  }

  void whatItSaidLongBeforeItDiedAreNotItsLastWords() {
    Shown shown(attack("open", QStringLiteral("lines on the side")));
    shown.openAndAnalyse(model_);
    QTest::qWait(2500);  // beats that it answers
    ::kill(static_cast<pid_t>(shown.window.engine()->processId()), SIGKILL);
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    QVERIFY2(!shown.window.infoBar()->message().contains(QStringLiteral("little worth")),
             qPrintable(shown.window.infoBar()->message()));
  }

  void aBarLeavesWhenOtherWorkBegins() {
    Shown shown;
    shown.openAndAnalyse(model_);
    InfoBar* bar = shown.window.infoBar();
    bar->show(InfoBar::Tone::Error, QStringLiteral("The disk is full."));
    shown.session.fold();
    QVERIFY(!bar->isVisible());
    QTRY_VERIFY(shown.session.foldResult().has_value());
    // Wait and Restart are still needed.
    bar->show(InfoBar::Tone::Choice, QStringLiteral("The engine has not answered for 5 s."));
    bar->setTopic(QStringLiteral("engine"));
    shown.session.measure();
    QVERIFY(bar->isVisible());
    bar->show(InfoBar::Tone::Error, QStringLiteral("The model has not been analysed yet."));
    shown.child<QAction>("restartEngine")->trigger();
    QVERIFY(!bar->isVisible());
  }

  void aModelThatKillsTheEngineTwiceIsNotReopenedByItself() {
    Shown shown(attack("analyze", QStringLiteral("die")));
    QSignalSpy starts(shown.window.engine(), &EngineClient::stateChanged);
    shown.window.openFile(model_);
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    QCOMPARE(shown.child<QPushButton>("infoAction")->text(), QStringLiteral("Restart and reopen"));
    shown.click("infoAction");
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    QCOMPARE(shown.child<QPushButton>("infoAction")->text(), QStringLiteral("Restart"));
    QVERIFY(!shown.session.reopens());
    shown.click("infoAction");
    QTRY_COMPARE(shown.window.engine()->state(), EngineClient::State::Ready);
    QVERIFY(!shown.session.busy() && !shown.session.served());
    QVERIFY(shown.session.model().has_value());
    // Another model is opened as ever.
    QCOMPARE(shown.window.storyBar()->nextAction(), NextAction::Resume);
  }

  void anEngineThatDiesAtItsStartIsNotStartedByItself() {
    const QString count = folder_->filePath(QStringLiteral("count"));
    const QString script = folder_->filePath(QStringLiteral("engine"));
    write(script, "#!/bin/sh\necho started >> " + count.toUtf8() + "\nexit 3\n");
    QFile(script).setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    MainWindow window({EngineCommand{script}, ColorScheme::Light, false, false});
    window.show();
    auto* again = window.findChild<QPushButton*>(QStringLiteral("infoAction"));
    for (int starts = 1; starts <= 3; ++starts) {
      QTRY_VERIFY(window.infoBar()->showsError());
      QCOMPARE(window.engine()->failedStarts(), starts);
      if (starts < 3) QTest::mouseClick(again, Qt::LeftButton);
    }
    const auto labels = window.infoBar()->findChildren<QLabel*>();
    QVERIFY(std::ranges::any_of(labels, [](QLabel* label) {
      return label->text().contains(QStringLiteral("ended 3 times before it was ready"));
    }));
    QFile counted(count);
    QVERIFY(counted.open(QIODevice::ReadOnly));
    QCOMPARE(counted.readAll().count('\n'), 3);
  }

  // ---- files

  void aProjectThatIsNoneIsToldInASentence_data() {
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QString>("words");
    const QString none = QStringLiteral("this is not a NormLens project");
    const QString lacks = QStringLiteral("the project lacks its model or its plan");
    QTest::newRow("empty") << QByteArray() << none;
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
    QTest::newRow("number beside") << projectWith("model", json("{'path': 'gpt2.pt', 'beside': 5}")) << lacks;
    QTest::newRow("model is a list") << projectWith("model", "[]") << lacks;
    QTest::newRow("kept is an object") << projectWith("plan", json("{'policy': 'all', 'kept': {'a': 1}}"))
                                       << QStringLiteral("'kept' is no list");
    QTest::newRow("kept numbers") << projectWith("plan", json("{'policy': 'all', 'kept': [1]}")) << lacks;
    QTest::newRow("huge bytes") << projectWith("model", json("{'path': 'gpt2.pt', 'bytes': 1e300}"))
                                << QStringLiteral("'bytes' is no whole number");
    QTest::newRow("centered by a fraction")
        << projectWith("plan", json("{'policy': 'all', 'centered': [{'value': 1e300}]}"))
        << QStringLiteral("'value' is no whole number");
    QTest::newRow("newer") << QByteArray("{\"normlens_project\": 18446744073709551615}") << lacks;
    QTest::newRow("not UTF-8") << QByteArray("\xff\xfe\x00", 3) << none;
  }
  void aProjectThatIsNoneIsToldInASentence() {
    QFETCH(QByteArray, content);
    QFETCH(QString, words);
    write(project_, content);
    screenshotTells(words);
  }

  void whatIsNoFileIsNoProject_data() {
    QTest::addColumn<QString>("kind");
    for (const char* kind : {"pipe", "folder", "device", "2 GB", "missing"}) QTest::newRow(kind) << kind;
  }
  void whatIsNoFileIsNoProject() {
    QFETCH(QString, kind);
    QString words = QStringLiteral("is no file");
    if (kind == u"pipe") QCOMPARE(::mkfifo(qPrintable(project_), 0600), 0);
    if (kind == u"folder") QVERIFY(QDir().mkpath(project_));
    if (kind == u"device") QVERIFY(QFile::link(QStringLiteral("/dev/zero"), project_));
    if (kind == u"2 GB") {
      write(project_, {});
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
    write(project_, content);
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
    write(QDir(recovery).filePath(QStringLiteral("dead.normlens")), content);
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
    Shown shown({}, true);
    shown.openAndAnalyse(model_);
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

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestSurvival>(argc, argv); }

#include "test_survival.moc"

// The window with the engine that ships: a demo model is opened, folded, exported, and the written file judged anew by
// an engine of its own; then the engine is killed while it works.
#include <QAbstractButton>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QProcess>
#include <QRegularExpression>
#include <algorithm>
#include <csignal>

#include "tests/support/wait_for_layout.h"
#include "tests/ui/shell/shell_test.h"
#include "ui/client/engine_client.h"
#include "ui/graphview/graph_view.h"
#include "ui/session/plan_preview.h"
#include "ui/session/session.h"
#include "ui/session/streams.h"
#include "ui/widgets/info_bar.h"
#include "ui/widgets/segmented.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/inspector/group_page.h"
#include "ui/window/main_window.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/report_export.h"
#include "ui/window/workspace/workspace.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

constexpr int kPatienceMs = 120'000;  // LibTorch takes seconds to load where the disk is cold

EngineCommand realEngine() { return EngineCommand{QStringLiteral(NORMLENS_ENGINE), QStringLiteral("serve")}; }
QString demo(const char* name) { return QStringLiteral(NORMLENS_DEMO_MODELS "/") + QLatin1String(name); }

bool showPlanned(MainWindow& window, const QString& model) {
  window.resize(1440, 900);
  window.show();
  window.openFile(model);
  const Session& session = *window.session();
  return QTest::qWaitFor([&] { return session.plan().has_value() && !session.busy(); }, kPatienceMs);
}
bool showPlanned(MainWindow& window, const char* model) { return showPlanned(window, demo(model)); }

}  // namespace

class TestRealEngine final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void opensFoldsExportsAndTheFileVerifies() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    Session& session = *window.session();
    QVERIFY(showPlanned(window, "gpt2.pt"));
    const auto totals = session.analysis()->totals;  // a copy: the next model replaces it
    QVERIFY(totals.layer_norms > 0);
    QCOMPARE(totals.free, totals.layer_norms);
    QVERIFY(session.analysis()->probe_error.empty());

    session.selection()->selectNorm(totals.layer_norms - 1);
    QTRY_VERIFY_WITH_TIMEOUT(session.selection()->zeroMean().has_value(), kPatienceMs);
    QVERIFY(session.selection()->zeroMean()->vertices.size() > 3);
    QVERIFY(!session.selection()->zeroMean()->leaves.empty());

    QTest::mouseClick(window.findChild<QAbstractButton*>(QStringLiteral("nextAction")), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(session.foldResult().has_value(), kPatienceMs);
    QVERIFY2(session.foldResult()->ok, session.foldResult()->reason.c_str());
    QVERIFY(session.foldResult()->verify->algebra.max_rel <= 1e-10);

    const QString target = folder_.filePath(QStringLiteral("folded.pt"));
    session.exportTo(target);
    QTRY_VERIFY_WITH_TIMEOUT(session.exported().has_value(), kPatienceMs);
    QVERIFY(runEngine(
        {QStringLiteral("diff"), demo("gpt2.pt"), target, QStringLiteral("--fail-above"), QStringLiteral("1e-5")}));
    // What it was folded to has no LayerNorm left.
    window.openFile(target);
    QTRY_VERIFY_WITH_TIMEOUT(session.analysis().has_value() && !session.busy() && session.path() == target,
                             kPatienceMs);
    QCOMPARE(session.analysis()->totals.layer_norms, 0);
    QCOMPARE(static_cast<int>(session.analysis()->other_norms.size()), totals.layer_norms);
    // Their weights can move still: the list, the page of each and the plan say so.
    const auto rows = window.findChild<QWidget*>(QStringLiteral("otherNorms"))->findChildren<QAbstractButton*>();
    QCOMPARE(static_cast<int>(rows.size()), totals.layer_norms);
    auto* empty = window.findChild<QLabel*>(QStringLiteral("planEmpty"));
    QTRY_VERIFY_WITH_TIMEOUT(empty->text().contains(QStringLiteral("needs the command line")), kPatienceMs);
    QTest::mouseClick(rows.front(), Qt::LeftButton);
    QCOMPARE(session.selection()->current().node, session.analysis()->other_norms.front().node);
    QStringList words;
    for (const auto* label : window.findChildren<QLabel*>()) {
      if (label->isVisible()) words << label->text();
    }
    QVERIFY2(words.join(u' ').contains(QStringLiteral("Its weight can move into the")), qPrintable(words.join(u' ')));
  }

  // The plan without centerings folds one of bloom's norms: another is folded by its button all the same.
  void oneNormIsFoldedWithTheCenteringThatItNeeds() {
    const QString model = qEnvironmentVariable("NORMLENS_SHARED") + QStringLiteral("/models/visible/bloom.pt");
    if (!QFile::exists(model)) QSKIP("NORMLENS_SHARED has the model.");
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    Session& session = *window.session();
    QVERIFY(showPlanned(window, model));
    const auto planned = [&] { return session.plan() && !session.busy(); };
    session.choices()->setPolicy(Policy::Free);
    QTRY_VERIFY_WITH_TIMEOUT(planned(), kPatienceMs);
    const auto& norms = session.analysis()->norms;
    const auto norm = std::ranges::find(norms, Verdict::WithCentering, &protocol::NormInfo::verdict);
    QVERIFY(norm != norms.end() && !session.folds(norm->index) && session.plan()->centerings == 0);
    session.selection()->selectNorm(norm->index);
    QTest::mouseClick(window.findChild<QAbstractButton*>(QStringLiteral("foldThis")), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(planned() && session.folds(norm->index), kPatienceMs);
    QVERIFY(session.plan()->centerings > 0);
    session.fold();
    QTRY_VERIFY_WITH_TIMEOUT(session.foldResult() && !session.busy(), kPatienceMs);
    QVERIFY2(session.foldResult()->ok, session.foldResult()->reason.c_str());
  }

  void whatAWayCostsIsASentence() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    Session& session = *window.session();
    QVERIFY(showPlanned(window, "gpt2.pt"));
    const auto& states = session.plan()->norms;
    const auto chosen = std::ranges::find_if(states, [](const auto& state) { return state.ways.size() > 1; });
    QVERIFY(chosen != states.end());
    session.selection()->selectNorm(chosen->norm);
    const auto labels = window.findChild<QWidget*>(QStringLiteral("planWays"))->findChildren<QLabel*>();
    QVERIFY(!labels.isEmpty());
    for (const auto* label : labels)
      QVERIFY2(!label->text().contains(QRegularExpression(QStringLiteral("\\. [a-z]"))), qPrintable(label->text()));
  }

  // In the list, the inspector and the graph, where the file has it written out.
  void aNormAndItsBlockerHaveOneNameEverywhere() {
    const QString model = qEnvironmentVariable("NORMLENS_SHARED") + QStringLiteral("/models/visible/bert.leg14.onnx");
    if (!QFile::exists(model)) QSKIP("NORMLENS_SHARED has the model.");
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    Session& session = *window.session();
    QVERIFY(showPlanned(window, model));
    auto* view = window.workspace()->graph()->view();
    QVERIFY(test::waitForLayout(*view, kPatienceMs));
    const layout::Hierarchy& hierarchy = *view->scene().hierarchy;
    QVERIFY(!session.analysis()->norms.empty());
    for (const protocol::NormInfo& norm : session.analysis()->norms) {
      const std::string path = hierarchy.path(hierarchy.itemOfId(norm.node));
      QVERIFY2(path == norm.title || path == norm.title + ".LayerNorm", path.c_str());
      // Its blocker, in the engine's sentence and in the window's rows.
      const QString blocker = norm.blocker ? session.index().nodeTitle(norm.blocker->node) : QString();
      QVERIFY2(text(norm.reason).contains(blocker), qPrintable(blocker));
    }
  }

  // Keys alone: each goes to what has the focus, and what has none of it is not reached.
  void keysTakeAModelFromOpenToExport() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    window.resize(1440, 900);
    window.show();
    QVERIFY(QTest::qWaitForWindowActive(&window));
    Session& session = *window.session();
    const auto press = [](Qt::Key key, Qt::KeyboardModifiers with = {}) {
      QWidget* focus = QApplication::focusWidget();
      QTest::keyClick(focus != nullptr ? focus : QApplication::activeWindow(), key, with);
    };
    const auto type = [](const QString& words) { QTest::keyClicks(QApplication::focusWidget(), words); };
    const auto in = [](const char* name) {
      const QWidget* focus = QApplication::focusWidget();
      return focus != nullptr && focus->objectName() == QLatin1String(name);
    };
    const auto openByKeys = [&](const QString& path) {
      press(Qt::Key_O, Qt::ControlModifier);
      QTRY_VERIFY(in("fileNameEdit"));
      type(path);
      press(Qt::Key_Return);
      QTRY_VERIFY(window.findChild<QFileDialog*>() == nullptr);
      window.activateWindow();  // as a window manager does
      QVERIFY(QTest::qWaitForWindowActive(&window));
    };
    openByKeys(demo("gpt2.pt"));
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && !session.busy(), kPatienceMs);
    press(Qt::Key_1, Qt::AltModifier);
    QTRY_VERIFY(in("normList"));
    for (int i = 0; i < 4; ++i) press(Qt::Key_Down);  // the first leads to the heading
    QTRY_COMPARE(session.selection()->current().norm, 2);
    press(Qt::Key_Up);
    QTRY_COMPARE(session.selection()->current().norm, 1);
    press(Qt::Key_L, Qt::ControlModifier);  // stays a LayerNorm
    QTRY_VERIFY_WITH_TIMEOUT(session.plan() && !session.folds(1) && !session.busy(), kPatienceMs);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(session.foldResult() && !session.busy(), kPatienceMs);
    QVERIFY(session.foldResult()->ok);
    press(Qt::Key_E, Qt::ControlModifier);
    QTRY_VERIFY(in("exportPlace0"));
    press(Qt::Key_Down);
    QTRY_COMPARE(window.findChild<QLabel*>(QStringLiteral("exportTitle"))->text(), QStringLiteral("Core ML"));
    press(Qt::Key_Up);
    QTRY_COMPARE(window.findChild<QLabel*>(QStringLiteral("exportTitle"))->text(), QStringLiteral("torch"));
    for (int i = 0; i < 3 && !in("exportFile"); ++i) press(Qt::Key_Tab);
    QVERIFY2(in("exportFile"), qPrintable(QApplication::focusWidget()->objectName()));
    press(Qt::Key_A, Qt::ControlModifier);
    const QString target = folder_.filePath(QStringLiteral("by_keys.pt"));
    type(target);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(session.exported() && !session.busy(), kPatienceMs);
    QVERIFY(runEngine(
        {QStringLiteral("diff"), demo("gpt2.pt"), target, QStringLiteral("--fail-above"), QStringLiteral("1e-5")}));
    press(Qt::Key_Escape);  // the field
    press(Qt::Key_Escape);  // the sheet
    QTRY_VERIFY(!window.workspace()->sheet()->isVisible());
    openByKeys(target);
    QTRY_VERIFY_WITH_TIMEOUT(session.path() == target && session.analysis() && !session.busy(), kPatienceMs);
    QCOMPARE(session.analysis()->totals.layer_norms, 1);  // the one that stays
  }

  // The learned positions of a ViT, as the bias of a linear layer that is written as two nodes.
  void aConstantThatIsAddedIsABias() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    QVERIFY(showPlanned(window, "vit.pt"));
    const auto& nodes = window.session()->index().graph().nodes;
    const auto added = std::ranges::find(nodes, NodeClass::Bias, &protocol::GraphNode::role);
    QVERIFY(added != nodes.end());
    window.session()->selection()->selectNode(added->id);
    QStringList words;
    for (const auto* label : window.findChildren<QLabel*>()) {
      if (label->isVisible()) words << label->text();
    }
    QVERIFY2(words.join(u' ').contains(QStringLiteral("Bias: adds a constant")), qPrintable(words.join(u' ')));
  }

  void aStreamIsNarrowedAndTheFileVerifies() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    Session& session = *window.session();
    QVERIFY(showPlanned(window, "gpt2.pt"));
    window.workspace()->showSheet(ExportSheet::Kind::Streams);
    Streams& streams = *session.streams();
    QTRY_VERIFY_WITH_TIMEOUT(streams.obstacle().isEmpty(), kPatienceMs);
    const auto& stream = streams.report()->streams.front();
    QCOMPARE(stream.width, stream.channels - 1);
    QVERIFY(streams.report()->stream_bytes.narrow < streams.report()->stream_bytes.fold);
    const QString target = folder_.filePath(QStringLiteral("narrow.pt"));
    session.narrowTo(target);
    QTRY_VERIFY_WITH_TIMEOUT(streams.result().has_value(), kPatienceMs);
    QVERIFY2(streams.result()->verify->exact == true, streams.result()->reason.c_str());
    QVERIFY(streams.result()->verify->algebra.max_rel <= 1e-10);
    QVERIFY(runEngine(
        {QStringLiteral("diff"), demo("gpt2.pt"), target, QStringLiteral("--fail-above"), QStringLiteral("1e-5")}));
    session.narrowTo(demo("gpt2.pt"));  // never over the model itself
    QTRY_VERIFY_WITH_TIMEOUT(window.infoBar()->message().contains(QStringLiteral("may not overwrite")), kPatienceMs);
    // A model that cannot be narrowed says why.
    window.openFile(demo("bert.pt"));
    QTRY_VERIFY_WITH_TIMEOUT(session.path() == demo("bert.pt") && session.plan(), kPatienceMs);
    window.workspace()->showSheet(ExportSheet::Kind::Streams);
    QTRY_VERIFY_WITH_TIMEOUT(streams.report() && session.path() == demo("bert.pt"), kPatienceMs);
    QVERIFY2(streams.obstacle().contains(QStringLiteral("post-norm")), qPrintable(streams.obstacle()));
  }

  void killedWhileItNarrowsTheWindowCarriesOn() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    Session& session = *window.session();
    QVERIFY(showPlanned(window, "vit.pt"));
    window.workspace()->showSheet(ExportSheet::Kind::Streams);
    Streams& streams = *session.streams();
    QTRY_VERIFY_WITH_TIMEOUT(streams.obstacle().isEmpty(), kPatienceMs);
    const QString target = folder_.filePath(QStringLiteral("killed.pt"));
    session.narrowTo(target);
    ::kill(static_cast<pid_t>(session.engine()->info().pid), SIGKILL);
    QTRY_VERIFY_WITH_TIMEOUT(window.infoBar()->showsError(), kPatienceMs);
    QVERIFY(!QFile::exists(target));
    QTest::mouseClick(window.findChild<QAbstractButton*>(QStringLiteral("infoAction")), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(session.plan() && streams.obstacle().isEmpty(), kPatienceMs);
    session.narrowTo(target);
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(target), kPatienceMs);
  }

  // The graph and the inspector count the same nodes; measured, each has its time in both models.
  void nodesAreCountedAndTimed() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    Session& session = *window.session();
    QVERIFY(showPlanned(window, "gpt2.pt"));
    graphview::GraphView* view = window.workspace()->graph()->view();
    test::waitForLayout(*view, 5000);
    const layout::Hierarchy& hierarchy = *view->scene().hierarchy;
    int helpers = 0, groups = 0;
    for (const protocol::GraphScope& scope : session.index().graph().scopes) {
      const int item = hierarchy.itemOfScope(scope.id);
      // Equal modules in a row are one item, and a list of modules has none of its own.
      if (scope.parent < 0 || item < 0 || hierarchy.scopeId(item) != scope.id || hierarchy.item(item).repeats > 1)
        continue;
      const GroupContent content = contentOf(session, scope.id);
      QCOMPARE(content.nodes, hierarchy.item(item).ops);
      helpers += content.helpers;
      ++groups;
    }
    QVERIFY(helpers > 0 && groups > 4);
    session.fold();
    QTRY_VERIFY_WITH_TIMEOUT(session.foldResult().has_value() && !session.busy(), kPatienceMs);
    protocol::BenchParams params = session.measurements()->params();
    params.rounds = 2;
    session.measurements()->setParams(params);
    session.measure();
    QTRY_VERIFY_WITH_TIMEOUT(session.measurements()->last() && !session.busy(), kPatienceMs);
    const protocol::BenchPoint* point = session.measurements()->timedNodes();
    QVERIFY(point != nullptr && point->b && !point->b->node_ms.empty());
    double norms = 0, all = 0;
    for (const auto& [node, ms] : point->a.node_ms) {
      all += ms;
      if (session.index().node(node)->norm >= 0) norms += ms;
    }
    QVERIFY(qAbs(norms / all - *point->a.norm_share) < 0.01);
    // The view Cost, after the plan: each time of the fold has a place in the picture, each norm its own.
    auto* mode = window.findChild<Segmented*>(QStringLiteral("graphMode"));
    mode->setCurrent(3);
    Q_EMIT mode->chosen(3);
    QTRY_VERIFY_WITH_TIMEOUT(view->planMarks().active && view->heat().active(), kPatienceMs);
    double after = 0;
    for (const auto& [node, ms] : point->b->node_ms) after += ms;
    // All but those of helpers, which are not drawn.
    QVERIFY2(view->heat().ms(0) < 1.001 * after && view->heat().ms(0) > 0.9 * after,
             qPrintable(QStringLiteral("%1 of %2 ms").arg(view->heat().ms(0)).arg(after)));
    for (const protocol::NormInfo& norm : session.analysis()->norms)
      QVERIFY(view->heat().ms(view->scene().hierarchy->itemOfId(norm.node)) > 0);
  }

  void aReportHasTheGraphAndTheProof() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    Session& session = *window.session();
    QVERIFY(showPlanned(window, "gpt2.pt"));
    test::waitForLayout(*window.workspace()->graph()->view(), 5000);
    session.fold();
    QTRY_VERIFY_WITH_TIMEOUT(session.foldResult().has_value(), kPatienceMs);
    const QString path = folder_.filePath(QStringLiteral("report.html"));
    auto* report = window.findChild<ReportExport*>();
    QSignalSpy failed(report, &ReportExport::failed);
    report->start(path);
    QTRY_VERIFY2_WITH_TIMEOUT(QFile::exists(path) || failed.count() > 0, "neither written nor refused", kPatienceMs);
    QVERIFY2(QFile::exists(path), qPrintable(failed.isEmpty() ? QString() : failed[0][0].toString()));
    const QString page = QString::fromUtf8(test::contentOf(path));
    QVERIFY(page.contains(QStringLiteral("No output changed beyond rounding")));
    QCOMPARE(page.count(QStringLiteral("<figure class=\"picture\"")), 2);
    const auto norms = static_cast<qsizetype>(session.analysis()->norms.size());
    QCOMPARE(page.count(QStringLiteral("<a class=\"spot\" href=\"#norm-")), 2 * norms);
  }

  // What the README's five minutes promise: the bar on top tells what became of the norms, and Ctrl+Z takes it back.
  void theFiveMinutesOfTheReadme() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    Session& session = *window.session();
    QVERIFY(showPlanned(window, "gpt2.pt"));
    const auto told = [&](const char* step) { return window.findChild<QAbstractButton*>(step)->accessibleName(); };
    const int norms = session.analysis()->totals.layer_norms;
    QVERIFY2(told("storyPlan").contains(QStringLiteral("Will fold %1 of %1").arg(norms)),
             qPrintable(told("storyPlan")));
    QTest::mouseClick(window.findChild<QAbstractButton*>(QStringLiteral("nextAction")), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(session.foldResult().has_value() && !session.busy(), kPatienceMs);
    const QString folded = told("storyPlan");
    QVERIFY2(folded.contains(QStringLiteral("Folded %1 of %1").arg(norms)), qPrintable(folded));
    QVERIFY2(folded.contains(QStringLiteral("tensors centered")), qPrintable(folded));
    QVERIFY2(told("storyProved").contains(QStringLiteral("in float64")), qPrintable(told("storyProved")));
    // One with a centering of its own says why; the bar's count is the plan's and the file's.
    const auto& states = session.plan()->norms;
    const auto own = std::ranges::count_if(states, [](const auto& state) { return state.counted; });
    QCOMPARE(static_cast<int>(own), session.plan()->centerings);
    QTest::keyClick(&window, Qt::Key_Z, Qt::ControlModifier);
    QVERIFY(!session.foldResult());
    QVERIFY(told("storyPlan").contains(QStringLiteral("Will fold")));
    QTest::keyClick(&window, Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(session.foldResult().has_value() && !session.busy(), kPatienceMs);
    QVERIFY(told("storyPlan").contains(QStringLiteral("Folded")));
  }

  // A table that is too small is named with its rows, for the length of an input as for its values.
  void aLimitThatIsKnownIsSaid() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    QVERIFY(showPlanned(window, "gpt2.pt"));
    Session& session = *window.session();
    QString reason;
    connect(&session, &Session::inputsUnused, &window, [&](const QString& told) { reason = told; });
    const auto refusalOf = [&](const std::string& spec) {
      reason.clear();
      protocol::InputsParams inputs;
      inputs.specs = {spec};
      session.setInputs(inputs);
      [[maybe_unused]] const bool done =
          QTest::qWaitFor([&] { return !reason.isEmpty() && !session.busy() && session.plan(); }, kPatienceMs);
      return reason;
    };
    const std::string ids = session.analysis()->inputs.front().name;
    const QString tooLong = refusalOf(ids + "=int64[1,200]:0..9");
    QVERIFY2(tooLong.contains(QStringLiteral("has 128 rows")) && tooLong.contains(QStringLiteral("200")),
             qPrintable(tooLong));
    const QString tooHigh = refusalOf(ids + "=int64[1,16]:0..99999");
    QVERIFY2(tooHigh.contains(QStringLiteral("rows: the values")), qPrintable(tooHigh));
  }

  void aBlockedNormNamesItsBlocker() {
    MainWindow window({realEngine(), ColorScheme::Dark, false, false});
    window.show();
    Session& session = *window.session();
    window.openFile(demo("bert.pt"));
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && !session.busy(), kPatienceMs);
    const auto& norms = session.analysis()->norms;
    const auto blocked =
        std::find_if(norms.begin(), norms.end(), [](const auto& norm) { return norm.verdict == Verdict::Blocked; });
    QVERIFY(blocked != norms.end());
    QVERIFY(blocked->blocker_path.size() > 1);
    QVERIFY(blocked->reason.find("not zero-mean") != std::string::npos);
    QVERIFY(blocked->paper);  // the papers take a LayerNorm's output for zero-mean
  }

  // Also where nobody pointed at it before.
  void aCenteringIsOfferedInThePlaceOfAnEditThatIsLeftOut() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    window.show();
    Session& session = *window.session();
    window.openFile(demo("gpt2.pt"));
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && !session.busy(), kPatienceMs);
    const auto& edits = session.plan()->edits;
    const auto edit = std::ranges::find_if(
        edits, [](const auto& e) { return e.text.find("center h.0.attn.proj.weight") != std::string::npos; });
    QVERIFY(edit != edits.end());
    session.choices()->setEditOn(*edit, false);
    QTRY_VERIFY_WITH_TIMEOUT(session.leftOut()->fall() && session.leftOut()->fall()->centering >= 0, kPatienceMs);
    QVERIFY(!session.leftOut()->fall()->norms.empty());
    const size_t folded = session.plan()->folded.size();
    const auto buttons = window.infoBar()->findChildren<QAbstractButton*>();
    const auto offer = std::ranges::find_if(buttons, [](const auto* button) {
      return button->text() == QStringLiteral("Center there at run time instead");
    });
    QVERIFY(offer != buttons.end());
    QTest::mouseClick(*offer, Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(session.plan() && session.plan()->folded.size() > folded, kPatienceMs);
    QVERIFY(!session.leftOut()->fall());
    QVERIFY(!window.infoBar()->isVisible());
  }

  void aTensorIsCountedBeforeAndAfterThePlanAndSaved() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    window.show();
    Session& session = *window.session();
    window.openFile(demo("gpt2.pt"));
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && !session.busy(), kPatienceMs);
    const auto& edits = session.plan()->edits;
    const auto edit = std::ranges::find(edits, "h.0.attn.proj.weight", &protocol::EditInfo::subject);
    QVERIFY(edit != edits.end());
    const int weight = edit->values.front();
    std::optional<protocol::TensorStats> stats;
    Question question(session.engine(), &window);
    session.requestTensorStats(weight, question, [&](const Reply<protocol::TensorStats>& reply) {
      QVERIFY(reply.has_value());
      stats = *reply;
    });
    QTRY_VERIFY_WITH_TIMEOUT(stats.has_value(), kPatienceMs);
    int64_t counted = 0;
    for (const int64_t bin : stats->before.histogram) counted += bin;
    QCOMPARE(counted, stats->shape[0] * stats->shape[1]);
    QVERIFY(stats->after.has_value());
    QVERIFY(stats->before.largest_column_mean > 1e-3);
    QVERIFY(stats->after->largest_column_mean < 1e-7);

    const QString target = folder_.filePath(QStringLiteral("weight.npy"));
    QSignalSpy saved(&session, &Session::tensorSaved);
    session.saveTensor(weight, target);
    QTRY_COMPARE_WITH_TIMEOUT(saved.count(), 1, kPatienceMs);
    QFile file(target);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QVERIFY(file.read(6) == QByteArray("\x93NUMPY"));
    QCOMPARE(file.size(), 128 + 4 * counted);
  }

  void editsAreLeftOutAndTheRestIsStillExact() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    window.show();
    Session& session = *window.session();
    window.openFile(demo("gpt2.pt"));
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && !session.busy(), kPatienceMs);
    const auto rows = session.planRows();
    // The edit that fewest norms need, yet more than replacing one does.
    const auto fewest = std::find_if(rows.rbegin(), rows.rend(),
                                     [](const PlanRow& row) { return row.edit.kind == EditKind::CenterConstant; });
    QVERIFY(fewest != rows.rend());
    const size_t left = rows.size(), needed = static_cast<size_t>(fewest->edit.frees.size());
    const size_t folded = session.plan()->folded.size();
    session.choices()->setEditOn(fewest->edit, false);
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && !session.busy(), kPatienceMs);
    QCOMPARE(session.plan()->folded.size(), folded - needed);
    QTRY_COMPARE_WITH_TIMEOUT(session.planRows().size(), left, kPatienceMs);
    session.fold();
    QTRY_VERIFY_WITH_TIMEOUT(session.foldResult().has_value(), kPatienceMs);
    QVERIFY2(session.foldResult()->ok, session.foldResult()->reason.c_str());
    session.choices()->undoStack()->undo();  // Fold
    session.choices()->undoStack()->undo();
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && session.plan()->folded.size() == folded, kPatienceMs);
  }

  void otherInputsAreRunAndRefusedOnesChangeNothing() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    window.show();
    Session& session = *window.session();
    window.openFile(demo("gpt2.pt"));
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && !session.busy(), kPatienceMs);
    protocol::InputsParams inputs;
    inputs.specs = {"in_0=int64[3,5]:0..9"};
    session.setInputs(inputs);
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && !session.busy(), kPatienceMs);
    QCOMPARE(session.analysis()->inputs.front().shape, (std::vector<int64_t>{3, 5}));
    QVERIFY(session.analysis()->probe_error.empty());
    const protocol::InputsParams before = session.inputs();
    inputs.specs = {"in_0=int64[3,5]:1000000..1000001"};  // beyond the rows of the table
    session.setInputs(inputs);
    QTRY_VERIFY_WITH_TIMEOUT(window.infoBar()->showsError() && !session.busy(), kPatienceMs);
    QCOMPARE(session.inputs().specs, before.specs);
    session.fold();
    QTRY_VERIFY_WITH_TIMEOUT(session.foldResult().has_value(), kPatienceMs);
    QVERIFY(session.foldResult()->ok);
    session.setInputs({});  // forgets the preset
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && !session.busy(), kPatienceMs);
  }

  void killedWhileItFoldsTheWindowCarriesOn() {
    MainWindow window({realEngine(), ColorScheme::Light, false, false});
    window.show();
    Session& session = *window.session();
    window.openFile(demo("vit.pt"));
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && !session.busy(), kPatienceMs);
    session.fold();
    QVERIFY(session.busy());
    ::kill(static_cast<pid_t>(session.engine()->info().pid), SIGKILL);
    QTRY_VERIFY_WITH_TIMEOUT(window.infoBar()->showsError(), kPatienceMs);
    QVERIFY(session.model().has_value());
    QTest::mouseClick(window.findChild<QAbstractButton*>(QStringLiteral("infoAction")), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(session.plan().has_value() && !session.busy(), kPatienceMs);
    session.fold();
    QTRY_VERIFY_WITH_TIMEOUT(session.foldResult().has_value(), kPatienceMs);
    QVERIFY(session.foldResult()->ok);
  }

 private:
  static bool runEngine(const QStringList& words) {
    QProcess process;
    process.start(QStringLiteral(NORMLENS_ENGINE), words);
    return process.waitForFinished(kPatienceMs) && process.exitStatus() == QProcess::NormalExit &&
           process.exitCode() == 0;
  }

  QTemporaryDir folder_;
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestRealEngine>(argc, argv); }

#include "test_real_engine.moc"

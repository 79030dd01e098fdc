// The inspector: a tensor looked at before and after the plan, copied, saved; a slow answer dropped when one moves on.
#include <QClipboard>
#include <QLabel>
#include <algorithm>

#include "tests/support/wait_for_layout.h"
#include "tests/ui/shell/shown_window.h"
#include "ui/client/engine_client.h"
#include "ui/graphview/graph_view.h"
#include "ui/widgets/info_bar.h"
#include "ui/widgets/plots/heat_map.h"
#include "ui/widgets/plots/histogram_plot.h"
#include "ui/widgets/segmented.h"
#include "ui/window/inspector/weight_view.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/workspace.h"
#include "ui/words/format.h"
#include "ui/words/plan_mark.h"

namespace normlens::ui {

namespace {

constexpr int kBlockedNorm = 4;

// Of the page that is shown; each has one.
WeightView* weightView(Shown& shown) {
  for (auto* view : shown.window.findChildren<WeightView*>()) {
    if (view->isVisible()) return view;
  }
  return nullptr;
}

template <class T>
T* part(Shown& shown, const char* name) {
  return weightView(shown)->findChild<T*>(QLatin1String(name));
}

bool statesShown(Shown& shown, const QString& words) {
  WeightView* view = weightView(shown);
  return view != nullptr && view->findChild<QLabel*>(QStringLiteral("weightState"))->text().contains(words);
}

}  // namespace

class TestInspector final : public test::ModelTest {
  Q_OBJECT

 private Q_SLOTS:
  void init() { QGuiApplication::clipboard()->clear(); }

  void aTensorIsShownBeforeAndAfterThePlan() {
    Shown shown(model_);
    shown.clickNorm(3);
    QTRY_VERIFY(weightView(shown) && part<HistogramPlot>(shown, "histogram")->isVisible());
    QVERIFY(part<HeatMap>(shown, "heatMap")->isVisible());
    const QImage before = part<HeatMap>(shown, "heatMap")->grab().toImage();
    auto* when = part<Segmented>(shown, "weightWhen");
    QTest::mouseClick(when, Qt::LeftButton, {}, QPoint(when->width() * 3 / 4, when->height() / 2));
    QCOMPARE(when->current(), 1);
    QVERIFY(part<HeatMap>(shown, "heatMap")->grab().toImage() != before);
    QTest::mouseClick(part<QAbstractButton>(shown, "copyTensor"), Qt::LeftButton);
    const QString text = QGuiApplication::clipboard()->text();
    QVERIFY(text.startsWith(QStringLiteral("wte.weight  211×64\n  type: float32\n  range: -0.413 … 0.391\n")));
    QVERIFY(text.contains(QStringLiteral("after the plan")));
    QVERIFY(text.contains(QStringLiteral("largest mean: 1.2e-9")));
  }

  // Its norms are none of the next model's.
  // The view Cost has the prices measured; the model's page then lists what would save time.
  void whatFoldingSavesIsListedByGain() {
    Shown shown(test::modelFile(folder_, QStringLiteral("bert.pt")));
    auto* advice = shown.child<QWidget>("advice");
    QVERIFY(!advice->isVisible());
    auto* mode = shown.child<Segmented>("graphMode");
    QTest::mouseClick(mode, Qt::LeftButton, {}, QPoint(mode->width() * 7 / 8, mode->height() / 2));
    QTRY_VERIFY(advice->isVisible());
    const auto rows = [&] { return shown.child<QWidget>("adviceList")->findChildren<QAbstractButton*>(); };
    const auto& norms = shown.session.analysis()->norms;
    QVERIFY(shown.session.folds(0) && !shown.session.folds(kBlockedNorm));
    // The only one that folds free is in the plan and comes first; centerings cost more than the folds save.
    QCOMPARE(rows().size(), static_cast<qsizetype>(norms.size()));
    QCOMPARE(rows().first()->accessibleName(), QStringLiteral("LayerNorm: %1, no centering, saves 1.3 µs (1.2–1.4)")
                                                   .arg(QString::fromStdString(norms[0].title)));
    QVERIFY(rows().last()->accessibleName().endsWith(QStringLiteral("its own centering, costs 0.3 µs (0.1–0.5)")));
    QVERIFY(!shown.child<QLabel>("adviceWords")->text().contains(QStringLiteral("No gain")));
    shown.session.choices()->keepNorm(0, true);
    QTRY_VERIFY(shown.session.plan() && !shown.session.folds(0));
    QCOMPARE(rows().size(), static_cast<qsizetype>(norms.size()));
    QTest::mouseClick(rows().last(), Qt::LeftButton);
    QCOMPARE(shown.session.selection()->current().norm, norms.back().index);
  }

  void aGroupsPageOutlivesItsModel() {
    Shown shown(model_);
    auto* view = shown.window.workspace()->graph()->view();
    test::waitForLayout(*view, 5000);
    const protocol::GraphDocument& graph = shown.session.index().graph();
    const auto group = std::ranges::find(graph.scopes, std::string("h.1"), &protocol::GraphScope::path);
    QVERIFY(group != graph.scopes.end());
    Q_EMIT view->scopeSelected(group->id);
    QVERIFY(shown.child<QLabel>("groupTitle")->isVisible());
    shown.window.openFile(model_);
    QTRY_VERIFY(!shown.child<QLabel>("groupTitle")->isVisible());
    QTRY_VERIFY(shown.session.plan().has_value() && !shown.session.busy());
  }

  void aGroupSaysWhyItsNormsStay() {
    Shown shown(test::modelFile(folder_, QStringLiteral("bert.pt")));
    const protocol::NormInfo& blocked = *shown.session.norm(2);
    QVERIFY(!shown.session.folds(2));
    Q_EMIT shown.window.workspace()->graph()->view()->scopeSelected(shown.session.index().node(blocked.node)->scope);
    auto* fold = shown.child<QAbstractButton>("groupFold");
    QVERIFY(fold->isVisible() && !fold->isEnabled());
    QVERIFY2(fold->toolTip().contains(QStringLiteral("cannot be folded")), qPrintable(fold->toolTip()));
  }

  void aGroupHasAPage() {
    Shown shown(model_);
    shown.clickNorm(3);
    QTRY_VERIFY(shown.session.selection()->zeroMean().has_value());
    auto* view = shown.window.workspace()->graph()->view();
    test::waitForLayout(*view, 5000);
    QTRY_VERIFY(view->hasHighlight());
    const protocol::GraphDocument& graph = shown.session.index().graph();
    const auto group = std::ranges::find(graph.scopes, std::string("h.1"), &protocol::GraphScope::path);
    QVERIFY(group != graph.scopes.end());
    Q_EMIT view->scopeSelected(group->id);
    QCOMPARE(shown.child<QLabel>("groupTitle")->accessibleName(), QStringLiteral("h.1"));
    QVERIFY(shown.child<QLabel>("groupTitle")->isVisible());
    QVERIFY(view->hasHighlight());  // the norm's
    // Two norms, which the plan folds.
    auto* fold = shown.child<QAbstractButton>("groupFold");
    QVERIFY(!fold->isEnabled());
    QCOMPARE(fold->toolTip(), QStringLiteral("The plan already folds every LayerNorm of this group."));
    shown.click("groupKeep");
    QTRY_VERIFY(shown.session.plan().has_value() && !shown.session.busy());
    QVERIFY(fold->isEnabled() && fold->toolTip().startsWith(QStringLiteral("Fold again")));
    QCOMPARE(shown.session.plan()->folded.size(), size_t{7});
    shown.click("copyInspector");
    QVERIFY2(QGuiApplication::clipboard()->text().startsWith(QStringLiteral("h.1\n")),
             qPrintable(QGuiApplication::clipboard()->text()));
    shown.click("groupFold");
    QTRY_VERIFY(shown.session.plan().has_value() && shown.session.plan()->folded.size() == 9);
    auto* rows = shown.child<QWidget>("groupNorms");
    const auto buttons = rows->findChildren<QAbstractButton*>();
    QCOMPARE(buttons.size(), 2);
    QTest::mouseClick(buttons[1], Qt::LeftButton);
    QVERIFY(!shown.child<QLabel>("groupTitle")->isVisible());
    QVERIFY(shown.child<QLabel>("inspectorTitle")->isVisible());
  }

  void aTensorIsSavedByTheEngine() {
    Shown shown(model_);
    shown.clickNorm(3);
    QTRY_VERIFY(weightView(shown) && part<QAbstractButton>(shown, "saveTensor")->isVisible());
    QTest::mouseClick(part<QAbstractButton>(shown, "saveTensor"), Qt::LeftButton);
    const QString target = folder_.filePath(QStringLiteral("wte.npy"));
    shown.answerFileDialog("saveTensorDialog", target);
    QTRY_VERIFY(shown.window.infoBar()->isVisible());
    QVERIFY(shown.window.infoBar()->message().contains(target));
    QVERIFY(test::contentOf(target).startsWith("tensor "));
  }

  void readingALargeTensorStopsWhenOneMovesOn() {
    Shown shown(model_, {QStringLiteral("--slow"), QStringLiteral("tensor_stats=60000")});
    shown.clickNorm(3);
    QTRY_VERIFY(statesShown(shown, QStringLiteral("is reading the tensor")));
    QTest::qWait(50);
    // The next question is answered at once, not after a minute: the first was cancelled.
    shown.session.selection()->clear();
    shown.session.choices()->setPolicy(Policy::All);
    QTRY_VERIFY_WITH_TIMEOUT(shown.session.plan() && shown.session.plan()->policy == Policy::All, 1000);
  }

  void whatCannotBeReadIsSaid() {
    Shown shown(model_, {QStringLiteral("--error"), QStringLiteral("tensor_stats")});
    shown.clickNorm(3);
    QTRY_VERIFY(statesShown(shown, QStringLiteral("cut off after 12 of 40 kB")));
  }

  void theSelectionIsCopiedAsText() {
    Shown shown(model_);
    const auto copied = [&] {
      shown.click("copyInspector");
      return QGuiApplication::clipboard()->text();
    };
    QVERIFY(copied().contains(QStringLiteral("LayerNorms: 9")));
    shown.clickNorm(3);
    const QString norm = copied();
    QVERIFY2(norm.startsWith(QStringLiteral("h.1.ln_2\n")), qPrintable(norm));
    QVERIFY2(norm.contains(QString::fromStdString(shown.session.norm(3)->reason)), qPrintable(norm));
    QVERIFY2(norm.contains(QStringLiteral("\n  eps: ")), qPrintable(norm));
    // Each value is behind its name.
    QVERIFY2(norm.contains(QStringLiteral("\nVerdict\n") + verdictTitle(shown.session.norm(3)->verdict)),
             qPrintable(norm));
    QVERIFY2(norm.contains(QStringLiteral("\nPlan\n") + planBadge(PlanState::Planned)), qPrintable(norm));
    QVERIFY2(!norm.contains(u'<') && !norm.contains(kWordJoiner), qPrintable(norm));
    for (const protocol::GraphNode& node : shown.session.index().graph().nodes) {
      if (node.op != "aten::gelu") continue;
      shown.session.selection()->selectNode(node.id);
      break;
    }
    const QString node = copied();
    QVERIFY2(node.contains(QStringLiteral("\naten::gelu in ")), qPrintable(node));
    QVERIFY2(node.contains(QStringLiteral(": bent, 1×16×256 float32\n")), qPrintable(node));
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestInspector>(argc, argv); }

#include "test_inspector.moc"

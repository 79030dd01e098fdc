// The graph in the window, by clicks: the overlay of all tensors, a layer's cone, pictures, the menu, search with F3.
#include <QAbstractButton>
#include <QAction>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTreeView>
#include <set>
#include <tuple>

#include "tests/ui/shell/shell_test.h"
#include "ui/client/engine_client.h"
#include "ui/graphview/graph_view.h"
#include "ui/models/norm_model.h"
#include "ui/session/session.h"
#include "ui/widgets/info_bar.h"
#include "ui/widgets/segmented.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/main_window.h"
#include "ui/window/workspace/graph_actions.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/workspace.h"
#include "ui/words/format.h"

namespace normlens::ui {

class TestGraphPane final : public QObject {
  Q_OBJECT

  std::unique_ptr<MainWindow> window_;
  GraphPane* pane_ = nullptr;
  graphview::GraphView* view_ = nullptr;

  void chooseMode(int number) {
    auto* mode = pane_->findChild<Segmented*>(QStringLiteral("graphMode"));
    mode->setFocus();
    const double cell = mode->width() / 4.0;
    QTest::mouseClick(mode, Qt::LeftButton, {}, QPointF(cell * (number + 0.5), mode->height() / 2.0).toPoint());
    QCOMPARE(mode->current(), number);
  }
  bool takeOtherInputs() {
    Session& session = *window_->session();
    protocol::InputsParams other;
    other.specs = {"in_0=int64[3,7]:0..100"};
    session.setInputs(other);
    return QTest::qWaitFor([&] { return session.plan() && !session.busy() && !session.inputs().specs.empty(); });
  }

 private Q_SLOTS:
  void init() {
    window_ = std::make_unique<MainWindow>(WindowOptions{test::fakeEngine(), ColorScheme::Light, false, false});
    window_->resize(1440, 900);
    window_->show();
    pane_ = window_->workspace()->graph();
    view_ = pane_->view();
    view_->setAnimated(false);
    window_->openFile(test::modelFile(folder_));
    QTRY_VERIFY(window_->session()->plan().has_value() && !window_->session()->busy());
    QTRY_VERIFY(view_->isLaidOut());
  }
  void cleanup() { window_.reset(); }

  void allTensorsShowTheirMeans() {
    QVERIFY(!view_->meanStates().active());
    chooseMode(1);
    QTRY_VERIFY(view_->meanStates().active());
    const int planned = view_->meanStates().count(graphview::MeanState::Planned);
    QVERIFY(planned > 0);
    // The overlay follows the plan.
    window_->session()->choices()->keepNorm(2, true);
    QTRY_COMPARE(view_->meanStates().count(graphview::MeanState::Planned), planned - 1);
    QCOMPARE(view_->meanStates().count(graphview::MeanState::NotZero), 1);
    chooseMode(2);
    QVERIFY(!view_->meanStates().active());
  }

  // At rest nothing but the letters tells the views apart.
  void typesHaveLetters() {
    view_->setZoom(1);
    QTRY_VERIFY(view_->isStill());
    const QImage plain = view_->grab().toImage();
    chooseMode(2);
    const QImage lettered = view_->grab().toImage();
    QVERIFY(lettered != plain);
    chooseMode(0);
    QCOMPARE(view_->grab().toImage(), plain);
  }

  void aMeasurementColorsEveryNodeByItsTime() {
    auto* legend = pane_->findChild<QWidget*>(QStringLiteral("costLegend"));
    const auto words = [&] {
      QStringList lines;
      for (const QLabel* line : legend->findChildren<QLabel*>()) lines << line->text();
      return lines.join(u'\n');
    };
    QVERIFY(!legend->isVisible());
    chooseMode(3);
    QVERIFY(legend->isVisible() && !view_->heat().active());
    QVERIFY(words().contains(QStringLiteral("Measure the model")));
    Session& session = *window_->session();
    session.fold();
    QTRY_VERIFY(session.foldResult().has_value() && !session.busy());
    window_->workspace()->bottom()->showTab(BottomPanel::Benchmark);
    QTest::mouseClick(window_->findChild<QAbstractButton*>(QStringLiteral("benchStart")), Qt::LeftButton);
    QTRY_VERIFY(session.measurements()->last() && !session.busy());
    // The fold is shown: its own times, in the scale of both.
    QTRY_VERIFY(view_->heat().active() && view_->planMarks().active);
    const int norm0 = view_->scene().hierarchy->itemOfId(session.analysis()->norms.front().node);
    QCOMPARE(view_->heat().ms(norm0), 0.025);
    QVERIFY(view_->heat().level(norm0) < graphview::Heat::kLevels);
    QVERIFY2(words().contains(QStringLiteral("After the plan")), qPrintable(words()));
    QTest::keyClick(window_.get(), Qt::Key_B);
    QVERIFY(view_->heat().active() && words().contains(QStringLiteral("Before the plan")));
    const auto& hierarchy = *view_->scene().hierarchy;
    const protocol::NormInfo& norm = session.analysis()->norms.front();
    const int item = hierarchy.itemOfId(norm.node);
    QCOMPARE(view_->heat().ms(item), 0.05);
    // By powers of ten of all time: a slow node does not make the others alike.
    QCOMPARE(view_->heat().level(0), graphview::Heat::kLevels);
    graphview::NodeTimes uneven(std::vector<std::pair<int, double>>{{norm.node, 0.9}});
    for (const auto& [times, level] : {std::pair(1.0, 9), {0.1, 6}, {0.05, 6}, {0.02, 4}, {0.001, 1}}) {
      uneven.darkest = 0.9 / times;
      QCOMPARE(graphview::Heat(hierarchy, uneven).level(item), level);
    }
    QVERIFY(!legend->geometry().intersects(view_->geometry()));  // it covers nothing
    // A group has the sum of what is in it, the whole model all.
    double all = 0;
    for (const auto& [node, ms] : session.measurements()->timedNodes()->a.node_ms) {
      if (hierarchy.itemOfId(node) >= 0) all += ms;
    }
    QVERIFY(qAbs(view_->heat().ms(0) - all) < 1e-9);
    const protocol::BenchSide& original = session.measurements()->timedNodes()->a;
    QVERIFY2(words().contains(QStringLiteral("%1 for one run on CPU; its nodes, timed one by one, sum to %2")
                                  .arg(formatMilliseconds(original.latency.median_ms), formatMilliseconds(all))) &&
                 words().contains(formatMilliseconds(all) + QStringLiteral(", logarithmic")),
             qPrintable(words()));
    QVERIFY(words().contains(QStringLiteral("on CPU")));
    const QImage hot = view_->grab().toImage();
    // A pale group is not drawn with the picture of one without a time.
    const int group = hierarchy.item(item).parent;
    const int box = view_->scene().boxOf(group);
    QVERIFY(box >= 0 && view_->heat().ms(group) > 0);
    const QPoint corner = view_->camera().toScreen(view_->scene().box(box).rect).bottomRight().toPoint() - QPoint(5, 5);
    graphview::NodeTimes pale(session.measurements()->timedNodes()->a);
    pale.darkest = view_->heat().ms(group) * 100;
    view_->setTimes(std::nullopt);
    const QRgb plain = view_->grab().toImage().pixel(corner);
    view_->setTimes(pale);
    QCOMPARE(view_->heat().level(group), 3);
    QVERIFY(view_->grab().toImage().pixel(corner) != plain);
    chooseMode(0);
    QVERIFY(!view_->heat().active() && !legend->isVisible());
    QVERIFY(view_->grab().toImage() != hot);
    // Another plan was not measured; the original is what it was.
    chooseMode(3);
    session.choices()->keepNorm(2, true);
    QTRY_VERIFY(session.plan() && !session.busy());
    QVERIFY(!session.measurements()->last());
    QCOMPARE(view_->heat().ms(item), 0.05);
    QVERIFY2(words().contains(QStringLiteral("Before the plan")), qPrintable(words()));
    QTest::keyClick(window_.get(), Qt::Key_B);
    QVERIFY2(!view_->heat().active() && words().contains(QStringLiteral("No times after the plan yet")),
             qPrintable(words()));
    // With other inputs its times would be others.
    QTest::keyClick(window_.get(), Qt::Key_B);
    QVERIFY(view_->heat().active());
    QVERIFY(takeOtherInputs());
    QVERIFY(!view_->heat().active());
  }

  void timesWithOtherInputsAreNotThoseOfTheOriginal() {
    Session& session = *window_->session();
    session.fold();
    QTRY_VERIFY(session.foldResult().has_value() && !session.busy());
    session.measure();
    QTRY_VERIFY(session.measurements()->last() && !session.busy());
    chooseMode(3);
    QTest::keyClick(window_.get(), Qt::Key_B);
    QVERIFY(view_->heat().active());
    QVERIFY(takeOtherInputs());
    QVERIFY(!session.measurements()->timed() && !view_->heat().active());
  }

  void aChosenNormIsBroughtIntoViewWhateverIsShown() {
    auto* list = window_->findChild<QTreeView*>(QStringLiteral("normList"));
    for (const int mode : {1, 2, 3}) {
      chooseMode(mode);
      view_->setZoom(3);
      view_->centerOn(view_->scene().layout->bounds.topLeft());
      const int norm = mode + 4;
      const QModelIndexList rows = list->model()->match(list->model()->index(0, 0), NormModel::NormRole, norm, 1,
                                                        Qt::MatchExactly | Qt::MatchRecursive);
      QVERIFY(!rows.isEmpty());
      list->scrollTo(rows.first());
      QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualRect(rows.first()).center());
      const auto inSight = [&] {
        const auto& scene = view_->scene();
        const int box = scene.boxOf(scene.hierarchy->itemOfId(window_->session()->norm(norm)->node));
        return box >= 0 && QRectF(view_->rect()).contains(view_->camera().toScreen(scene.box(box).rect));
      };
      QTRY_VERIFY(view_->isStill() && inSight());
    }
  }

  void theExportSheetLeavesTheGraphInItsPlace() {
    const auto place = [&] {
      const QPoint corner = view_->mapTo(window_.get(), QPoint());
      return std::tuple(view_->size(), view_->camera().zoom, view_->camera().offset + corner);
    };
    const auto openAndClose = [&] {
      const auto before = place();
      QTest::mouseClick(window_->findChild<QAbstractButton*>(QStringLiteral("exportButton")), Qt::LeftButton);
      QVERIFY(!view_->isVisible());
      QTest::mouseClick(window_->findChild<QAbstractButton*>(QStringLiteral("exportClose")), Qt::LeftButton);
      QTRY_VERIFY(view_->isVisible() && view_->isStill());
      QCOMPARE(std::get<0>(place()), std::get<0>(before));
      QCOMPARE(std::get<1>(place()), std::get<1>(before));
      QCOMPARE(std::get<2>(place()), std::get<2>(before));
    };
    openAndClose();  // as a model is shown at first
    view_->fit();
    openAndClose();
    view_->setZoom(2.5);
    view_->centerOn(view_->scene().layout->bounds.bottomRight());
    openAndClose();
    window_->session()->selection()->selectNorm(5);
    QTRY_VERIFY(view_->hasHighlight() && view_->isStill());
    openAndClose();
  }

  void afterIsThePictureThatThePlanMakes() {
    const auto& marks = [this]() -> const graphview::PlanMarks& { return view_->planMarks(); };
    QVERIFY(!marks().active);
    QTest::keyClick(window_.get(), Qt::Key_B);
    QVERIFY(marks().active && !marks().ofBox.empty());
    const auto states = [&] {
      std::set<PlanState> all;
      for (const auto& [item, state] : marks().ofItem) all.insert(state);
      return all;
    };
    QCOMPARE(states(), std::set{PlanState::Planned});
    QTest::keyClick(window_.get(), Qt::Key_B);
    QVERIFY(!marks().active);
    window_->session()->fold();
    QTRY_VERIFY(marks().active);  // what Fold did is shown
    QCOMPARE(states(), std::set{PlanState::Folded});
    window_->session()->choices()->undoStack()->undo();
    QVERIFY(!marks().active);
  }

  void theConeOfALayerIsLit() {
    int linear = -1;
    for (const auto& node : window_->session()->index().graph().nodes) {
      if (linear < 0 && node.role == NodeClass::Linear) linear = node.id;
    }
    Q_EMIT view_->shiftConeRequested(linear);
    QTRY_VERIFY(view_->hasHighlight());
    QTRY_VERIFY(view_->isLaidOut());
    view_->setFocus();
    QTest::keyClick(view_, Qt::Key_Escape);
    QTRY_VERIFY(!view_->hasHighlight());
  }

  void aLayerWithoutAConeIsTold() {
    int sum = -1;
    for (const auto& node : window_->session()->index().graph().nodes) {
      if (sum < 0 && node.role == NodeClass::Residual) sum = node.id;
    }
    QSignalSpy told(pane_, &GraphPane::reported);
    Q_EMIT view_->shiftConeRequested(sum);
    QTRY_COMPARE(told.count(), 1);
    QVERIFY(!view_->hasHighlight());
  }

  void aPictureIsWritten() {
    pane_->actions()->saveWhole->trigger();
    auto* dialog = pane_->findChild<QFileDialog*>(QStringLiteral("pictureDialog"));
    QVERIFY(dialog != nullptr);
    const QString path = folder_.filePath(QStringLiteral("graph.svg"));
    dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))->setText(path);
    QSignalSpy done(pane_, &GraphPane::pictureDone);
    QMetaObject::invokeMethod(dialog, "accept");
    QTRY_COMPARE(done.count(), 1);
    QVERIFY(done.first().first().toBool());
    QVERIFY(QFile::exists(path));
    QVERIFY(window_->findChild<InfoBar*>()->isVisible());
  }

  void theMenuTurnsAndFolds() {
    GraphActions* actions = pane_->actions();
    actions->leftToRight->trigger();
    QTRY_VERIFY(view_->isLaidOut());
    QCOMPARE(view_->direction(), layout::Direction::Right);
    actions->foldRepeats->trigger();
    QTRY_VERIFY(view_->isLaidOut());
    QVERIFY(view_->options().foldRepeats);
    actions->expandAll->trigger();
    QTRY_VERIFY(view_->isLaidOut());
    QVERIFY(actions->back->isEnabled());
    QTest::mouseClick(pane_->findChild<QAbstractButton*>(QStringLiteral("graphBackButton")), Qt::LeftButton);
    QVERIFY(actions->forward->isEnabled());
  }

  void searchGoesFromOneToTheNext() {
    auto* search = window_->findChild<QLineEdit*>(QStringLiteral("search"));
    search->setFocus();
    QTest::keyClicks(search, QStringLiteral("op:linear"));
    QTest::keyClick(search, Qt::Key_Return);
    QTRY_VERIFY(window_->session()->selection()->current().node >= 0);
    const int first = window_->session()->selection()->current().node;
    window_->findChild<QAction*>(QStringLiteral("findNext"))->trigger();
    QTRY_VERIFY(window_->session()->selection()->current().node != first);
    window_->findChild<QAction*>(QStringLiteral("findPrevious"))->trigger();
    QTRY_COMPARE(window_->session()->selection()->current().node, first);
    QCOMPARE(search->text(), QStringLiteral("op:linear"));
  }

 private:
  QTemporaryDir folder_;
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestGraphPane>(argc, argv); }

#include "test_graph_pane.moc"

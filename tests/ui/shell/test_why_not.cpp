// A blocked LayerNorm: its blocker in the list and in the graph, the numbers that would have to be equal, the price of
// its own centering, and the error of folding it all the same.
#include <QAction>
#include <QLabel>
#include <QSet>
#include <QSpinBox>
#include <QTableView>

#include "tests/ui/shell/shown_window.h"
#include "ui/client/engine_client.h"
#include "ui/graphview/graph_view.h"
#include "ui/graphview/overlays/blocker_chip.h"
#include "ui/models/forced_error_table.h"
#include "ui/session/forced_errors.h"
#include "ui/session/norm_costs.h"
#include "ui/widgets/badge.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/plots/histogram_plot.h"
#include "ui/widgets/segmented.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/frame/story_bar.h"
#include "ui/window/workspace/graph_actions.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/workspace.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr int kBlocked = 4;

graphview::GraphView* graphOf(Shown& shown) { return shown.window.workspace()->graph()->view(); }

// The blocked norm is chosen and all of its page is there.
struct BlockedShown : Shown {
  explicit BlockedShown(const QString& model, const QStringList& mischief = {}) : Shown(model, mischief) {
    clickNorm(kBlocked);
    QTRY_VERIFY(session.selection()->zeroMean().has_value() && session.costs()->of(kBlocked));
    QTRY_VERIFY(graphOf(*this)->isLaidOut() && graphOf(*this)->lighting().blockerBox() >= 0);
  }
};

QString words(Shown& shown, const char* label) { return shown.child<QLabel>(label)->text(); }

QList<QAbstractButton*> rows(Shown& shown) { return shown.child<QWidget>("paths")->findChildren<QAbstractButton*>(); }

QList<ElidedLabel*> costLabels(Shown& shown) {
  return shown.child<QWidget>("costs")->findChildren<ElidedLabel*>(QStringLiteral("propertyValue"));
}

// What the card says: saves, costs, together.
QStringList costsOf(Shown& shown) {
  QStringList values;
  for (const auto* value : costLabels(shown)) values << value->accessibleName();
  return values;
}

void useTokens(Shown& shown, int tokens) {
  protocol::InputsParams inputs;
  inputs.specs = {"input_ids=int64[1," + std::to_string(tokens) + "]"};
  shown.session.setInputs(inputs);
}

QRectF blockerOnScreen(Shown& shown) {
  graphview::GraphView* view = graphOf(shown);
  return view->camera().toScreen(view->scene().box(view->lighting().blockerBox()).rect);
}

// So far that the blocker is out of sight.
void moveAway(Shown& shown) {
  graphview::GraphView* view = graphOf(shown);
  view->setAnimated(false);
  view->setZoom(1);
  view->centerOn(view->scene().layout->bounds.bottomRight());
}

}  // namespace

class TestWhyNot final : public test::ModelTest {
  Q_OBJECT

 private Q_SLOTS:
  void init() { model_ = test::modelFile(folder_, QStringLiteral("bert.pt")); }
  void cleanup() { applyTheme(*qApp, lightTheme()); }

  void theBlockerComesFirstAndARowGoesToItsNode() {
    BlockedShown shown(model_);
    QVERIFY(shown.child<QWidget>("whyNot")->isVisible());
    QCOMPARE(words(shown, "pathCount"), QStringLiteral("centerable paths: 1 of 2"));
    QCOMPARE(rows(shown).size(), 2);
    QVERIFY(rows(shown)[0]->accessibleName().contains(QStringLiteral("γ varies")));
    QVERIFY(rows(shown)[1]->accessibleName().contains(QStringLiteral("can be centered")));
    moveAway(shown);
    QTest::mouseClick(rows(shown)[0], Qt::LeftButton);
    QTRY_COMPARE(graphOf(shown)->selectedNode(), shown.session.norm(kBlocked)->blocker->node);
    QCOMPARE(shown.session.selection()->current().norm, kBlocked);  // one still reads about the same norm
    shown.clickNorm(0);
    QVERIFY(!shown.child<QWidget>("whyNot")->isVisible());
  }

  void aBlockerOutOfSightIsAChipThatLeadsThere() {
    BlockedShown shown(model_);
    auto* chip = shown.child<QAbstractButton>("blockerChip");
    QTRY_VERIFY(!chip->isVisible());  // it is in sight: the view went there
    moveAway(shown);
    QVERIFY(chip->isVisible());
    QVERIFY2(chip->accessibleName().contains(QStringLiteral("γ from 0.61 to 1.38")),
             qPrintable(chip->accessibleName()));
    QVERIFY(graphOf(shown)->rect().contains(chip->geometry()));
    QTest::mouseClick(chip, Qt::LeftButton);
    QTRY_VERIFY(!chip->isVisible());
    QVERIFY(QRectF(graphOf(shown)->rect()).contains(blockerOnScreen(shown).center()));
    moveAway(shown);
    QTest::keyClick(graphOf(shown), Qt::Key_G);
    QTRY_VERIFY(!chip->isVisible());
    moveAway(shown);
    shown.click("goToBlockerButton");
    QTRY_VERIFY(!chip->isVisible());
    moveAway(shown);
    shown.session.selection()->clear();
    QTRY_VERIFY(!chip->isVisible());
    QVERIFY(!shown.child<QAction>("goToBlocker")->isEnabled());
  }

  // Nothing is lit in Cost, so nothing else takes the view there.
  void showWhatBlocksGoesToTheBlockerInCost() {
    Shown shown(model_);
    shown.session.choices()->keepNorm(0, true);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.child<StoryBar>("storyBar")->nextAction(), NextAction::ShowBlocked);
    auto* mode = shown.child<Segmented>("graphMode");
    QTest::mouseClick(mode, Qt::LeftButton, {}, QPoint(mode->width() * 7 / 8, mode->height() / 2));
    QCOMPARE(mode->current(), 3);
    graphview::GraphView* view = graphOf(shown);
    shown.window.workspace()->graph()->actions()->expandAll->trigger();
    QTRY_VERIFY(view->isLaidOut());
    const int blocker = shown.session.norm(1)->blocker->node;
    const auto inSight = [&] {
      const int box = view->scene().boxOf(view->scene().hierarchy->itemOfId(blocker));
      return box >= 0 && view->rect().contains(view->camera().toScreen(view->scene().box(box).rect).center().toPoint());
    };
    moveAway(shown);
    QVERIFY(!inSight());
    shown.click("nextAction");
    QCOMPARE(shown.session.selection()->current().norm, 1);
    QTRY_VERIFY(inSight());
  }

  void theNumbersThatWouldHaveToBeEqualAreShown() {
    BlockedShown shown(model_);
    QTRY_VERIFY(shown.child<QWidget>("blockerGamma")->isVisible());
    const QString name = shown.session.index().nodeTitle(shown.session.norm(kBlocked)->blocker->node);
    QCOMPARE(shown.child<ElidedLabel>("gammaTitle")->accessibleName(), QStringLiteral("γ of ") + name);
    auto* plot = shown.child<QWidget>("blockerGamma")->findChild<HistogramPlot*>();
    QVERIFY(plot->accessibleDescription().contains(QStringLiteral("would fold if all γ were equal")));
  }

  void itsOwnCenteringIsPricedOnTheButton() {
    BlockedShown shown(model_);
    QTRY_COMPARE(shown.child<QAbstractButton>("centerHere")->text(), QStringLiteral("Center here: costs 0.3 µs"));
    const auto texts = costLabels(shown);
    QCOMPARE(texts.last()->accessibleName(), QStringLiteral("costs 0.3 µs (0.1–0.5)"));
    QVERIFY(!shown.child<QAbstractButton>("foldThis")->isVisible());  // it would do the same
    shown.click("centerHere");
    auto* add = shown.child<QAbstractButton>("addCentering");
    QTRY_VERIFY(add->isVisible());
    QTest::mouseClick(add, Qt::LeftButton);
    QTRY_VERIFY(shown.session.folds(kBlocked));
    QVERIFY(shown.child<QAbstractButton>("foldThis")->isVisible());
    // The price stays, and why it was not folded goes.
    QVERIFY(shown.child<QWidget>("costs")->isVisible() && !shown.child<QWidget>("paths")->isVisible());
    shown.click("showForced");
    QTRY_VERIFY(shown.session.forcedErrors()->has(kBlocked));
    QCOMPARE(costsOf(shown).last(), QStringLiteral("costs 0.3 µs (0.1–0.5)"));
  }

  void whatIsFoldedAllTheSameIsShownAsFolded() {
    BlockedShown shown(model_);
    auto* verdict = shown.child<Badge>("verdictBadge");
    QCOMPARE(verdict->word(), QStringLiteral("Blocked"));
    QVERIFY(shown.child<QWidget>("forcedErrors")->isVisible());
    shown.window.actions()->foldAll->trigger();
    QTRY_VERIFY(shown.session.plan() && shown.session.folds(kBlocked) && !shown.session.busy());
    shown.window.actions()->fold->trigger();
    QTRY_VERIFY(shown.session.foldResult() && !shown.session.busy());
    QCOMPARE(verdict->word(), QStringLiteral("Only with its own centering"));
    QVERIFY(!shown.child<QWidget>("forcedErrors")->isVisible());
    const auto exact = words(shown, "exactAnswer");
    QVERIFY2(exact == QStringLiteral("folded"), qPrintable(exact));
    shown.window.actions()->undo->trigger();
    QTRY_COMPARE(verdict->word(), QStringLiteral("Blocked"));
    QCOMPARE(words(shown, "exactAnswer"), QStringLiteral("no"));
  }

  // In a low window the card is below what can be seen.
  void theAnswerToCenterHereIsScrolledTo() {
    BlockedShown shown(model_);
    shown.window.resize(1100, 500);
    auto* card = shown.child<QWidget>("centerCard");
    shown.click("centerHere");
    QTRY_VERIFY(shown.child<QAbstractButton>("addCentering")->isVisible());
    QTRY_VERIFY(card->visibleRegion().boundingRect().contains(card->rect()));
  }

  // The window remembers inputs by the file: these two have files of their own.
  void pricesAreAskedAnewWithOtherInputs() {
    BlockedShown shown(test::modelFile(folder_, QStringLiteral("bert_5_tokens.pt")));
    QTRY_COMPARE(shown.child<QAbstractButton>("centerHere")->text(), QStringLiteral("Center here: costs 0.3 µs"));
    useTokens(shown, 5);  // the fake engine measures so many rows; the norm still reads 16
    QTRY_COMPARE(shown.child<QAbstractButton>("centerHere")->text(), QStringLiteral("Center here: costs 0.9 µs"));
    // Of 4.16 and 5.12 the difference is 0.96, of what is shown 0.9.
    QCOMPARE(costsOf(shown), (QStringList{QStringLiteral("4.2 µs (3.8–4.5)"), QStringLiteral("5.1 µs (4.8–5.4)"),
                                          QStringLiteral("costs 0.9 µs (0.3–1.6)")}));
  }

  void whatWasMeasuredFarAwayIsNoPrice() {
    BlockedShown shown(test::modelFile(folder_, QStringLiteral("bert_65_tokens.pt")));
    useTokens(shown, 65);
    const auto tip = [&] { return costLabels(shown).first()->parentWidget()->toolTip(); };
    QTRY_VERIFY2(tip().contains(QStringLiteral("4,160 elements")), qPrintable(tip()));
    QVERIFY(tip().contains(QStringLiteral("1,024")));
    QCOMPARE(costsOf(shown), (QStringList{QStringLiteral("–"), QStringLiteral("–")}));
    QCOMPARE(shown.child<QAbstractButton>("centerHere")->text(), QStringLiteral("Center here"));
    QVERIFY(!shown.child<QWidget>("centeringCallout")->isVisible());
  }

  // Prices are of the device that was measured, and say so.
  void pricesAreOfTheMeasuredDevice() {
    BlockedShown shown(model_);
    QTRY_VERIFY(shown.session.costs()->of(kBlocked).has_value());
    const double onCpu = shown.session.costs()->of(kBlocked)->saves.us;
    const auto note = [&] { return shown.child<QLabel>("costsNote")->text(); };
    QTRY_COMPARE(note(), QStringLiteral("on CPU, 95% intervals"));
    protocol::BenchParams params = shown.session.measurements()->params();
    params.device = "cuda";
    shown.session.measurements()->setParams(params);
    QVERIFY2(!shown.session.costs()->of(kBlocked), "the CPU's are no answer");
    QTRY_VERIFY(shown.session.costs()->of(kBlocked).has_value());
    QVERIFY(shown.session.costs()->of(kBlocked)->saves.us < onCpu);
    QTRY_COMPARE(note(), QStringLiteral("on CUDA, 95% intervals"));
  }

  void itsOwnCenteringStandsBesideItInTheGraph() {
    BlockedShown shown(model_);
    auto* callout = shown.child<QWidget>("centeringCallout");
    QTRY_VERIFY(callout->isVisible());
    const NormCost cost = *shown.session.costs()->of(kBlocked);
    QCOMPARE(callout->accessibleName(),
             QStringLiteral("Own centering: costs %1, fold saves %2")
                 .arg(formatMicroseconds(cost.centers.us), formatMicroseconds(cost.saves.us)));
    graphview::GraphView* view = graphOf(shown);
    QVERIFY(view->rect().contains(callout->geometry()));
    const auto coversNothing = [&] {  // once the view has come to rest
      const QRectF covered = view->camera().toWorld(QRectF(callout->geometry()));
      return std::ranges::all_of(view->scene().layout->boxes, [&](const layout::Box& box) {
        return box.kind == layout::BoxKind::Frame || !box.rect.adjusted(1, 1, -1, -1).intersects(covered);
      });
    };
    QTRY_VERIFY(coversNothing());
    moveAway(shown);
    QVERIFY(!callout->isVisible());
    shown.clickNorm(0);  // folds free
    QTRY_VERIFY(!callout->isVisible());
  }

  void theChipDoesNotLieOverTheCallout() {
    BlockedShown shown(model_);
    graphview::GraphView* view = graphOf(shown);
    view->setAnimated(false);
    view->setZoom(1);
    const QPointF norm = view->scene().box(view->lighting().chosenBox()).rect.center();
    // The norm stands at the height of the chip, its blocker above the view.
    const double zoom = view->camera().toScreen(QRectF(0, 0, 1, 1)).width();
    view->centerOn(norm + QPointF(0, (view->height() / 2.0 - 34) / zoom));
    const auto *chip = shown.child<QWidget>("blockerChip"), *callout = shown.child<QWidget>("centeringCallout");
    QTRY_VERIFY(chip->isVisible());
    QVERIFY(!callout->isVisible() || !callout->geometry().intersects(chip->geometry()));
  }

  void theChipsReasonGivesWayBeforeTheDistance() {
    const QFontMetrics metrics(QApplication::font());
    const QString distance = QStringLiteral("2 blocks up"), reason = QStringLiteral("γ from 0.347 to 1.69");
    const QString all = QStringLiteral("2 blocks up · γ from 0.347 to 1.69");
    const int whole = metrics.horizontalAdvance(all), least = metrics.horizontalAdvance(distance);
    const auto words = [&](int room) { return graphview::chipWords(distance, reason, metrics, room); };
    QCOMPARE(words(whole), all);
    QVERIFY(words(whole - 20).startsWith(QStringLiteral("2 blocks up · γ from")));
    QVERIFY(words(whole - 20).endsWith(u'…'));
    QCOMPARE(words(least + 5), distance);
    QCOMPARE(words(least - 5), QString());
  }

  void figuresFollowTheSizeOfText() {
    BlockedShown shown(model_);
    shown.click("showForced");
    QTRY_VERIFY(shown.session.forcedErrors()->has(kBlocked));
    shown.child<QSpinBox>("preferFont")->setValue(18);
    const int figures = monoFont(11).pixelSize();
    QCOMPARE(figures, 15);
    QTRY_COMPARE(shown.child<QLabel>("forced_float64")->font().pixelSize(), figures);
    for (const auto* value : costLabels(shown)) QCOMPARE(value->font().pixelSize(), figures);
  }

  void theErrorIsMeasuredWhenAsked() {
    BlockedShown shown(model_);
    QVERIFY(!shown.child<QWidget>("forcedTable")->isVisible());
    shown.click("showForced");
    QTRY_VERIFY(shown.session.forcedErrors()->has(kBlocked));
    QCOMPARE(words(shown, "forced_float64"), QStringLiteral("0.032"));
    QCOMPARE(words(shown, "forced_float16"), QStringLiteral("–"));  // no kernel
    QVERIFY(shown.child<QLabel>("forced_float16")->toolTip().contains(QStringLiteral("no kernel")));
    QCOMPARE(words(shown, "forcedMissing"), QStringLiteral("float16: There is no kernel for float16 on this device."));
    QVERIFY(shown.child<QLabel>("forcedMissing")->isVisible());
    QVERIFY(!shown.child<QAbstractButton>("showForced")->isVisible());  // nothing is left to do
  }

  void allOfThemAreMeasuredInTheDock() {
    BlockedShown shown(model_);
    shown.window.workspace()->bottom()->showTab(BottomPanel::Differences);
    auto* subject = shown.child<Segmented>("differenceSubject");
    QTest::mouseClick(subject, Qt::LeftButton, {}, QPoint(subject->width() * 3 / 4, subject->height() / 2));
    shown.click("forcedGo");
    QTRY_VERIFY(!shown.session.forcedErrors()->running());
    const QAbstractItemModel& table = *shown.child<QTableView>("forcedErrorTable")->model();
    QCOMPARE(table.rowCount(), 9);
    const auto tone = [&](int norm) {
      return table.index(norm, ForcedErrorTable::FirstType).data(ForcedErrorTable::ToneRole).toInt();
    };
    QCOMPARE(tone(0), int{ForcedErrorTable::Within});
    QCOMPARE(tone(kBlocked), int{ForcedErrorTable::Wrong});
    // bfloat16 is so coarse that its limit is above the error: that makes the fold no better.
    const QModelIndex coarse = table.index(kBlocked, ForcedErrorTable::FirstType + 4);
    QCOMPARE(coarse.data().toString(), QStringLiteral("0.032"));
    QCOMPARE(coarse.data(ForcedErrorTable::ToneRole).toInt(), int{ForcedErrorTable::Plain});
    QVERIFY(coarse.data(Qt::ToolTipRole).toString().contains(QStringLiteral("outputs differ")));
    QCOMPARE(table.index(kBlocked, ForcedErrorTable::FirstType).data().toString(), QStringLiteral("0.032"));
    QCOMPARE(table.index(kBlocked, ForcedErrorTable::FirstType + 1).data().toString(), QStringLiteral("5e-15"));
    const int last = table.columnCount() - 1;
    QVERIFY(table.index(kBlocked, last).data().toString().startsWith(QStringLiteral("float16: There is no kernel")));
    QSet<QString> heads;  // that a CSV can be read by
    for (int column = 0; column <= last; ++column) heads << table.headerData(column, Qt::Horizontal).toString();
    QCOMPARE(heads.size(), table.columnCount());
    // The inspector has this one, and nothing is left to measure.
    QCOMPARE(words(shown, "forced_float64"), QStringLiteral("0.032"));
    QVERIFY(!shown.child<QAbstractButton>("forcedGo")->isVisible());
  }

  void measuringStopsWhenOneMovesOn() {
    BlockedShown shown(model_, {QStringLiteral("--slow"), QStringLiteral("forced_error=60000")});
    shown.click("showForced");
    QCOMPARE(shown.child<QAbstractButton>("showForced")->text(), QStringLiteral("Stop"));
    QTest::qWait(50);
    shown.clickNorm(0);
    QVERIFY(!shown.session.forcedErrors()->running());
    // The next question is answered at once, not after a minute.
    shown.session.choices()->setPolicy(Policy::All);
    QTRY_VERIFY_WITH_TIMEOUT(shown.session.plan() && shown.session.plan()->policy == Policy::All, 1000);
  }

  void escapeStopsIt() {
    BlockedShown shown(model_, {QStringLiteral("--slow"), QStringLiteral("forced_error=60000")});
    auto* stop = shown.child<QWidget>("cancelJob");
    QTRY_VERIFY(!stop->isVisible());
    shown.click("showForced");
    QVERIFY(stop->isVisible());
    QVERIFY2(shown.session.running().stage.startsWith(QStringLiteral("1 of 4, float64")),
             qPrintable(shown.session.running().stage));
    shown.window.actions()->stop->trigger();
    QVERIFY(!shown.session.forcedErrors()->running());
    QVERIFY(!stop->isVisible());
  }

  void whatCannotBeMeasuredIsSaid() {
    BlockedShown shown(model_, {QStringLiteral("--error"), QStringLiteral("forced_error")});
    shown.click("showForced");
    QTRY_VERIFY(!words(shown, "forcedWords").isEmpty() && !shown.session.forcedErrors()->running());
    QVERIFY(!shown.session.forcedErrors()->problem().isEmpty());
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestWhyNot>(argc, argv); }

#include "test_why_not.moc"

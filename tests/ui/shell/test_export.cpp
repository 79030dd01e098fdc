// The export sheet: a target's norm is folded, proved and written; nothing counts as checked that was not run.
#include <QCheckBox>
#include <QClipboard>
#include <QFile>
#include <QGuiApplication>
#include <QLabel>
#include <QPlainTextEdit>

#include "tests/ui/shell/shown_window.h"
#include "ui/widgets/badge.h"
#include "ui/widgets/elided_label.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/workspace.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

struct Sheet : Shown {
  explicit Sheet(const QString& model, const QStringList& mischief = {}) : Shown(model, mischief) {
    click("exportButton");
    QTRY_VERIFY(place("Core ML") != nullptr);
  }
  QAbstractButton* place(const QString& title) {
    for (auto* row : child<QWidget>("exportTargets")->findChildren<QAbstractButton*>()) {
      if (row->accessibleName() == title) return row;
    }
    return nullptr;
  }
  void choose(const QString& title) { QTest::mouseClick(place(title), Qt::LeftButton); }
  void setFile(const QString& path) { child<QLineEdit>("exportFile")->setText(path); }
  [[nodiscard]] QString file() { return child<QLineEdit>("exportFile")->text(); }
  void type(const QString& path) {
    auto* field = child<QLineEdit>("exportFile");
    QTest::mouseClick(field, Qt::LeftButton);
    field->selectAll();
    QTest::keyClicks(field, path);
  }
  void answer(const QString& way) {
    for (auto* button : window.infoBar()->findChildren<QAbstractButton*>()) {
      if (button->isVisible() && button->text() == way) return QTest::mouseClick(button, Qt::LeftButton);
    }
    QFAIL(qPrintable(way));
  }
  // The value beside a name; the rows stay the same widgets while nothing in them changes.
  QString property(const char* name) {
    for (const auto* value : child<QWidget>("exportWritten")->findChildren<QLabel*>(QStringLiteral("propertyValue"))) {
      for (const auto* label : value->parentWidget()->findChildren<ElidedLabel*>()) {
        if (label->accessibleName() == QLatin1String(name)) return value->accessibleName();
      }
    }
    return {};
  }
  QString words(const char* label) { return child<QLabel>(label)->text(); }
  QString lines(const char* box) { return child<QPlainTextEdit>(box)->toPlainText(); }
};

}  // namespace

class TestExport final : public test::ModelTest {
  Q_OBJECT

 private Q_SLOTS:
  void init() { model_ = test::modelFile(folder_, QStringLiteral("gpt2.pt")); }

  void aTargetIsFoldedProvedAndWritten() {
    Sheet sheet(model_);
    QVERIFY(sheet.place("torch")->isChecked());  // it loads the norm that a fold has without a target
    QCOMPARE(sheet.child<Badge>("exportBadge")->word(), QStringLiteral("Not proved yet"));
    QVERIFY(sheet.words("exportProofNote").contains(QStringLiteral("before it is written")));
    sheet.choose("torch with libnormlens_ops.so");
    QVERIFY(sheet.lines("exportCodeText").contains(QStringLiteral("load_library")));
    const QString path = folder_.filePath(QStringLiteral("fast.pt"));
    sheet.setFile(path);
    QCOMPARE(sheet.child<QAbstractButton>("exportWrite")->text(), QStringLiteral("Write fast.pt"));
    QVERIFY2(sheet.words("exportAbout").contains(QStringLiteral("with torch 2.15.0 on Nov 30, 2026")),
             qPrintable(sheet.words("exportAbout")));
    QVERIFY(sheet.property("file size").startsWith(QStringLiteral("about ")));
    sheet.click("exportWrite");
    QTRY_VERIFY(sheet.session.exported().has_value());
    QCOMPARE(test::contentOf(path), QByteArray("folded with fast for normlens\n"));
    QTRY_VERIFY(!sheet.session.busy());
    const qint64 change = 30 - sheet.session.model()->file_bytes;
    const QString size = QStringLiteral("30 B (%1%2)").arg(QChar(change < 0 ? u'−' : u'+'), formatBytes(qAbs(change)));
    QCOMPARE(sheet.property("file size"), size);
    QCOMPARE(sheet.session.flavour(), std::string("fast"));
    QCOMPARE(sheet.child<Badge>("exportBadge")->word(), QStringLiteral("Exact in float64 and float32"));
    sheet.choose("Core ML");  // another norm: that fold was not proved, and the story bar speaks of the other
    QCOMPARE(sheet.child<Badge>("exportBadge")->word(), QStringLiteral("Not proved with this norm"));
    sheet.choose("torch with libnormlens_ops.so");
    QCOMPARE(sheet.child<Badge>("exportBadge")->word(), QStringLiteral("Exact in float64 and float32"));
  }

  // Esc while another target's norm is folded: what was proved and measured is shown again, and nothing is written.
  void anExportThatIsStoppedLeavesTheProof() {
    Sheet sheet(model_, {QStringLiteral("--slow"), QStringLiteral("fold=300")});
    Session& session = sheet.session;
    sheet.fold();
    const double proved = session.foldResult()->verify->algebra.max_rel;
    session.measure();
    QTRY_VERIFY(session.measurements()->last() && !session.busy());
    sheet.choose("torch with libnormlens_ops.so");
    const QString path = folder_.filePath(QStringLiteral("stopped.pt"));
    sheet.setFile(path);
    sheet.click("exportWrite");
    QTRY_COMPARE(session.job().kind, JobKind::Folding);
    QVERIFY(!session.foldResult());
    sheet.window.actions()->escape->trigger();
    QTRY_VERIFY(session.foldResult() && !session.busy());
    QCOMPARE(session.flavour(), std::string("portable"));
    QCOMPARE(session.foldResult()->verify->algebra.max_rel, proved);
    QVERIFY(session.measurements()->last());
    QVERIFY(!QFile::exists(path) && session.canMeasure());
    sheet.window.actions()->undo->trigger();
    QVERIFY(!session.foldResult());
    sheet.window.actions()->redo->trigger();
    QVERIFY2(session.foldResult(), "it need not be proved again");
  }

  // The second Esc comes while the engine makes the proved fold anew.
  void escTwiceLeavesTheProofToo() {
    Sheet sheet(model_, {QStringLiteral("--slow"), QStringLiteral("fold=300")});
    Session& session = sheet.session;
    sheet.fold();
    sheet.choose("torch with libnormlens_ops.so");
    sheet.setFile(folder_.filePath(QStringLiteral("twice.pt")));
    sheet.click("exportWrite");
    QTRY_VERIFY(session.job().kind == JobKind::Folding && !session.foldResult());
    QVERIFY(sheet.child<QWidget>("cancelJob")->isVisible());
    sheet.window.actions()->escape->trigger();
    QTRY_VERIFY(session.foldResult());
    QVERIFY(session.busy() && !sheet.child<QWidget>("cancelJob")->isVisible());
    QVERIFY(!sheet.window.actions()->stop->isEnabled());
    sheet.window.actions()->escape->trigger();
    QTRY_VERIFY(!session.busy());
    QVERIFY(session.foldResult() && session.foldResult()->verify && session.canMeasure());
    QCOMPARE(session.flavour(), std::string("portable"));
    QVERIFY(!QFile::exists(sheet.file()));
  }

  void lookingAtATargetLeavesTheProofAlone() {
    Shown shown(model_);
    shown.fold();
    shown.click("exportButton");
    QTRY_VERIFY(shown.child<QWidget>("exportTargets")->findChildren<QAbstractButton*>().size() > 4);
    shown.child<QAbstractButton>("exportPlace1")->click();
    QCOMPARE(shown.child<QLabel>("exportTitle")->text(), QStringLiteral("Core ML"));
    QVERIFY(shown.session.foldResult().has_value());
    QCOMPARE(shown.session.flavour(), std::string("portable"));
  }

  void squaresThatFloat16CannotHoldAreShown() {
    Sheet sheet(model_);
    auto* warning = sheet.child<QWidget>("exportWarning");
    QVERIFY(!warning->isVisible());
    sheet.choose("Core ML");
    QVERIFY(warning->isVisible());
    QVERIFY(sheet.words("exportAbout").contains(QStringLiteral("NormLens does not run files there")));
    QVERIFY2(sheet.lines("exportCodeText").contains(QStringLiteral("ct.TensorType(shape=(1, 16), dtype=np.int32)")),
             qPrintable(sheet.lines("exportCodeText")));
    sheet.setFile(folder_.filePath(QStringLiteral("coreml.pt")));
    sheet.click("exportWrite");
    QTRY_VERIFY(sheet.session.exported().has_value());
    QStringList words;
    for (const auto* label : warning->findChildren<QLabel*>()) words << label->text();
    QVERIFY2(words.join(u' ').contains(QStringLiteral("x² of h.3.ln_1 reaches 97,344")), qPrintable(words.join(u' ')));
  }

  void outputsThatDifferAreNotWritten() {
    Shown shown(test::modelFile(folder_, QStringLiteral("bert.pt")));
    shown.session.choices()->setPolicy(Policy::Paper);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    shown.fold();
    shown.click("exportButton");
    auto* write = shown.child<QAbstractButton>("exportWrite");
    QTRY_COMPARE(write->text(), QStringLiteral("Go to the first difference"));
    QTest::mouseClick(write, Qt::LeftButton);
    QVERIFY(!shown.child<QWidget>("exportSheet")->isVisible());
    QCOMPARE(shown.window.workspace()->bottom()->tab(), BottomPanel::Proof);
    QVERIFY(!shown.session.exported());
  }

  void keysWriteAndClose() {
    Sheet sheet(model_);
    const QString path = folder_.filePath(QStringLiteral("keys.pt"));
    sheet.setFile(path);
    auto* row = sheet.place("torch");
    row->setFocus();
    QTest::keyClick(row, Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY(QFile::exists(path) && !sheet.session.busy());
    QTest::keyClick(row, Qt::Key_Escape);
    QVERIFY(!sheet.child<QWidget>("exportSheet")->isVisible());
    QVERIFY(sheet.window.workspace()->graph()->isVisible() && sheet.window.workspace()->bottom()->isVisible());
  }

  void keysWriteWithTheFocusElsewhere() {
    Sheet sheet(model_);
    const QString path = folder_.filePath(QStringLiteral("elsewhere.pt"));
    sheet.type(path);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    QVERIFY(sheet.child<QWidget>("exportSheet")->isVisible());
    QVERIFY(!sheet.child<QLineEdit>("exportFile")->hasFocus());
    sheet.child<QWidget>("exportButton")->setFocus();
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY(QFile::exists(path) && !sheet.session.busy());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    QVERIFY(!sheet.child<QWidget>("exportSheet")->isVisible());
    QCOMPARE(sheet.window.actions()->fold->shortcut(), QKeySequence(Actions::kFoldKeys));  // again
  }

  void escStopsTheWorkFromTheField() {
    Sheet sheet(model_, {QStringLiteral("--slow"), QStringLiteral("fold=300")});
    sheet.type(folder_.filePath(QStringLiteral("halted.pt")));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return, Qt::ControlModifier);
    QTRY_COMPARE(sheet.session.job().kind, JobKind::Folding);
    QTRY_COMPARE(sheet.words("exportFootWords"), QStringLiteral("Esc stops it."));
    QTest::keyClick(sheet.child<QLineEdit>("exportFile"), Qt::Key_Escape);
    QTRY_VERIFY(!sheet.session.busy());
    QVERIFY(!sheet.session.foldResult());
    QVERIFY(sheet.child<QWidget>("exportSheet")->isVisible());
  }

  void aFileOfSomebodyElseIsAskedAbout() {
    Sheet sheet(model_);
    const QString path = folder_.filePath(QStringLiteral("mine.pt"));
    const auto hint = [&] { return sheet.child<QLabel>("infoHint")->text(); };
    test::write(path, "mine");
    sheet.type(path);
    QVERIFY(sheet.child<QLabel>("exportExists")->isVisible());
    QVERIFY(sheet.words("exportExists").contains(QStringLiteral("mine.pt exists")));
    sheet.click("exportWrite");
    QVERIFY(sheet.says(QStringLiteral("mine.pt exists")) && !sheet.session.busy());
    QCOMPARE(hint(), QStringLiteral("This window has not written it."));
    sheet.answer(QStringLiteral("Keep it"));
    QVERIFY(!sheet.session.busy());
    QCOMPARE(test::contentOf(path), QByteArray("mine"));
    sheet.click("exportWrite");
    sheet.answer(QStringLiteral("Overwrite"));
    QTRY_VERIFY(sheet.session.exported().has_value() && !sheet.session.busy());
    QVERIFY(test::contentOf(path) != QByteArray("mine"));
    QVERIFY(!sheet.child<QLabel>("exportExists")->isVisible());  // it is the session's own now
    QFile::remove(path);
    sheet.click("exportWrite");
    QTRY_VERIFY(QFile::exists(path) && !sheet.session.busy());
    sheet.choose("Core ML");  // for another target it is not
    QCOMPARE(sheet.file(), path);
    QVERIFY(sheet.child<QLabel>("exportExists")->isVisible());
    sheet.click("exportWrite");
    QVERIFY(sheet.says(QStringLiteral("mine.pt exists")));
    QCOMPARE(hint(), QStringLiteral("This window wrote it for another target."));
    sheet.answer(QStringLiteral("Overwrite"));
    QTRY_VERIFY(!sheet.session.busy() && test::contentOf(path).contains("coreml"));
    // It was written for it, and is another file by now.
    QTest::qWait(20);
    test::write(path, "changed");
    sheet.click("exportWrite");
    QCOMPARE(hint(), QStringLiteral("It has changed since this window wrote it."));
  }

  void theQuestionLeavesWithItsFile() {
    Sheet sheet(model_);
    const QString path = folder_.filePath(QStringLiteral("theirs.pt"));
    test::write(path, "theirs");
    const auto ask = [&] {
      sheet.type(path);
      sheet.click("exportWrite");
      return sheet.says(QStringLiteral("theirs.pt exists"));
    };
    QVERIFY(ask());
    sheet.type(folder_.filePath(QStringLiteral("another.pt")));
    QVERIFY(!sheet.window.infoBar()->isVisible());
    QVERIFY(ask());
    sheet.choose("Core ML");
    QVERIFY(!sheet.window.infoBar()->isVisible());
    QVERIFY(ask());
    sheet.click("exportClose");
    QVERIFY(!sheet.child<QWidget>("exportSheet")->isVisible() && !sheet.window.infoBar()->isVisible());
    QCOMPARE(test::contentOf(path), QByteArray("theirs"));
  }

  // Targets that take the same file are proved once, and asked about once.
  void targetsOfOneFileShareItsProof() {
    Sheet sheet(model_);
    sheet.setFile(folder_.filePath(QStringLiteral("shared.pt")));
    sheet.click("exportWrite");
    QTRY_VERIFY(sheet.session.exported() && !sheet.session.busy());
    bool folded = false;
    connect(&sheet.session, &Session::jobChanged, &sheet.window,
            [&] { folded = folded || sheet.session.job().kind == JobKind::Folding; });
    sheet.choose("Twin of torch");
    QCOMPARE(sheet.child<Badge>("exportBadge")->word(), QStringLiteral("Exact in float64 and float32"));
    QCOMPARE(sheet.words("exportProofNote"), QStringLiteral("The file is the same as for torch, and so is its proof."));
    QSignalSpy written(&sheet.session, &Session::exportDone);
    sheet.click("exportWrite");
    QTRY_COMPARE(written.count(), 1);
    QVERIFY(!folded && !sheet.says(QStringLiteral("exists")));
    sheet.choose("Core ML");
    QVERIFY2(sheet.words("exportProofNote").contains(QStringLiteral("takes another norm")),
             qPrintable(sheet.words("exportProofNote")));
  }

  // The engine need not have heard of it yet.
  void stoppingIsSaidAtOnce() {
    Sheet sheet(model_, {QStringLiteral("--deaf"), QStringLiteral("fold=1000")});
    sheet.setFile(folder_.filePath(QStringLiteral("deaf.pt")));
    sheet.click("exportWrite");
    QTRY_COMPARE(sheet.session.job().kind, JobKind::Folding);
    QTest::keyClick(&sheet.window, Qt::Key_Escape);
    QCOMPARE(sheet.words("exportFootWords"), QStringLiteral("Stopping…"));
    QCOMPARE(sheet.child<QLabel>("jobStage")->accessibleName(), QStringLiteral("Stopping…"));
    QVERIFY(!sheet.child<QWidget>("cancelJob")->isVisible());
    QTRY_VERIFY(!sheet.session.busy());
  }

  // The file dialog has its own question.
  void aFileChosenInTheDialogIsAskedAboutOnce() {
    Sheet sheet(model_);
    const QString path = folder_.filePath(QStringLiteral("chosen.pt"));
    test::write(path, "mine");
    sheet.click("exportChange");
    QTRY_VERIFY(sheet.window.findChild<QFileDialog*>(QStringLiteral("exportDialog")) != nullptr);
    sheet.child<QFileDialog>("exportDialog")->setOption(QFileDialog::DontConfirmOverwrite);
    sheet.answerFileDialog("exportDialog", path);
    QTRY_COMPARE(sheet.file(), path);
    sheet.click("exportWrite");
    QTRY_VERIFY(sheet.session.exported().has_value());
    QVERIFY(test::contentOf(path) != QByteArray("mine"));
  }

  void theReportBesideItIsAskedAboutToo() {
    Sheet sheet(model_);
    const QString report = folder_.filePath(QStringLiteral("beside.report.html"));
    test::write(report, "mine");
    sheet.type(folder_.filePath(QStringLiteral("beside.pt")));
    sheet.click("exportWrite");  // without a report nothing is replaced
    QTRY_VERIFY(sheet.session.exported().has_value() && !sheet.session.busy());
    sheet.child<QCheckBox>("exportAlsoReport")->setChecked(true);
    sheet.click("exportWrite");
    QVERIFY(sheet.says(QStringLiteral("beside.report.html exists")));
    sheet.answer(QStringLiteral("Overwrite"));
    QTRY_VERIFY(test::contentOf(report) != QByteArray("mine"));
  }

  void namesFollowTheTarget() {
    Sheet sheet(model_);
    const auto name = [&](const char* place) {
      sheet.choose(QLatin1String(place));
      return QFileInfo(sheet.file()).fileName();
    };
    QCOMPARE(name("torch"), QStringLiteral("gpt2.folded.pt"));
    QCOMPARE(name("Core ML"), QStringLiteral("gpt2.folded.coreml.pt"));
    QCOMPARE(name("Report"), QStringLiteral("gpt2.report.html"));
    sheet.choose("torch");
    sheet.type(folder_.filePath(QStringLiteral("own.name.pt")));
    QCOMPARE(name("Core ML"), QStringLiteral("own.name.pt"));
    QCOMPARE(name("Report"), QStringLiteral("own.name.report.html"));
    QCOMPARE(name("torch"), QStringLiteral("own.name.pt"));
  }

  void theTextForAPullRequestIsTheEnginesReport() {
    Sheet sheet(model_);
    QVERIFY(!sheet.child<QAbstractButton>("makePullRequest")->isEnabled());  // nothing is folded
    sheet.fold();
    sheet.click("makePullRequest");
    QTRY_COMPARE(sheet.lines("pullRequestText"), QStringLiteral("markdown report of gpt2.pt"));
    sheet.click("pullRequestCopy");
    QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("markdown report of gpt2.pt"));
    sheet.window.actions()->undo->trigger();
    QVERIFY(sheet.lines("pullRequestText").isEmpty());  // it was of the fold
  }

  void theReportCanBeWrittenWithIt() {
    Sheet sheet(model_);
    sheet.child<QCheckBox>("exportAlsoReport")->setChecked(true);
    sheet.setFile(folder_.filePath(QStringLiteral("both.pt")));
    sheet.click("exportWrite");
    QTRY_VERIFY(QFile::exists(folder_.filePath(QStringLiteral("both.report.html"))));
  }

  // While a job reports, the rows are not made again: new ones would be blank until they are laid out.
  void theRowsStayWhileItWorks() {
    Sheet sheet(model_, {QStringLiteral("--slow"), QStringLiteral("fold=300")});
    const auto rows = [&] { return sheet.child<QWidget>("exportWritten")->findChildren<ElidedLabel*>(); };
    const auto before = rows();
    QVERIFY(before.size() >= 12);
    QTRY_VERIFY(before.last()->isVisible());
    sheet.setFile(folder_.filePath(QStringLiteral("rows.pt")));
    sheet.click("exportWrite");
    QTRY_COMPARE(sheet.session.job().kind, JobKind::Folding);
    QCOMPARE(rows(), before);
    for (const ElidedLabel* label : before)
      QVERIFY2(label->isVisible() && !label->accessibleName().isEmpty(),
               qPrintable(QStringLiteral("%1 “%2”").arg(label->isVisible()).arg(label->accessibleName())));
    QTRY_VERIFY(sheet.session.exported().has_value());
  }

  void eachNormSaysWhatLoadsIt() {
    Sheet sheet(model_);
    const QString words = sheet.words("exportLoads");
    QCOMPARE(words,
             QStringLiteral("aten::rms_norm: equal in torch.jit\npow, mean, add, rsqrt, mul: equal in torch.jit\n"
                            "normlens::rms_norm: equal in torch.jit"));
  }

  // A long name takes nothing from the sheet's foot in a narrow window.
  void theFootIsWholeInANarrowWindow() {
    Sheet sheet(model_);
    sheet.window.resize(800, 600);
    sheet.setFile(folder_.filePath(QString(90, u'n') + QStringLiteral(".pt")));
    auto* write = sheet.child<QWidget>("exportWrite");
    QTRY_VERIFY(sheet.window.width() <= 800);
    const QRect place(write->mapTo(&sheet.window, QPoint()), write->size());
    QVERIFY(sheet.window.rect().contains(place));
    QTRY_VERIFY2(write->width() >= write->sizeHint().width(),
                 qPrintable(QStringLiteral("%1 of %2").arg(write->width()).arg(write->sizeHint().width())));
  }

  void otherModelsCloseIt() {
    Sheet sheet(model_);
    sheet.openAndAnalyse(test::modelFile(folder_, QStringLiteral("bert.pt")));
    QVERIFY(!sheet.child<QWidget>("exportSheet")->isVisible());
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestExport>(argc, argv); }

#include "test_export.moc"

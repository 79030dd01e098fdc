// Streams: what the page tells of residual streams, and a narrow model written by it.
#include <QFile>
#include <QLabel>
#include <QTemporaryDir>

#include "tests/ui/shell/shown_window.h"
#include "ui/session/streams.h"
#include "ui/widgets/badge.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/info_bar.h"
#include "ui/widgets/segmented.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {
namespace {

struct Page : Shown {
  explicit Page(const QString& model, const QStringList& mischief = {}) : Shown(model, mischief) { show(); }
  void show() { window.workspace()->showSheet(ExportSheet::Kind::Streams); }
  QAbstractButton* write() { return child<QAbstractButton>("writeNarrow"); }
  QString words(const char* name) { return child<QLabel>(name)->text(); }
  // All that a list of names and values says.
  QString listed(const char* name) {
    QStringList all;
    for (const auto* label : child<QWidget>(name)->findChildren<QLabel*>()) all << label->text();
    for (const auto* label : child<QWidget>(name)->findChildren<ElidedLabel*>()) all << label->accessibleName();
    return all.join(u'|');
  }
  void choosePadding(int index) {
    auto* padding = child<Segmented>("streamPadding");
    QTest::mouseClick(padding, Qt::LeftButton, {},
                      QPoint(padding->width() * (2 * index + 1) / 6, padding->height() / 2));
  }
  void startWriting(const QString& path) {
    [this] { QTRY_VERIFY(write()->isEnabled()); }();
    click("writeNarrow");
    answerFileDialog("narrowDialog", path);
  }
};

}  // namespace

class StreamsTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void itTellsTheStreamsAndWhatTheySave() {
    Page page(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    QTRY_VERIFY(page.write()->isEnabled());
    QVERIFY2(page.listed("streamList").contains(QStringLiteral("64 → 63")), qPrintable(page.listed("streamList")));
    const QString saving = page.listed("streamSaving");
    QVERIFY2(saving.contains(QStringLiteral("0 → −1.56%")), qPrintable(saving));
    QVERIFY(page.words("streamFold").contains(QStringLiteral("RMSNorm")));
    page.choosePadding(1);
    QTRY_VERIFY(page.listed("streamList").contains(QStringLiteral("64 → 64")));
    QTRY_VERIFY(!page.listed("streamSaving").contains(QStringLiteral("−1.56%")));
  }

  // Beside the targets, in the least window that most screens show.
  void itsNamesAreWholeInASmallWindow() {
    Page page(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    page.window.resize(1280, 720);
    QTRY_VERIFY(page.write()->isEnabled());
    for (const char* list : {"streamFoldFacts", "streamSaving"}) {
      const auto labels = page.child<QWidget>(list)->findChildren<ElidedLabel*>();
      QVERIFY(labels.size() > 4);
      for (const ElidedLabel* label : labels)
        QTRY_VERIFY2(label->text() == label->accessibleName(), qPrintable(label->accessibleName()));
    }
    QTRY_VERIFY(page.write()->width() >= page.write()->sizeHint().width());
  }

  void aPostNormModelIsToldWhyNot() {
    Page page(test::modelFile(folder_, QStringLiteral("bert.pt")));
    QTRY_VERIFY(page.words("streamWords").contains(QStringLiteral("it is post-norm")));
    QVERIFY(!page.write()->isEnabled());
    QVERIFY(page.listed("streamList").contains(QStringLiteral("64 stays")));
    QVERIFY(page.listed("streamSaving").isEmpty());
  }

  void itWritesWhatIsShown() {
    Page page(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    page.choosePadding(2);
    const QString path = folder_.filePath(QStringLiteral("gpt2.narrow.pt"));
    page.startWriting(path);
    QTRY_COMPARE(test::contentOf(path), QByteArray("narrow, padding 64\n"));
    QTRY_VERIFY(page.window.infoBar()->message().contains(path));
    QVERIFY(page.listed("narrowProof").contains(QStringLiteral("4e-16")));
    QCOMPARE(page.child<Badge>("narrowBadge")->word(), QStringLiteral("Exact in float64 and float32"));
    QVERIFY2(!page.session.foldResult(), "it is no fold of the plan");
    // What was written is of that padding alone.
    page.choosePadding(0);
    QTRY_VERIFY(page.write()->isEnabled());
    QVERIFY(page.listed("narrowProof").isEmpty());
    QVERIFY(!page.child<Badge>("narrowBadge")->isVisible());
  }

  void whatIsNotProvedIsWrittenOnlyIfTheUserInsists() {
    Page page(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    const QString path = folder_.filePath(QStringLiteral("unproved.pt"));
    QVERIFY(!page.child<QAbstractButton>("narrowAnyway")->isVisible());
    page.startWriting(path);
    QTRY_VERIFY(page.words("narrowWords").contains(QStringLiteral("Nothing was written")));
    QVERIFY(!QFile::exists(path));
    QCOMPARE(page.child<Badge>("narrowBadge")->word(), QStringLiteral("Outputs differ"));
    page.click("narrowAnyway");
    page.answerFileDialog("narrowDialog", path);
    QTRY_COMPARE(test::contentOf(path), QByteArray("narrow, padding none\n"));
    QTRY_VERIFY(page.words("narrowWords").contains(QStringLiteral("gives outputs that differ")));
  }

  void escStopsIt() {
    Page page(test::modelFile(folder_, QStringLiteral("gpt2.pt")),
              {QStringLiteral("--slow"), QStringLiteral("narrow=60000")});
    const QString path = folder_.filePath(QStringLiteral("stopped.pt"));
    page.startWriting(path);
    QTRY_COMPARE(page.session.job().kind, JobKind::Narrowing);
    QTRY_VERIFY(page.words("narrowWords").contains(QStringLiteral("taking its time")));
    QVERIFY(!page.write()->isEnabled());
    page.window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&page.window));
    QTest::keyClick(&page.window, Qt::Key_Escape);
    QTRY_VERIFY(!page.session.busy());
    QVERIFY(page.child<QLabel>("jobStage")->accessibleName().contains(QStringLiteral("stopped")));
    QTRY_VERIFY(page.write()->isEnabled());
    QVERIFY(!QFile::exists(path));
  }

  void aDoubleClickAsksOnce() {
    Page page(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    QTRY_VERIFY(page.write()->isEnabled());
    QTest::mouseDClick(page.write(), Qt::LeftButton);
    page.write()->click();
    QCOMPARE(page.window.findChildren<QFileDialog*>(QStringLiteral("narrowDialog")).size(), 1);
  }

  void anotherModelStopsIt() {
    Page page(test::modelFile(folder_, QStringLiteral("gpt2.pt")),
              {QStringLiteral("--slow"), QStringLiteral("narrow=60000")});
    const QString path = folder_.filePath(QStringLiteral("superseded.pt"));
    page.startWriting(path);
    QTRY_COMPARE(page.session.job().kind, JobKind::Narrowing);
    page.openAndAnalyse(test::modelFile(folder_, QStringLiteral("bert.pt")));
    page.show();
    QTRY_VERIFY(page.words("streamWords").contains(QStringLiteral("it is post-norm")));
    QVERIFY(!QFile::exists(path));
  }

  // The name was asked for the model before: it is not written to with this one.
  void aNameIsOfTheModelThatWasShown() {
    Page page(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    QTRY_VERIFY(page.write()->isEnabled());
    page.click("writeNarrow");
    page.openAndAnalyse(test::modelFile(folder_, QStringLiteral("opt.pt")));
    page.show();
    QTRY_VERIFY(page.write()->isEnabled());
    const QString path = folder_.filePath(QStringLiteral("late.pt"));
    page.answerFileDialog("narrowDialog", path);
    QTest::qWait(100);
    QCOMPARE(page.session.job().kind, JobKind::None);
    QVERIFY(!QFile::exists(path));
  }

  void theEngineDiesAndThePageComesBack() {
    const QString crash = folder_.filePath(QStringLiteral("crash"));
    QFile(crash).open(QIODevice::WriteOnly);
    Page page(test::modelFile(folder_, QStringLiteral("gpt2.pt")),
              {QStringLiteral("--crash"), QStringLiteral("narrow"), QStringLiteral("--while"), crash});
    const QString path = folder_.filePath(QStringLiteral("again.pt"));
    page.startWriting(path);
    QTRY_VERIFY(page.window.infoBar()->showsError());
    QVERIFY(!page.write()->isEnabled());
    page.click("infoAction");
    QTRY_VERIFY(page.write()->isEnabled());
    page.startWriting(path);
    QTRY_VERIFY(QFile::exists(path));
  }

  void whatTheEngineCannotTellIsSaid() {
    Page page(test::modelFile(folder_, QStringLiteral("gpt2.pt")),
              {QStringLiteral("--error"), QStringLiteral("streams")});
    QTRY_VERIFY(page.words("streamWords").contains(QStringLiteral("cut off")));
    QVERIFY(!page.write()->isEnabled());
  }

  void nothingIsAskedBeforeSomebodyLooks() {
    Shown shown(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    QTest::qWait(100);
    QVERIFY(!shown.session.streams()->report());
    shown.window.workspace()->showSheet(ExportSheet::Kind::Streams);
    QTRY_VERIFY(shown.session.streams()->report().has_value());
  }

 private:
  QTemporaryDir folder_;
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::StreamsTest>(argc, argv); }

#include "test_streams.moc"

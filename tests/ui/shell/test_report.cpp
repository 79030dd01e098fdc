// Export report: the engine makes the page of the fold, the window its pictures of the graph.
#include <QFile>
#include <QTemporaryDir>

#include "tests/support/wait_for_layout.h"
#include "tests/ui/shell/shown_window.h"
#include "ui/graphview/graph_view.h"
#include "ui/session/report_run.h"
#include "ui/window/actions.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/report_export.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {
namespace {

struct Folded : Shown {
  explicit Folded(const QString& model, const QStringList& mischief = {}) : Shown(model, mischief) {
    test::waitForLayout(*window.workspace()->graph()->view(), 5000);
    fold();
  }
};

}  // namespace

class ReportTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void thereIsNoneBeforeAFold() {
    Shown shown(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    QVERIFY(!shown.window.actions()->exportReport->isEnabled());
    shown.fold();
    QVERIFY(shown.window.actions()->exportReport->isEnabled());
  }

  void thePageHasTheGraphBeforeAndAfter() {
    Folded shown(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    const QString path = folder_.filePath(QStringLiteral("page.html"));
    shown.window.actions()->exportReport->trigger();
    shown.child<QLineEdit>("exportFile")->setText(path);
    shown.click("exportWrite");
    QTRY_VERIFY(QFile::exists(path));
    const QByteArray page = test::contentOf(path);
    QVERIFY(page.startsWith("html report of gpt2.pt"));
    const auto before = page.indexOf("\nBefore\n"), after = page.indexOf("\nAfter\n");
    QVERIFY(before > 0 && after > before);
    QCOMPARE(page.count("<svg"), 2);
    QVERIFY2(page.mid(before, after - before).size() > 500, "it is drawn");
    QVERIFY2(page.mid(before + 8, after - before - 8) != page.mid(after + 7), "the plan is seen");
    QVERIFY2(page.contains("\nplace of 1"), "each norm has its place");
    for (const char* never : {"<script", "<image", "href=", "fill=\"#"}) QVERIFY(!page.contains(never));
  }

  void markdownHasNoPictures() {
    Folded shown(test::modelFile(folder_, QStringLiteral("gpt2.pt")));
    const QString path = folder_.filePath(QStringLiteral("page.md"));
    shown.window.findChild<ReportExport*>()->start(path);
    QTRY_VERIFY(QFile::exists(path));
    QCOMPARE(test::contentOf(path), QByteArray("markdown report of gpt2.pt"));
  }

  void whatGoesWrongIsTold() {
    Folded shown(test::modelFile(folder_, QStringLiteral("gpt2.pt")),
                 {QStringLiteral("--error"), QStringLiteral("report")});
    auto* report = shown.window.findChild<ReportExport*>();
    QSignalSpy failed(report, &ReportExport::failed);
    const QString path = folder_.filePath(QStringLiteral("never.html"));
    report->start(path);
    QTRY_COMPARE(failed.count(), 1);
    QVERIFY(!failed.first().first().toString().isEmpty());
    QVERIFY(!QFile::exists(path));
  }

  void escStopsIt() {
    Folded shown(test::modelFile(folder_, QStringLiteral("gpt2.pt")),
                 {QStringLiteral("--slow"), QStringLiteral("report=60000")});
    const QString path = folder_.filePath(QStringLiteral("stopped.html"));
    shown.window.findChild<ReportExport*>()->start(path);
    QTRY_VERIFY(shown.session.report()->running());
    QCOMPARE(shown.session.running().kind, JobKind::Reporting);
    shown.session.cancel();
    QTRY_VERIFY(!shown.session.report()->running());
    QVERIFY(!QFile::exists(path));
  }

 private:
  QTemporaryDir folder_;
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::ReportTest>(argc, argv); }
#include "test_report.moc"

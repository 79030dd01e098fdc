// The program itself where there is no display: texts and errors instead of a core dump.
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

namespace normlens::ui {
namespace {

struct Answer {
  int status = -1;
  QString out, err;
};

Answer runWithoutDisplay(const QStringList& arguments) {
  QProcess program;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) environment.remove(QLatin1String(name));
  program.setProcessEnvironment(environment);
  program.start(QStringLiteral(NORMLENS_PROGRAM), arguments);
  if (!program.waitForFinished(60'000) || program.exitStatus() != QProcess::NormalExit) return {};
  return {program.exitCode(), QString::fromUtf8(program.readAllStandardOutput()),
          QString::fromUtf8(program.readAllStandardError())};
}

}  // namespace

class TestProgram final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void helpAndVersionNeedNoDisplay() {
    const Answer help = runWithoutDisplay({QStringLiteral("--help")});
    QCOMPARE(help.status, 0);
    QVERIFY(help.out.contains(QStringLiteral("--screenshot")));
    const Answer version = runWithoutDisplay({QStringLiteral("--version")});
    QCOMPARE(version.status, 0);
    QVERIFY(version.out.contains(QStringLiteral("NormLens")));
  }

  void aWindowWithoutADisplayIsAnErrorOfOneLine() {
    const Answer answer = runWithoutDisplay({});
    QCOMPARE(answer.status, 2);
    QCOMPARE(answer.err.count(u'\n'), 1);
    QVERIFY(answer.err.contains(QStringLiteral("no display")));
  }

  void aPictureTakesThePlaceOfNoOtherKindOfFile() {
    const QTemporaryDir folder;
    const auto at = [&](const char* name) { return folder.filePath(QLatin1String(name)); };
    for (const char* name : {"model.onnx", "notes.txt", "model.png", "model.html"}) {
      QFile file(at(name));
      QVERIFY(file.open(QIODevice::WriteOnly) && file.write("mine") == 4);
    }
    const auto refused = [&](const char* model, const char* option, const char* picture) {
      QFile file(at(picture));
      return runWithoutDisplay({at(model), QLatin1String(option), at(picture)}).status == 2 &&
             file.open(QIODevice::ReadOnly) && file.readAll() == "mine";
    };
    QVERIFY(refused("model.onnx", "--screenshot", "notes.txt"));
    QVERIFY(refused("model.onnx", "--screenshot", "model.onnx"));
    QVERIFY(refused("model.png", "--screenshot", "model.png"));
    QVERIFY(refused("model.png", "--picture", "model.png"));
    QVERIFY(refused("model.onnx", "--report", "notes.txt"));
    QVERIFY(refused("model.html", "--report", "model.html"));
  }
};

}  // namespace normlens::ui

QTEST_GUILESS_MAIN(normlens::ui::TestProgram)
#include "test_program.moc"

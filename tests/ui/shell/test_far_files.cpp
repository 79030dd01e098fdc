// Files there or here, with an engine on another machine: a model that is only here is sent, an export comes back or
// stays, folders there are looked into, and what a false engine answers ends in a sentence.
#include <sys/stat.h>

#include <QDialog>
#include <QDirIterator>
#include <QLabel>
#include <QListWidget>
#include <QSettings>

#include "tests/ui/shell/far_command.h"
#include "tests/ui/shell/shown_window.h"
#include "ui/client/engine_client.h"
#include "ui/client/placed_file.h"
#include "ui/session/files/file_courier.h"
#include "ui/session/project/recent_files.h"
#include "ui/window/actions.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

// The window's folder, the engine's and its cache.
struct FarWindow : Shown {
  explicit FarWindow(const QStringList& mischief = {}) {
    qputenv("XDG_CACHE_HOME", cache.path().toUtf8());
    window.engine()->setCommand(
        test::connectedBy(there, test::fakeEngine(mischief + QStringList{QStringLiteral("--while"), flag()})));
    session.recover();
  }
  ~FarWindow() { QDir::setCurrent(QDir::tempPath()); }
  QString make(const QString& name, const QByteArray& content) {
    test::write(here.filePath(name), content);
    return test::onlyHere(here, name);
  }
  [[nodiscard]] QString flag() const { return there.filePath(QStringLiteral("flag")); }
  // What the engine keeps of what was sent, or that is to be fetched.
  [[nodiscard]] QStringList exchanged() const {
    QStringList files;
    for (QDirIterator at(cache.path(), QDir::Files | QDir::Hidden, QDirIterator::Subdirectories); at.hasNext();)
      files << at.next();
    return files;
  }
  // Waits until some of the file has come, and returns which file on the disk that is.
  ino_t begun() {
    struct stat info {};
    const auto some = [&] {
      const QStringList files = exchanged();
      return files.size() == 1 && ::stat(qPrintable(files.first()), &info) == 0 && info.st_size > 0;
    };
    return QTest::qWaitFor(some) ? info.st_ino : 0;
  }
  bool planned() {
    return QTest::qWaitFor([&] { return session.plan().has_value() && !session.busy(); }, 10'000);
  }
  QDialog* dialog(const char* name) { return child<QDialog>(name); }
  void use(QDialog* dialog, const QString& path) {
    auto* field = dialog->findChild<QLineEdit*>(QStringLiteral("farPath"));
    field->selectAll();
    QTest::keyClicks(field, path);
    QTest::mouseClick(dialog->findChild<QAbstractButton*>(QStringLiteral("farUse")), Qt::LeftButton);
  }

  QTemporaryDir here, there, cache;
};

QByteArray contentWith(int kilobytes) {
  QByteArray bytes;
  for (int i = 0; bytes.size() < kilobytes * 1024; ++i) bytes += QByteArray::number(i * 7919);
  return bytes;
}

// An engine that answers about files as it likes. It is a script: "LIST", "HASH", "BYTES" and "DATA" are filled in.
constexpr const char* kFalseEngine = R"(
import base64, json, sys
def reply(request, result):
    body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result})
    sys.stdout.write(f"Content-Length: {len(body)}\r\n\r\n{body}")
    sys.stdout.flush()
while header := sys.stdin.readline():
    sys.stdin.readline()
    request = json.loads(sys.stdin.read(int(header.split(":")[1])))
    method, params = request["method"], request.get("params") or {}
    if method == "list_folder":
        reply(request, {"path": "/", "entries": [{"name": name, "bytes": BYTES} for name in LIST]})
    elif method == "fetch_chunk":
        data = DATA[params["offset"]:]
        reply(request, {"bytes": BYTES, "data": base64.b64encode(data).decode(), "hash": HASH})
    elif method == "initialize":
        reply(request, {"protocol": params["protocol"]})
    else:
        reply(request, None)
)";

}  // namespace

class TestFarFiles final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() { QVERIFY(QFile::exists(QStringLiteral("/proc/self/cwd"))); }

  void aPathNamesItsMachine() {
    QCOMPARE(placedOn(QStringLiteral("gpu-box"), QStringLiteral("/m/x.pt")), QStringLiteral("gpu-box:/m/x.pt"));
    QCOMPARE(placedOn({}, QStringLiteral("/m/x.pt")), QStringLiteral("/m/x.pt"));
    QCOMPARE(machineOf(QStringLiteral("gpu-box:/m/a:/x.pt")), QStringLiteral("gpu-box"));
    QCOMPARE(pathThere(QStringLiteral("gpu-box:/m/x.pt")), QStringLiteral("/m/x.pt"));
    for (const char* here : {"/m/x.pt", "x.pt", "/m/a:/x.pt", "a:b.pt", ":/x.pt", "./a:/x.pt", ""})
      QVERIFY2(machineOf(QLatin1String(here)).isEmpty(), here);
  }

  // ---- there

  void aModelThatIsOnlyHereIsSent() {
    FarWindow far;
    const QByteArray content = contentWith(300);
    const QString model = far.make(QStringLiteral("gpt2.pt"), content);
    far.window.openFile(model);
    QVERIFY(far.planned());
    QCOMPARE(far.session.path(), model);
    QCOMPARE(far.window.windowTitle(), QStringLiteral("gpt2.pt – NormLens on gpu-box"));
    const QStringList sent = far.exchanged();
    QCOMPARE(sent.size(), 1);
    QCOMPARE(text(far.session.model()->path), sent.first());
    QCOMPARE(test::contentOf(sent.first()), content);
    struct stat before {
    }, after{};
    QCOMPARE(::stat(qPrintable(sent.first()), &before), 0);
    far.session.recover();
    QTRY_VERIFY(far.session.served() && far.planned());
    QCOMPARE(::stat(qPrintable(sent.first()), &after), 0);
    QCOMPARE(after.st_ino, before.st_ino);
  }

  // So it is with a folder that both mount.
  void aModelThatBothSeeIsNotSent() {
    FarWindow far;
    test::write(far.here.filePath(QStringLiteral("gpt2.pt")), "model");
    far.window.openFile(far.here.filePath(QStringLiteral("gpt2.pt")));
    QVERIFY(far.planned());
    QVERIFY(far.exchanged().isEmpty());
  }

  void theDataFilesThatAModelNamesAreSent() {
    FarWindow far;
    const auto named = [](const QByteArray& name) {
      return QByteArray("\x0a\x08location\x12") + static_cast<char>(name.size()) + name;
    };
    for (const char* name : {"w.bin", "not_named.bin"}) far.make(QLatin1String(name), name);
    const QString model = far.make(QStringLiteral("m.onnx"), "model " + named("w.bin") + named("gone.bin") +
                                                                 named("../up.bin") + named("/etc/passwd"));
    far.window.openFile(model);
    QVERIFY(far.planned());
    QStringList names;
    for (const QString& file : far.exchanged()) names << QFileInfo(file).fileName();
    names.sort();
    QCOMPARE(names, (QStringList{QStringLiteral("m.onnx"), QStringLiteral("w.bin")}));
    QCOMPARE(QFileInfo(far.exchanged().first()).path(), QFileInfo(far.exchanged().last()).path());
  }

  void aTransferThatIsCutGoesOn() {
    FarWindow far({QStringLiteral("--slow"), QStringLiteral("send_chunk=60"), QStringLiteral("--attack"),
                   QStringLiteral("send_chunk=die")});
    const QByteArray content = contentWith(3000);
    far.window.openFile(far.make(QStringLiteral("gpt2.pt"), content));
    const ino_t begun = far.begun();
    QVERIFY(begun != 0);
    test::write(far.flag(), {});
    QTRY_VERIFY_WITH_TIMEOUT(far.says(QStringLiteral("gpu-box")), 10'000);
    QVERIFY(far.planned());
    struct stat info {};
    QCOMPARE(far.exchanged().size(), 1);
    QCOMPARE(::stat(qPrintable(far.exchanged().first()), &info), 0);
    QCOMPARE(info.st_ino, begun);
    QCOMPARE(test::contentOf(far.exchanged().first()), content);
  }

  void aTransferIsStopped() {
    FarWindow far({QStringLiteral("--slow"), QStringLiteral("send_chunk=60")});
    far.window.openFile(far.make(QStringLiteral("gpt2.pt"), contentWith(3000)));
    QVERIFY(far.begun() != 0);
    QVERIFY2(far.session.job().stage.startsWith(QStringLiteral("sending gpt2.pt to gpu-box")),
             qPrintable(far.session.job().stage));
    far.session.cancel();
    QTRY_VERIFY(!far.session.busy());
    QVERIFY(!far.session.model());
  }

  void anEmptyModelIsASentence() {
    FarWindow far;
    far.window.openFile(far.make(QStringLiteral("gpt2.pt"), {}));
    QTRY_VERIFY(far.says(QStringLiteral("gpt2.pt is empty.")));
  }

  // ---- back

  void anExportComesBack() {
    FarWindow far;
    far.window.openFile(far.make(QStringLiteral("gpt2.pt"), "model"));
    QVERIFY(far.planned());
    far.fold();
    const QString out = test::onlyHere(far.here, QStringLiteral("out.pt"));
    far.session.exportTo(out);
    QTRY_VERIFY(far.session.exported().has_value() && !far.session.busy());
    QCOMPARE(text(far.session.exported()->path), out);
    QCOMPARE(test::contentOf(out), QByteArray("folded with portable\n"));
    QTRY_COMPARE(far.exchanged().size(), 1);  // the model
    QVERIFY(far.says(QStringLiteral("Wrote /proc/self/cwd/out.pt")));
    QCOMPARE(QDir(far.here.path()).entryList(QDir::Files | QDir::Hidden).size(), 2);
  }

  void anExportThatIsCutComesBackWhenTheConnectionDoes() {
    FarWindow far({QStringLiteral("--attack"), QStringLiteral("fetch_chunk=die")});
    far.window.openFile(far.make(QStringLiteral("gpt2.pt"), "model"));
    QVERIFY(far.planned());
    far.fold();
    test::write(far.flag(), {});
    const QString out = test::onlyHere(far.here, QStringLiteral("out.pt"));
    far.session.exportTo(out);
    QTRY_VERIFY_WITH_TIMEOUT(far.says(QStringLiteral("The connection to gpu-box ended")), 10'000);
    QVERIFY(!QFile::exists(out));
    QTRY_VERIFY_WITH_TIMEOUT(far.session.exported().has_value() && !far.session.busy(), 10'000);
    QCOMPARE(test::contentOf(out), QByteArray("folded with portable\n"));
  }

  void anExportStaysThere() {
    FarWindow far;
    far.window.openFile(far.make(QStringLiteral("gpt2.pt"), "model"));
    QVERIFY(far.planned());
    far.fold();
    const QString out = QStringLiteral("gpu-box:") + far.there.filePath(QStringLiteral("out.pt"));
    far.session.exportTo(out);
    QTRY_VERIFY(far.session.exported().has_value());
    QCOMPARE(test::contentOf(far.there.filePath(QStringLiteral("out.pt"))), QByteArray("folded with portable\n"));
    QVERIFY(far.says(QStringLiteral("Wrote ") + out));
  }

  // The full disk of this machine.
  void anExportThatCannotBeWrittenHereIsASentence() {
    FarWindow far;
    far.window.openFile(far.make(QStringLiteral("gpt2.pt"), "model"));
    QVERIFY(far.planned());
    far.fold();
    far.session.exportTo(QStringLiteral("/no/such/folder/out.pt"));
    QTRY_VERIFY(far.says(QStringLiteral("could not be written")));
    QVERIFY(!far.session.exported());
  }

  // ---- names of machines

  void aFileThereIsOpenedByItsName() {
    QSettings().clear();
    FarWindow far;
    test::write(far.there.filePath(QStringLiteral("gpt2.pt")), "model");
    const QString file = QStringLiteral("gpu-box:") + far.there.filePath(QStringLiteral("gpt2.pt"));
    far.window.openFile(file);
    QVERIFY(far.planned());
    QCOMPARE(far.session.path(), file);
    QVERIFY(far.exchanged().isEmpty());
    QCOMPARE(recentFiles().first().path, file);
    far.window.openFile(QStringLiteral("/no/such/model.pt"));
    QTRY_VERIFY2(far.says(QStringLiteral("There is no file gpu-box:/no/such/model.pt.")),
                 qPrintable(far.window.infoBar()->message()));
  }

  void aFileOfAnotherMachineIsASentence() {
    Shown shown;
    shown.window.openFile(QStringLiteral("gpu-box:/models/x.pt"));
    QTRY_VERIFY(shown.says(QStringLiteral("gpu-box:/models/x.pt is on gpu-box.")));
    QVERIFY(!shown.session.busy());
  }

  // ---- the dialogs

  void aModelIsChosenThere() {
    FarWindow far;
    QVERIFY(QDir(far.there.path()).mkpath(QStringLiteral("models")));
    for (const char* name : {"models/gpt2.pt", "models/notes.txt", "models/.hidden.pt"})
      test::write(far.there.filePath(QLatin1String(name)), "model");
    far.child<QAction>("open")->trigger();
    QDialog* dialog = far.dialog("openDialog");
    QCOMPARE(dialog->windowTitle(), QStringLiteral("Open a model on gpu-box"));
    far.use(dialog, far.there.path());
    auto* files = dialog->findChild<QListWidget*>(QStringLiteral("farFiles"));
    const auto row = [&](const char* name) { return files->findItems(QLatin1String(name), Qt::MatchExactly).value(0); };
    QTRY_VERIFY(row("models/") != nullptr);
    Q_EMIT files->itemActivated(row("models/"));
    QTRY_VERIFY(row("gpt2.pt") != nullptr);
    QCOMPARE(files->count(), 1);
    const QString figures = QStringLiteral("5 B · ") + formatDate(QDate::currentDate());
    QCOMPARE(row("gpt2.pt")->data(Qt::UserRole).toString(), figures);
    QCOMPARE(files->itemDelegate()->metaObject()->className(), "normlens::ui::RowDelegate");  // which draws them
    QTest::mouseClick(files->viewport(), Qt::LeftButton, {}, files->visualItemRect(row("gpt2.pt")).center());
    QTest::mouseClick(dialog->findChild<QAbstractButton*>(QStringLiteral("farUse")), Qt::LeftButton);
    QVERIFY(far.planned());
    QCOMPARE(far.session.path(), QStringLiteral("gpu-box:") + far.there.filePath(QStringLiteral("models/gpt2.pt")));
  }

  void whatIsNotThereIsASentenceInTheDialog() {
    FarWindow far;
    far.child<QAction>("open")->trigger();
    QDialog* dialog = far.dialog("openDialog");
    far.use(dialog, QStringLiteral("/no/such/folder"));
    const auto says = [&] {
      return std::ranges::any_of(dialog->findChildren<QLabel*>(), [](QLabel* label) {
        return label->text() == QStringLiteral("/no/such/folder could not be read: No such file or directory.");
      });
    };
    QTRY_VERIFY(says());
    QVERIFY(dialog->isVisible());
  }

  void aFileOfThisMachineCanBeChosenInstead() {
    FarWindow far;
    const QString model = far.make(QStringLiteral("gpt2.pt"), "model");
    far.child<QAction>("open")->trigger();
    far.click("farHere");
    far.answerFileDialog("openDialog", model);
    QVERIFY(far.planned());
    QCOMPARE(far.exchanged().size(), 1);
  }

  void anExportIsPlacedThere() {
    FarWindow far;
    test::write(far.there.filePath(QStringLiteral("gpt2.pt")), "model");
    test::write(far.there.filePath(QStringLiteral("old.pt")), "old");
    far.window.openFile(QStringLiteral("gpu-box:") + far.there.filePath(QStringLiteral("gpt2.pt")));
    QVERIFY(far.planned());
    far.click("exportButton");
    auto* file = far.child<QLineEdit>("exportFile");
    const QString machine = QStringLiteral("gpu-box:");
    QTRY_COMPARE(file->text(), machine + far.there.filePath(QStringLiteral("gpt2.folded.pt")));
    far.click("exportChange");
    QDialog* dialog = far.dialog("exportDialog");
    auto* field = dialog->findChild<QLineEdit*>(QStringLiteral("farPath"));
    QTRY_COMPARE(field->text(), far.there.filePath(QStringLiteral("gpt2.folded.pt")));
    far.use(dialog, far.there.filePath(QStringLiteral("old.pt")));
    QTRY_VERIFY(std::ranges::any_of(dialog->findChildren<QLabel*>(), [](QLabel* label) {
      return label->text() == QStringLiteral("old.pt exists. Press Save again to replace it.");
    }));
    QVERIFY(dialog->isVisible());
    far.use(dialog, far.there.filePath(QStringLiteral("new.pt")));
    QTRY_COMPARE(file->text(), machine + far.there.filePath(QStringLiteral("new.pt")));
    far.click("exportWrite");
    QTRY_VERIFY(far.session.exported().has_value());
    QVERIFY(QFile::exists(far.there.filePath(QStringLiteral("new.pt"))));
    // A name that was typed is asked about as well.
    file->setText(machine + far.there.filePath(QStringLiteral("old.pt")));
    far.click("exportWrite");
    QTRY_VERIFY(far.says(QStringLiteral("old.pt exists.")));
    QCOMPARE(test::contentOf(far.there.filePath(QStringLiteral("old.pt"))), QByteArray("old"));
  }

  // ---- an engine that is not ours

  void aFalseEngineHarmsNothing_data() {
    QTest::addColumn<QStringList>("says");  // LIST, BYTES, DATA, HASH
    QTest::addColumn<QString>("sentence");  // begins so; empty: it comes
    const auto row = [](const char* name, const char* list, const char* bytes, const char* data, const char* hash,
                        const char* sentence) {
      QTest::newRow(name) << QStringList{QLatin1String(list), QLatin1String(bytes), QLatin1String(data),
                                         QLatin1String(hash)}
                          << QString::fromLatin1(sentence);
    };
    // XXH3-128 of "abc".
    const char* abc = "'06b05ab6733a618578af5f94892f3950'";
    row("as it should", "['out.pt']", "3", "b'abc'", abc, "");
    row("names that lead away",
        "['out.pt', '../out.pt', 'out.pt/../../out.x', '/tmp/out.y', '.out', 'other', '..', '']", "3", "b'abc'", abc,
        "");
    row("a data file that exists here", "['out.pt', 'out_data']", "3", "b'abc'", abc, "HERE/out_data exists");
    row("another hash", "['out.pt']", "3", "b'abd'", abc, "What came of HERE/out.pt is not what was sent");
    row("more than it said", "['out.pt']", "3", "b'abcd'", abc, "out.pt has changed while it was fetched.");
    row("less than it said", "['out.pt']", "5", "b'abc'", abc, "out.pt has changed while it was fetched.");
    row("nothing", "[]", "3", "b'abc'", abc, "out.pt is not there any more.");
    row("less than no bytes", "['out.pt']", "-3", "b''", abc, "out.pt has changed while it was fetched.");
  }
  void aFalseEngineHarmsNothing() {
    QFETCH(QStringList, says);
    QFETCH(QString, sentence);
    const QTemporaryDir here;
    QString script = QString::fromLatin1(kFalseEngine);
    const QStringList names{QStringLiteral("LIST"), QStringLiteral("BYTES"), QStringLiteral("DATA"),
                            QStringLiteral("HASH")};
    for (qsizetype i = 0; i < names.size(); ++i) script.replace(names[i], says[i]);
    test::write(here.filePath(QStringLiteral("out_data")), "mine");
    EngineClient engine;
    engine.setCommand({QStringLiteral("python3"), QStringLiteral("-c"), script});
    engine.start();
    FileCourier courier(&engine);
    std::optional<Reply<QString>> reply;
    const QString out = here.filePath(QStringLiteral("out.pt"));
    courier.fetch(QStringLiteral("/cache/0/out.pt"), out, [&](const Reply<QString>& given) { reply = given; });
    QTRY_VERIFY(reply.has_value());
    if (sentence.isEmpty()) {
      QVERIFY2(reply->has_value(), reply->has_value() ? "" : qPrintable(reply->error().message));
      QCOMPARE(test::contentOf(out), QByteArray("abc"));
    } else {
      QVERIFY(!reply->has_value());
      const QString begin = QString(sentence).replace(QStringLiteral("HERE"), here.path());
      QVERIFY2(reply->error().message.startsWith(begin), qPrintable(reply->error().message));
      QVERIFY(!QFile::exists(out));
    }
    QStringList left = QDir(here.path()).entryList(QDir::Files | QDir::Hidden);
    left.removeAll(QStringLiteral("out.pt"));
    QCOMPARE(left, QStringList{QStringLiteral("out_data")});
    QCOMPARE(test::contentOf(here.filePath(QStringLiteral("out_data"))), QByteArray("mine"));
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestFarFiles>(argc, argv); }

#include "test_far_files.moc"

// Work that a window put aside before it ended: offered again, discarded, and never another window's.
#include <QComboBox>
#include <QDir>
#include <QSettings>

#include "tests/ui/shell/shown_window.h"
#include "ui/session/project_keeper.h"
#include "ui/widgets/info_bar.h"

namespace normlens::ui {

class TestRecovery final : public QObject {
  Q_OBJECT

  // The files that windows keep their unsaved work in.
  [[nodiscard]] QStringList putAside() const {
    QStringList files;
    for (const QFileInfo& file : QDir(recovery_).entryInfoList({QStringLiteral("*.normlens")}, QDir::Files))
      files << file.filePath();
    return files;
  }

 private Q_SLOTS:
  void init() {
    QSettings().clear();
    folder_ = std::make_unique<QTemporaryDir>();
    model_ = test::modelFile(*folder_, QStringLiteral("bert.pt"));
    project_ = folder_->filePath(QStringLiteral("mine.normlens"));
    recovery_ = folder_->filePath(QStringLiteral("recovery"));
  }

  void workIsRecoveredAfterACrash() {
    Project project;
    project.model.path = model_;
    project.policy = Policy::All;
    project.kept = QStringList{QStringLiteral("embeddings_norm")};
    project.flavour = "portable";
    QVERIFY(QDir().mkpath(recovery_));
    // What a window leaves that was killed: its file, and no one who holds its lock.
    const QString orphan = QDir(recovery_).filePath(QStringLiteral("dead.normlens"));
    test::write(orphan, QByteArray::fromStdString(projectToJson(project)));

    Shown shown({}, false, recovery_);
    QTRY_VERIFY(shown.says(QStringLiteral("Work on bert.pt was not saved")));
    shown.click("infoAction");
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.choices()->params().policy, Policy::All);
    QCOMPARE(shown.session.choices()->params().keep_norms, std::vector<int>{0});
    QVERIFY(!QFile::exists(orphan));
    QCOMPARE(putAside().size(), 1);  // a second crash loses nothing
  }

  void theOfferStaysWhenAModelIsOpened() {
    Project project;
    project.model.path = model_;
    QVERIFY(QDir().mkpath(recovery_));
    const QString orphan = QDir(recovery_).filePath(QStringLiteral("dead.normlens"));
    test::write(orphan, QByteArray::fromStdString(projectToJson(project)));
    Shown shown({}, false, recovery_);
    QTRY_VERIFY(shown.says(QStringLiteral("Work on bert.pt was not saved")));
    shown.session.open(test::modelFile(*folder_, QStringLiteral("several.pt2")));
    QTRY_VERIFY(shown.session.plan().has_value());
    QVERIFY2(!shown.session.model()->note.empty(), "a message of its own");
    QVERIFY(shown.says(QStringLiteral("Work on bert.pt was not saved")));
  }

  void recoveryMayBeDiscarded() {
    QVERIFY(QDir().mkpath(recovery_));
    Project project;
    project.model.path = model_;
    project.policy = Policy::All;
    const QString orphan = QDir(recovery_).filePath(QStringLiteral("dead.normlens"));
    test::write(orphan, QByteArray::fromStdString(projectToJson(project)));
    Shown shown({}, false, recovery_);
    QTRY_VERIFY(shown.window.infoBar()->isVisible());
    shown.click("infoOther");
    QVERIFY(!QFile::exists(orphan));
    QVERIFY(!shown.window.infoBar()->isVisible());
  }

  void onlyTouchedWorkIsPutAsideAndAnOrderlyEndLeavesNothing() {
    {
      Shown shown(model_, {}, false, recovery_);
      shown.window.project()->putAside();
      QVERIFY(putAside().isEmpty());
      shown.session.choices()->setPolicy(Policy::All);
      QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
      shown.window.project()->putAside();
      QCOMPARE(putAside().size(), 1);
      QVERIFY(test::contentOf(putAside().first()).contains("\"policy\": \"all\""));
      // Another window that starts now does not take it for an orphan.
      QVERIFY(Recovery(recovery_).orphans().isEmpty());
    }
    QVERIFY(putAside().isEmpty());
    QVERIFY(Recovery(recovery_).orphans().isEmpty());
  }

  void changesOfAProjectThatWereNotSavedAreOfferedAgain() {
    {
      Shown shown(model_, {}, false, recovery_);
      QVERIFY(shown.window.project()->save(project_).has_value());
      shown.session.choices()->setPolicy(Policy::All);
      QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
      shown.window.close();
    }
    QCOMPARE(Recovery(recovery_).orphans().size(), 1);
    Shown shown({}, false, recovery_);
    QTRY_VERIFY(shown.says(QStringLiteral("was not saved")));
    shown.click("infoAction");
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QCOMPARE(shown.session.choices()->params().policy, Policy::All);
  }

  void changesOfAProjectAreOfferedAgainWhenAnotherModelFollows() {
    Shown shown(model_, {}, false, recovery_);
    QVERIFY(shown.window.project()->save(project_).has_value());
    shown.session.choices()->setPolicy(Policy::All);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    shown.window.openFile(folder_->filePath(QStringLiteral("missing.pt")));
    QTRY_VERIFY(shown.window.infoBar()->showsError() && !shown.session.busy());
    QCOMPARE(shown.window.project()->path(), project_);
    QVERIFY(shown.window.project()->dirty());
    QVERIFY(Recovery(recovery_).orphans().isEmpty());
    shown.openAndAnalyse(test::modelFile(*folder_));
    QCOMPARE(shown.window.project()->path(), QString());
    const QStringList orphans = Recovery(recovery_).orphans();
    QCOMPARE(orphans.size(), 1);
    QVERIFY(test::contentOf(orphans.first()).contains("\"policy\": \"all\""));
    // What comes next is put aside beside it.
    shown.session.choices()->keepNorm(0, true);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    shown.window.project()->putAside();
    QCOMPARE(putAside().size(), 2);
  }

  void eachModelOfAFileHasItsOwnWork() {
    Shown shown(test::modelFile(*folder_, QStringLiteral("several.pt2")), {}, false, recovery_);
    const auto openWith = [&](const QString& name, Policy policy) {
      auto* choice = shown.child<QComboBox>("modelChoice");
      choice->setCurrentText(name);
      Q_EMIT choice->activated(choice->currentIndex());
      if (!QTest::qWaitFor([&] { return shown.session.modelName() == name && shown.session.plan(); })) return false;
      return shown.session.choices()->params().policy == policy;
    };
    const auto work = [&](Policy policy) {
      shown.session.choices()->setPolicy(policy);
      return QTest::qWaitFor([&] { return shown.session.plan() && !shown.session.busy(); });
    };
    QVERIFY(work(Policy::All));
    QVERIFY(openWith(QStringLiteral("encode"), Policy::Balanced));
    QVERIFY(work(Policy::Free));
    QVERIFY(openWith(QStringLiteral("decode"), Policy::All));
    QVERIFY(openWith(QStringLiteral("encode"), Policy::Free));
  }

  void aProjectIsRestoredByAnEngineThatDiedOverIt() {
    Project project;
    project.model.path = model_;
    project.policy = Policy::All;
    project.kept = QStringList{QStringLiteral("layer.0.output_norm")};
    project.flavour = "portable";
    project.inputs.specs = {"in_0=int64[2,8]:0..9"};
    QVERIFY(saveProject(project_, project).has_value());
    for (const char* method : {"open", "analyze", "plan"}) {
      const QString flag = test::modelFile(*folder_, QStringLiteral("crash.flag"));
      Shown shown({QStringLiteral("--crash"), QLatin1String(method), QStringLiteral("--while"), flag});
      shown.window.openFile(project_);
      QTRY_VERIFY2(shown.window.infoBar()->showsError(), method);
      shown.click("infoAction");
      QTRY_VERIFY2(shown.session.plan() && !shown.session.busy(), method);
      QCOMPARE(shown.session.choices()->params().policy, Policy::All);
      QCOMPARE(shown.session.choices()->params().keep_norms, std::vector<int>{2});
      QCOMPARE(shown.session.inputs().specs.size(), size_t{1});
      QCOMPARE(shown.window.project()->path(), project_);
      QVERIFY2(!shown.window.project()->dirty(), method);
      shown.session.choices()->setPolicy(Policy::Free);
      QVERIFY2(shown.window.project()->dirty(), method);  // it knows what the file holds
    }
  }

 private:
  std::unique_ptr<QTemporaryDir> folder_;
  QString model_, project_, recovery_;
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestRecovery>(argc, argv); }

#include "test_recovery.moc"

// What the window's tests share: an offscreen application, the fake engine, a model file that exists.
#pragma once

#include <QApplication>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>
#include <clocale>

#include "ui/client/engine_command.h"
#include "ui/theme/theme.h"

namespace normlens::test {

// The fake engine with these extra arguments.
inline ui::EngineCommand fakeEngine(const QStringList& mischief = {}) {
  return ui::EngineCommand{QStringLiteral(NORMLENS_FAKE_ENGINE), QStringLiteral("serve")} + mischief;
}

// An empty file under `folder`; the fake engine looks only at its name.
inline QString modelFile(const QTemporaryDir& folder, const QString& name = QStringLiteral("gpt2.pt")) {
  QFile file(folder.filePath(name));
  [[maybe_unused]] const bool opened = file.open(QIODevice::WriteOnly);
  return file.fileName();
}

// A test with a model file of its own.
class ModelTest : public QObject {
 protected:
  QTemporaryDir folder_;
  QString model_ = modelFile(folder_);
};

inline void write(const QString& path, const QByteArray& content) {
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(content);
}

inline QByteArray contentOf(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

// The main of a test program: offscreen unless chosen otherwise, with settings and files to recover of its own, as the
// cases of one program may run at the same time.
template <class Test>
int runShellTest(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  const QTemporaryDir home;
  for (const char* folder : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"})
    qputenv(folder, home.path().toUtf8());
  QApplication application(argc, argv);
  std::setlocale(LC_NUMERIC, "C");
  QCoreApplication::setOrganizationName(QStringLiteral("NormLensTest"));
  QCoreApplication::setApplicationName(QString::fromLatin1(Test::staticMetaObject.className()));
  QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
  ui::applyTheme(application, ui::lightTheme());
  Test test;
  return QTest::qExec(&test, argc, argv);
}

}  // namespace normlens::test

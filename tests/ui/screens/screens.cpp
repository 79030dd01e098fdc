// normlens-screens FOLDER MODEL OTHER [--dark] [--only NAME] [--font PIXELS] [--size WIDTHxHEIGHT]: writes one PNG per
// scene; NAME: of a scene, or "lesson_*" (the lessons), "present_*" (the same for a room). NORMLENS_ENGINE is the
// command of an engine; without it, and where a scene needs one that dawdles, the fake engine serves.
#include <QApplication>
#include <QCommandLineParser>
#include <QDir>
#include <QRegularExpression>
#include <QSettings>
#include <QStandardPaths>
#include <QtTest>
#include <clocale>
#include <cstdio>

#include "tests/ui/screens/scenes.h"
#include "ui/client/engine_command.h"
#include "ui/graphview/graph_view.h"
#include "ui/theme/theme.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/workspace.h"

namespace {

namespace ui = normlens::ui;

ui::EngineCommand engineFor(const normlens::screens::Scene& scene) {
  const ui::EngineCommand fake{QStringLiteral(NORMLENS_FAKE_ENGINE), QStringLiteral("serve")};
  if (!scene.engine.isEmpty()) return fake + scene.engine;
  return qEnvironmentVariableIsEmpty("NORMLENS_ENGINE") ? fake : ui::engineCommandFromSettings();
}

// How all scenes look.
struct Look {
  bool dark = false;
  int fontPixels = ui::kBaseFontPixels;
  QSize size;
};

// "1000x700", else as large as the window is at first.
QSize sizeOf(const QString& words) {
  const QSize size(words.section(u'x', 0, 0).toInt(), words.section(u'x', 1).toInt());
  return size.isEmpty() ? QSize(1440, 900) : size;
}

bool photograph(const normlens::screens::Scene& scene, const QStringList& words, const Look& look) {
  QSettings().clear();
  ui::applyTheme(*qApp, look.dark ? ui::darkTheme() : ui::lightTheme(), look.fontPixels);
  ui::MainWindow window(
      {engineFor(scene), look.dark ? ui::ColorScheme::Dark : ui::ColorScheme::Light, false, false, QString()});
  window.resize(look.size);
  window.workspace()->graph()->view()->setAnimated(false);
  window.show();
  normlens::screens::Stage stage{window, words[1], words[2]};
  scene.set(stage);
  QTest::qWait(250);
  QWidget& picture = stage.picture != nullptr ? *stage.picture : window;
  return picture.grab().save(QDir(words[0]).filePath(scene.name + QStringLiteral(".png")));
}

}  // namespace

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QStandardPaths::setTestModeEnabled(true);
  QGuiApplication::setHighDpiScaleFactorRoundingPolicy(Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);
  QApplication application(argc, argv);
  std::setlocale(LC_NUMERIC, "C");
  QCoreApplication::setOrganizationName(QStringLiteral("NormLensTest"));
  QCoreApplication::setApplicationName(QStringLiteral("screens"));
  QCommandLineParser parser;
  const QCommandLineOption dark(QStringLiteral("dark"));
  const QCommandLineOption only(QStringLiteral("only"), {}, QStringLiteral("NAME"));
  const QCommandLineOption font(QStringLiteral("font"), {}, QStringLiteral("PIXELS"), QStringLiteral("13"));
  const QCommandLineOption size(QStringLiteral("size"), {}, QStringLiteral("WIDTHxHEIGHT"));
  parser.addOptions({dark, only, font, size});
  parser.process(application);
  const QStringList words = parser.positionalArguments();
  if (words.size() != 3 || !QDir().mkpath(words[0])) {
    std::fputs("normlens-screens FOLDER MODEL OTHER [--dark] [--only NAME] [--font PIXELS] [--size WxH]\n", stderr);
    return 2;
  }
  const Look look{parser.isSet(dark), parser.value(font).toInt(), sizeOf(parser.value(size))};
  const auto wanted = QRegularExpression::fromWildcard(parser.value(only));
  int failed = 0;
  for (const normlens::screens::Scene& scene : normlens::screens::scenes()) {
    if (parser.isSet(only) && !wanted.match(scene.name).hasMatch()) continue;
    if (!photograph(scene, words, look)) ++failed;
  }
  return failed == 0 ? 0 : 1;
}

// The window's program.
#include <QApplication>
#include <QCommandLineParser>
#include <QDir>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QFontDatabase>

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "ui/client/engine_command.h"
#include "ui/session/project/recovery.h"
#include "ui/theme/theme.h"
#include "ui/window/frame/preferences.h"
#include "ui/window/main_window.h"
#include "ui/window/milestones.h"
#include "ui/window/screenshot.h"

namespace ui = normlens::ui;

namespace {

constexpr int kUsage = 2;

struct CommandLine {
  QString model;
  ui::ColorScheme scheme = ui::ColorScheme::FollowDesktop;
  QSize size;
  ui::ScreenshotOptions screenshot;  // file empty: none
  bool themeGiven = false;
  bool times = false;
};

int usageError(const QString& line) {
  std::fprintf(stderr, "normlens: %s\n", qPrintable(line));
  return kUsage;
}

bool parseSize(const QString& text, QSize& size) {
  const QStringList parts = text.split(u'x');
  bool widthOk = false, heightOk = false;
  if (parts.size() == 2) size = QSize(parts[0].toInt(&widthOk), parts[1].toInt(&heightOk));
  return widthOk && heightOk && size.width() >= 320 && size.height() >= 240 && size.width() <= 16384 &&
         size.height() <= 16384;
}

// 0: go on.
int parse(const QCoreApplication& application, CommandLine& line) {
  QCommandLineParser parser;
  parser.setApplicationDescription(
      QStringLiteral("Finds the LayerNorms of a model that can become RMSNorms without changing any output.\n"
                     "normlens VERB ... runs the engine without a window; normlens --help lists its verbs."));
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument(QStringLiteral("MODEL"),
                               QStringLiteral("A TorchScript, torch.export or ONNX file, or a project, to open."),
                               QStringLiteral("[MODEL]"));
  const QCommandLineOption screenshot(
      QStringLiteral("screenshot"), QStringLiteral("Render the window to FILE and exit."), QStringLiteral("FILE.png"));
  const QCommandLineOption picture(QStringLiteral("picture"),
                                   QStringLiteral("Write the whole graph to FILE as SVG, PDF or PNG and exit."),
                                   QStringLiteral("FILE.svg"));
  const QCommandLineOption report(QStringLiteral("report"),
                                  QStringLiteral("Fold the model, write the report with its graph to FILE and exit."),
                                  QStringLiteral("FILE.html"));
  const QCommandLineOption size(QStringLiteral("size"), QStringLiteral("Size of the window."), QStringLiteral("WxH"));
  const QCommandLineOption select(QStringLiteral("select"), QStringLiteral("Select this LayerNorm, by name."),
                                  QStringLiteral("LN"));
  const QCommandLineOption theme(
      QStringLiteral("theme"), QStringLiteral("light or dark; default: the desktop's theme."), QStringLiteral("THEME"));
  const QCommandLineOption times(
      QStringLiteral("times"),
      QStringLiteral("Print to stderr when the window, the graph and the analysis were on the screen."));
  parser.addOptions({screenshot, picture, report, size, select, theme, times});
  parser.process(application);
  if (parser.positionalArguments().size() > 1) return usageError(QStringLiteral("give one model, or none."));
  line.model = parser.positionalArguments().value(0);
  line.screenshot.file = parser.value(screenshot);
  line.screenshot.picture = parser.value(picture);
  line.screenshot.report = parser.value(report);
  line.screenshot.select = parser.value(select);
  line.times = parser.isSet(times);
  line.themeGiven = parser.isSet(theme);
  line.scheme = ui::colorSchemeFromName(parser.value(theme));
  if (line.themeGiven && line.scheme == ui::ColorScheme::FollowDesktop) {
    return usageError(QStringLiteral("--theme is light or dark."));
  }
  if (parser.isSet(size) && !parseSize(parser.value(size), line.size)) {
    return usageError(QStringLiteral("--size is WIDTHxHEIGHT, such as 1440x900."));
  }
  if (line.size.isValid()) line.screenshot.size = line.size;
  const bool pictures = !line.screenshot.file.isEmpty() || !line.screenshot.picture.isEmpty();
  if (parser.isSet(select) && (!pictures || line.model.isEmpty())) {
    return usageError(QStringLiteral("--select needs a MODEL and --screenshot or --picture."));
  }
  if (parser.isSet(picture) && line.model.isEmpty()) return usageError(QStringLiteral("--picture needs a MODEL."));
  if (parser.isSet(report) && line.model.isEmpty()) return usageError(QStringLiteral("--report needs a MODEL."));
  if (parser.isSet(report) && !line.screenshot.report.endsWith(QLatin1String(".html")) &&
      !line.screenshot.report.endsWith(QLatin1String(".md"))) {
    return usageError(QStringLiteral("--report writes a .html or a .md file."));
  }
  if (parser.isSet(screenshot) && QFileInfo(line.screenshot.file).suffix().toLower() != QStringLiteral("png")) {
    return usageError(QStringLiteral("--screenshot writes a .png file."));
  }
  for (const QString& written : {line.screenshot.file, line.screenshot.picture, line.screenshot.report}) {
    const QFileInfo file(written);
    if (!written.isEmpty() && file.exists() && file.canonicalFilePath() == QFileInfo(line.model).canonicalFilePath()) {
      return usageError(QStringLiteral("the file would be written over the model."));
    }
  }
  return 0;
}

bool anyStartsWith(int argc, char** argv, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(argv + 1, argv + argc, [&](std::string_view word) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](std::string_view beginning) { return word.starts_with(beginning); });
  });
}

bool hasDisplay() {
  return !qEnvironmentVariableIsEmpty("DISPLAY") || !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") ||
         !qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM");
}

// Loads the fonts that are installed with the program, for machines that have none.
void loadFonts() {
  const QDir folder(QCoreApplication::applicationDirPath() + QStringLiteral("/../share/normlens/fonts"));
  for (const QFileInfo& font : folder.entryInfoList({QStringLiteral("*.otf")})) {
    QFontDatabase::addApplicationFont(font.filePath());
  }
}

int takeScreenshot(ui::MainWindow& window, const CommandLine& line) {
  ui::Screenshot screenshot(&window, line.screenshot, [&](int status, const QString& text) {
    if (!text.isEmpty()) std::fprintf(stderr, "normlens: %s\n", qPrintable(text));
    QApplication::exit(status);
  });
  screenshot.start(line.model);
  return QApplication::exec();
}

}  // namespace

int main(int argc, char** argv) {
  QElapsedTimer sinceStart;
  sinceStart.start();
  std::signal(SIGCHLD, SIG_DFL);  // Whoever started this may have ignored it: children could not be waited for.
  // A picture needs no screen, and should not flash on one; neither does a text.
  const bool screenshot = anyStartsWith(argc, argv, {"--screenshot", "--picture", "--report"});
  const bool text = anyStartsWith(argc, argv, {"-h", "--help", "-v", "--version"});
  if ((screenshot || text) && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  // Qt's warnings about a screen that is none are not for the user.
  if (screenshot && qEnvironmentVariableIsEmpty("QT_LOGGING_RULES")) qputenv("QT_LOGGING_RULES", "*.warning=false");
  // Qt would end the program with a core dump.
  if (!hasDisplay()) return usageError(QStringLiteral("there is no display for the window; see normlens --help."));
  QGuiApplication::setHighDpiScaleFactorRoundingPolicy(Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);
  QApplication application(argc, argv);
  loadFonts();
  std::setlocale(LC_NUMERIC, "C");  // number formatting relies on it
  QCoreApplication::setOrganizationName(QStringLiteral("NormLens"));
  QCoreApplication::setApplicationName(QStringLiteral("NormLens"));
  QCoreApplication::setApplicationVersion(QStringLiteral(NORMLENS_VERSION));
  CommandLine line;
  if (const int status = parse(application, line)) return status;
  const ui::Preferences chosen = ui::preferencesFromSettings();
  const ui::Preferences preferences = screenshot ? ui::Preferences() : chosen;
  if (!line.themeGiven) line.scheme = chosen.scheme;
  const bool desktopDark = ui::desktopIsDark(QGuiApplication::palette());
  const bool dark =
      line.scheme == ui::ColorScheme::Dark || (line.scheme == ui::ColorScheme::FollowDesktop && desktopDark);
  ui::applyTheme(application, dark ? ui::darkTheme() : ui::lightTheme(), preferences.fontPixels);
  ui::MainWindow window({ui::engineCommandFromSettings(), line.scheme, desktopDark, !screenshot,
                         screenshot ? QString() : ui::Recovery::usualFolder()});
  std::optional<ui::Milestones> milestones;
  if (line.times) milestones.emplace(&window, sinceStart);
  if (screenshot) return takeScreenshot(window, line);
  if (line.size.isValid()) {
    window.setWindowState(Qt::WindowNoState);  // it may have been left maximised
    window.resize(line.size);
  }
  window.show();
  if (!line.model.isEmpty()) window.openFile(line.model);
  return QApplication::exec();
}

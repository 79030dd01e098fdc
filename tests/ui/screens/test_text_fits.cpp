// Every scene of the window at the usual size of text, at the largest, at a scale of 150%, and at both, on a screen of
// 1440×900 pixels, and in a window of 800×600: no text is cut, and what leads on stays in reach. The fake engine
// serves, so that a run takes seconds.
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QStandardItemModel>
#include <QTableView>
#include <QVBoxLayout>
#include <cstdio>

#include "tests/ui/screens/clipped_text.h"
#include "tests/ui/screens/scenes.h"
#include "tests/ui/shell/shell_test.h"
#include "ui/graphview/graph_view.h"
#include "ui/widgets/frames.h"
#include "ui/window/inspector/inspector.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::screens {

namespace {

constexpr const char* kScaled = "atScale150";
constexpr int kLargestText = 18;

}  // namespace

class TestTextFits : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void clippedTextIsFound();
  void atUsualSize() { walkScenes(ui::kBaseFontPixels, QSize(1440, 900)); }
  void inASmallWindow() { walkScenes(ui::kBaseFontPixels, QSize(800, 600)); }
  void withLargestText() { walkScenes(kLargestText, QSize(1440, 900)); }
  // The scale is set before the application is made: only when these cases are run by their names.
  void atScale150() { walkScaled(ui::kBaseFontPixels); }
  void atScale150WithLargestText() { walkScaled(kLargestText); }

 private:
  static void walkScaled(int fontPixels) {
    if (qEnvironmentVariable("QT_SCALE_FACTOR") != QLatin1String("1.5")) QSKIP("Run by its name.");
    walkScenes(fontPixels, QSize(960, 600));
  }
  static void walkScenes(int fontPixels, const QSize& size);
  static QStringList outOfReach(const ui::MainWindow& window);
};

void TestTextFits::clippedTextIsFound() {
  QWidget window;
  auto* column = new QVBoxLayout(&window);
  auto* label = ui::makeLabel(QStringLiteral("longer than its place"), "plain", &window);
  auto* words = ui::makeLabel(QStringLiteral("several words that are broken into lines"), "plain", &window);
  words->setWordWrap(true);
  auto* button = new QPushButton(QStringLiteral("Do this"), &window);
  auto* table = new QTableView(&window);
  auto* model = new QStandardItemModel(1, 1, table);
  model->setData(model->index(0, 0), QStringLiteral("a cell with more words than it has room for"));
  model->setHorizontalHeaderLabels({QStringLiteral("A")});
  table->setModel(model);
  for (QWidget* part : std::initializer_list<QWidget*>{label, words, button, table}) column->addWidget(part);
  window.resize(600, 400);
  window.show();
  table->setColumnWidth(0, 500);
  QCOMPARE(clippedText(window), QStringList());
  const auto foundBy = [&](const char* part) {
    const QStringList finds = clippedText(window);
    return finds.size() == 1 && finds.first().contains(QLatin1String(part));
  };
  label->setMaximumWidth(40);
  QTRY_VERIFY(foundBy("longer than its place"));
  label->setMaximumWidth(QWIDGETSIZE_MAX);
  words->setMaximumSize(90, 18);
  QTRY_VERIFY(foundBy("several words"));
  words->setMaximumSize(QWIDGETSIZE_MAX, QWIDGETSIZE_MAX);
  button->setFixedHeight(8);
  QTRY_VERIFY(foundBy("Do this"));
  button->setFixedHeight(30);
  table->setColumnWidth(0, 80);
  QTRY_VERIFY(foundBy("more words than it has room for"));
  model->setData(model->index(0, 0), model->index(0, 0).data(), Qt::ToolTipRole);
  QTRY_COMPARE(clippedText(window), QStringList());
  QLabel over(QStringLiteral("beyond the window"), &window);
  over.adjustSize();
  over.move(560, 10);
  over.show();
  QTRY_VERIFY(foundBy("reaches beyond"));
}

// The next step and the menu always; the inspector while a model is open.
QStringList TestTextFits::outOfReach(const ui::MainWindow& window) {
  QStringList missing;
  const auto inReach = [&](const QWidget* widget) {
    const QRect place(widget->mapTo(&window, QPoint()), widget->size());
    return widget->isVisible() && window.rect().contains(place);
  };
  for (const char* name : {"mainMenuButton", "nextAction"}) {
    const auto* button = window.findChild<QWidget*>(QLatin1String(name));
    if (button->parentWidget()->isVisible() && !button->isHidden() && !inReach(button)) {
      missing << QStringLiteral("%1 is out of reach at %2")
                     .arg(QLatin1String(name))
                     .arg(button->mapTo(&window, QPoint()).x());
    }
  }
  const QWidget* inspector = window.workspace()->inspector();
  if (window.workspace()->isVisible() && !inReach(inspector))
    missing << QStringLiteral("the inspector is out of reach");
  return missing;
}

void TestTextFits::walkScenes(int fontPixels, const QSize& size) {
  const QTemporaryDir folder;
  const QString model = test::modelFile(folder), other = test::modelFile(folder, QStringLiteral("bert.pt"));
  const QString only = qEnvironmentVariable("NORMLENS_SCENE");
  QStringList finds;
  for (const Scene& scene : scenes()) {
    if (!scene.quick || (!only.isEmpty() && scene.name != only)) continue;
    ui::applyTheme(*qApp, ui::lightTheme(), fontPixels);
    ui::MainWindow window({test::fakeEngine(scene.engine), ui::ColorScheme::Light, false, false, QString()});
    window.resize(size);
    window.workspace()->graph()->view()->setAnimated(false);
    window.show();
    Stage stage{window, model, other};
    QElapsedTimer clock;
    clock.start();
    scene.set(stage);
    // A moment for what was just said to be laid out.
    QStringList found;
    [[maybe_unused]] const bool fits = QTest::qWaitFor(
        [&] {
          found = clippedText(window) + outOfReach(window);
          return found.isEmpty();
        },
        1000);
    if (!only.isEmpty() || clock.elapsed() > 4000) qInfo("%s: %lld ms", qPrintable(scene.name), clock.elapsed());
    if (window.width() > size.width() || window.height() > size.height())
      found << QStringLiteral("the window is %1×%2").arg(window.width()).arg(window.height());
    for (const QString& each : found) finds << scene.name + QStringLiteral(": ") + each;
  }
  for (const QString& find : finds) std::fputs(qPrintable(find + u'\n'), stderr);
  QVERIFY2(finds.isEmpty(), "Told above, each with its scene.");
}

}  // namespace normlens::screens

int main(int argc, char** argv) {
  const auto wanted = [](const char* argument) {
    return QLatin1String(argument).startsWith(QLatin1String(normlens::screens::kScaled));
  };
  if (std::any_of(argv, argv + argc, wanted)) qputenv("QT_SCALE_FACTOR", "1.5");
  QGuiApplication::setHighDpiScaleFactorRoundingPolicy(Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);
  return normlens::test::runShellTest<normlens::screens::TestTextFits>(argc, argv);
}

#include "test_text_fits.moc"

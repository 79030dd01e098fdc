// Every scene of the window at the usual size of text, at the largest, at a scale of 150%, and at both, on a screen of
// 1440×900 pixels, and in windows of 1280×720 and 800×600: no text is cut, and what leads on stays in reach. The fake
// engine serves, so that a run takes seconds.
#include <QAbstractButton>
#include <QAbstractItemView>
#include <QComboBox>
#include <QGraphicsTextItem>
#include <QGraphicsView>
#include <QHeaderView>
#include <QLabel>
#include <QLayout>
#include <QLineEdit>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSpinBox>
#include <QSplitter>
#include <QStandardItemModel>
#include <QTabBar>
#include <QTableView>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>
#include <cstdio>

#include "tests/ui/screens/scenes.h"
#include "tests/ui/shell/shell_test.h"
#include "ui/graphview/graph_view.h"
#include "ui/models/norm_model.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/frames.h"
#include "ui/window/bottom/learn_page.h"
#include "ui/window/inspector/inspector.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::screens {

namespace {

constexpr int kSlack = 1;         // of a pixel that rounding takes
constexpr int kLongestWord = 20;  // A longer one is a path or a tensor's name.
constexpr int kBesideNames = 82;  // pixels beside a norm's name: its verdict's ring and the plan's square
constexpr int kMostLines = 16;    // of code, before it scrolls

QString pathOf(const QWidget* widget) {
  QStringList names;
  for (const QWidget* at = widget; at != nullptr && !at->isWindow(); at = at->parentWidget()) {
    if (!at->objectName().isEmpty()) names.prepend(at->objectName());
  }
  return QStringLiteral("%1 (%2)").arg(names.join(u'/'), QLatin1String(widget->metaObject()->className()));
}

class Walk {
 public:
  QStringList run(const QWidget& window) {
    visit(&window);
    return finds_;
  }

 private:
  void visit(const QWidget* widget) {
    if (!widget->isVisible() || widget->visibleRegion().isEmpty()) return;
    checkText(widget);
    checkPlace(widget);
    checkSiblings(widget);
    // What Qt makes for itself inside is Qt's.
    if (qobject_cast<const QComboBox*>(widget) || qobject_cast<const QAbstractSpinBox*>(widget) ||
        qobject_cast<const QLineEdit*>(widget) || qobject_cast<const QTabBar*>(widget) ||
        qobject_cast<const QAbstractItemView*>(widget) || qobject_cast<const QPlainTextEdit*>(widget)) {
      return;
    }
    for (const QObject* child : widget->children()) {
      const auto* inner = qobject_cast<const QWidget*>(child);
      if (inner != nullptr && !inner->isWindow()) visit(inner);
    }
  }

  void find(const QWidget* widget, const QString& what) { finds_ << pathOf(widget) + QStringLiteral(": ") + what; }

  void checkText(const QWidget* widget) {
    if (const auto* label = qobject_cast<const QLabel*>(widget)) return checkLabel(label);
    if (const auto* tabs = qobject_cast<const QTabBar*>(widget)) return checkTabs(tabs);
    if (const auto* view = qobject_cast<const QAbstractItemView*>(widget)) return checkView(view);
    if (const auto* code = qobject_cast<const QPlainTextEdit*>(widget)) return checkCode(code);
    if (const auto* chart = qobject_cast<const QGraphicsView*>(widget)) return checkChart(chart);
    if (const auto* box = qobject_cast<const QComboBox*>(widget)) return checkField(box, box->currentText(), 34);
    if (const auto* spin = qobject_cast<const QSpinBox*>(widget)) return checkField(spin, spin->text(), 12);
    if (const auto* field = qobject_cast<const QLineEdit*>(widget)) {
      const QMargins margins = field->textMargins();
      if (field->text().isEmpty()) checkField(field, field->placeholderText(), 20 + margins.left() + margins.right());
      return;
    }
    if (const auto* button = qobject_cast<const QAbstractButton*>(widget)) checkButton(button);
    checkLeast(widget);
  }

  static bool isOwn(const QWidget* widget) {
    return QString::fromLatin1(widget->metaObject()->className()).startsWith(QLatin1String("normlens"));
  }

  // A painted widget says itself how small it can be; a button without words, an icon, may be smaller still.
  void checkLeast(const QWidget* widget) {
    const auto* button = qobject_cast<const QAbstractButton*>(widget);
    if (!isOwn(widget) || widget->layout() != nullptr || (button != nullptr && button->text().isEmpty())) return;
    const QSize least = widget->minimumSizeHint();
    if (widget->width() + kSlack < least.width() || widget->height() + kSlack < least.height()) {
      find(widget, QStringLiteral("%1×%2 px, needs %3×%4")
                       .arg(widget->width())
                       .arg(widget->height())
                       .arg(least.width())
                       .arg(least.height()));
    }
  }

  // A name may be cut, where its tooltip has it; words and figures may not.
  void checkLabel(const QLabel* label) {
    if (label->text().isEmpty()) return;
    if (qobject_cast<const ui::ElidedLabel*>(label) && !label->wordWrap()) {
      const QString whole = label->accessibleName();
      if (label->objectName() == QStringLiteral("propertyValue") && whole.contains(u' ') && label->text() != whole &&
          std::ranges::all_of(whole.split(u' '), [](const QString& word) { return word.size() <= kLongestWord; }))
        find(label, QStringLiteral("\"%1\" for \"%2\"").arg(label->text(), whole));
      return;
    }
    const QSize wants =
        label->wordWrap() ? QSize(widestWord(label), label->heightForWidth(label->width())) : label->sizeHint();
    checkSize(label, label->text(), wants);
  }

  void checkSize(const QWidget* widget, const QString& words, const QSize& wants) {
    if (widget->width() + kSlack < wants.width() || widget->height() + kSlack < wants.height())
      find(widget, QStringLiteral("\"%1\" in %2×%3 px, needs %4×%5")
                       .arg(words)
                       .arg(widget->width())
                       .arg(widget->height())
                       .arg(wants.width())
                       .arg(wants.height()));
  }

  static int widestWord(const QLabel* label) {
    if (Qt::mightBeRichText(label->text())) return 0;
    int widest = 0;
    for (const QString& word : label->text().split(u' ')) {
      for (const QString& part : word.split(u'\n'))
        widest = std::max(widest, label->fontMetrics().horizontalAdvance(part));
    }
    return widest + 2 * label->margin();
  }

  void checkButton(const QAbstractButton* button) {
    // Those of our own that may be cut say so by a smaller minimumSizeHint().
    if (isOwn(button) || button->text().isEmpty()) return;
    checkSize(button, button->text(), button->sizeHint());
  }

  void checkField(const QWidget* field, const QString& words, int frame) {
    const QFontMetrics metrics = field->fontMetrics();
    if (field->height() < metrics.height() ||
        (field->width() + kSlack < metrics.horizontalAdvance(words) + frame && !field->toolTip().contains(words)))
      find(field, QStringLiteral("\"%1\" in %2×%3 px").arg(words).arg(field->width()).arg(field->height()));
  }

  // Lines to be copied are seen, all of them or as many as are high enough to scroll in.
  void checkCode(const QPlainTextEdit* code) {
    if (code->property("kind").toString() != QStringLiteral("code") || code->verticalScrollBar()->maximum() == 0)
      return;
    if (code->height() < kMostLines * QFontMetrics(ui::monoFont(11)).lineSpacing())
      find(code, QStringLiteral("%1 lines do not fit").arg(code->verticalScrollBar()->maximum()));
  }

  // The labels of a chart's axes.
  void checkChart(const QGraphicsView* chart) {
    for (const QGraphicsItem* item : chart->items()) {
      const auto* label = dynamic_cast<const QGraphicsTextItem*>(item);
      if (label != nullptr && label->isVisible() && label->toPlainText() == QStringLiteral("..."))
        find(chart, QStringLiteral("a label is only \"...\""));
    }
  }

  void checkTabs(const QTabBar* tabs) {
    for (int i = 0; i < tabs->count(); ++i) {
      const QRect area = tabs->tabRect(i);
      const bool wide = area.width() + kSlack >= tabs->fontMetrics().horizontalAdvance(tabs->tabText(i));
      const bool there = tabs->usesScrollButtons() || tabs->rect().adjusted(0, -2, kSlack, 2).contains(area);
      if (!wide || !there) find(tabs, QStringLiteral("the tab \"%1\" is cut").arg(tabs->tabText(i)));
    }
  }

  void checkView(const QAbstractItemView* view) {
    if (const auto* table = qobject_cast<const QTableView*>(view)) checkHeader(table);
    const QModelIndex root = view->rootIndex();
    const auto* tree = qobject_cast<const QTreeView*>(view);
    // Top to bottom through what is seen.
    for (QModelIndex at = view->model() ? view->indexAt({4, 4}) : QModelIndex(); at.isValid();) {
      for (int column = 0; column < view->model()->columnCount(root); ++column) {
        if (tree == nullptr || column == 0) checkCell(view, at.siblingAtColumn(column));
      }
      if (view->visualRect(at).bottom() > view->viewport()->height()) break;
      at = tree != nullptr ? tree->indexBelow(at) : at.sibling(at.row() + 1, at.column());
    }
  }

  void checkCell(const QAbstractItemView* view, const QModelIndex& at) {
    const QRect cell = view->visualRect(at);
    const QString words = at.data().toString();
    if (words.isEmpty() || !view->viewport()->rect().contains(cell.center())) return;
    const bool right = at.data(Qt::TextAlignmentRole).value<Qt::Alignment>().testFlag(Qt::AlignRight);
    const QFontMetrics metrics(right ? ui::monoFont(11) : ui::uiFont(12));
    if (cell.height() < metrics.height()) find(view, QStringLiteral("the row of \"%1\" is too low").arg(words));
    // A norm's name has as many lines as it takes.
    const QFontMetrics strong(ui::uiFont(12, QFont::DemiBold));
    const QRect beside(0, 0, view->viewport()->width() - kBesideNames, 10000);
    const int wrapped = strong.boundingRect(beside, Qt::TextWordWrap | Qt::TextWrapAnywhere, words).height();
    const bool isNorm =
        view->objectName() == QStringLiteral("normList") && !at.data(ui::NormModel::IsGroupRole).toBool();
    if (isNorm && cell.height() < wrapped) find(view, QStringLiteral("the norm \"%1\" is cut").arg(words));
    if (cell.width() < metrics.horizontalAdvance(words) + 12 && !at.data(Qt::ToolTipRole).toString().contains(words))
      find(view, QStringLiteral("the cell \"%1\" is cut at %2 px and no tooltip has it").arg(words).arg(cell.width()));
  }

  void checkHeader(const QTableView* table) {
    const QHeaderView* header = table->horizontalHeader();
    if (header->isHidden() || table->model() == nullptr) return;
    const QFontMetrics metrics(ui::uiFont(11, QFont::Medium));
    for (int i = 0; i < header->count(); ++i) {
      const QString words = table->model()->headerData(i, Qt::Horizontal).toString();
      if (header->isSectionHidden(i) || header->sectionViewportPosition(i) > header->width()) continue;
      const bool told = table->model()->headerData(i, Qt::Horizontal, Qt::ToolTipRole).toString().contains(words);
      if (header->sectionSize(i) < metrics.horizontalAdvance(words) + 8 && !told)
        find(table, QStringLiteral("the header \"%1\" is cut at %2 px").arg(words).arg(header->sectionSize(i)));
    }
    if (header->height() < metrics.height()) find(table, QStringLiteral("the header is too low"));
  }

  // Within its parent; what scrolls may be larger in the direction in which it scrolls.
  void checkPlace(const QWidget* widget) {
    const QWidget* parent = widget->parentWidget();
    if (parent == nullptr || widget->isWindow()) return;
    const auto* area =
        parent->parentWidget() != nullptr ? qobject_cast<const QScrollArea*>(parent->parentWidget()) : nullptr;
    const bool scrolled = area != nullptr && area->widget() == widget;
    const bool across = scrolled && area->horizontalScrollBarPolicy() != Qt::ScrollBarAlwaysOff;
    const bool down = scrolled && area->verticalScrollBarPolicy() != Qt::ScrollBarAlwaysOff;
    const QRect place = widget->geometry(), room = parent->rect().adjusted(-kSlack, -kSlack, kSlack, kSlack);
    if ((!across && (place.left() < room.left() || place.right() > room.right())) ||
        (!down && (place.top() < room.top() || place.bottom() > room.bottom())))
      find(widget, QStringLiteral("%1×%2 at %3,%4 reaches beyond %5×%6")
                       .arg(place.width())
                       .arg(place.height())
                       .arg(place.x())
                       .arg(place.y())
                       .arg(parent->width())
                       .arg(parent->height()));
  }

  static void gather(const QLayout* layout, QVector<const QWidget*>& all) {
    for (int i = 0; i < layout->count(); ++i) {
      const QLayoutItem* item = layout->itemAt(i);
      if (const QWidget* widget = const_cast<QLayoutItem*>(item)->widget(); widget && widget->isVisible())
        all << widget;
      if (const QLayout* inner = const_cast<QLayoutItem*>(item)->layout()) gather(inner, all);
    }
  }

  // What one layout places beside each other does not overlap.
  void checkSiblings(const QWidget* widget) {
    if (widget->layout() == nullptr || widget->layout()->inherits("QStackedLayout")) return;
    QVector<const QWidget*> all;
    gather(widget->layout(), all);
    for (int i = 0; i < all.size(); ++i) {
      for (int j = i + 1; j < all.size(); ++j) {
        if (all[i]->geometry().adjusted(kSlack, kSlack, -kSlack, -kSlack).intersects(all[j]->geometry()))
          find(all[i], QStringLiteral("lies over %1").arg(pathOf(all[j])));
      }
    }
  }

  QStringList finds_;
};

// One line for each find, "storyBar/nextAction (PushButton): ...": labels, buttons, fields, tabs and headers that are
// smaller than their text, cells whose text ends in "…" while no tooltip has the whole of it, widgets that reach beyond
// what they stand in or lie over each other. Empty: all can be read.
QStringList clippedText(const QWidget& window) { return Walk().run(window); }

constexpr const char* kScaled = "atScale150";
constexpr int kLargestText = 18;

}  // namespace

class TestTextFits : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void clippedTextIsFound();
  void atUsualSize() { walkScenes(ui::kBaseFontPixels, QSize(1440, 900)); }
  void onASmallLaptop() { walkScenes(ui::kBaseFontPixels, QSize(1280, 720)); }
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
  ui::ElidedLabel limit(QStringLiteral("4e-6 = 6 × its own error"), Qt::ElideMiddle, &window);
  limit.setObjectName(QStringLiteral("propertyValue"));
  limit.setGeometry(0, 0, 60, 20);
  limit.show();
  QTRY_VERIFY(foundBy("its own error"));
  limit.hide();
  QPlainTextEdit code(QStringLiteral("one\ntwo\nthree\nfour\nfive"), &window);
  code.setProperty("kind", "code");
  code.setGeometry(0, 0, 100, 40);
  code.show();
  QTRY_VERIFY(foundBy("do not fit"));
  code.hide();
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
  const auto* more = window.findChild<QWidget*>(QStringLiteral("storyMore"));
  if (window.width() >= 1280 && ui::textScale() == 1 && more->parentWidget()->isVisible() && !more->isHidden())
    missing << QStringLiteral("a step is hidden");
  const QWidget* inspector = window.workspace()->inspector();
  const bool beside = window.workspace()->place() <= ui::Workspace::Place::Norms &&
                      !window.workspace()->words()->isVisible() && !window.workspace()->graphOnly();
  if (window.workspace()->isVisible() && beside && !inReach(inspector))
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

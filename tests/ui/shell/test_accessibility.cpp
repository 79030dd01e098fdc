// What a screen reader finds in the window: Qt's accessibility tree, walked page by page with a model that is open.
#include <QAccessible>
#include <QMetaEnum>
#include <QPushButton>
#include <QTableView>

#include "tests/ui/shell/shell_test.h"
#include "ui/client/engine_client.h"
#include "ui/graphview/graph_view.h"
#include "ui/session/session.h"
#include "ui/widgets/segmented.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/main_window.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {
namespace {

constexpr int kPatienceMs = 120'000;  // LibTorch takes seconds to load where the disk is cold

using Role = QAccessible::Role;

bool holdsCells(Role role) { return role == Role::Table || role == Role::Tree || role == Role::List; }

// What a user can do with a control of this role is known to a screen reader.
bool isControl(Role role) {
  constexpr Role kControls[] = {
      Role::PushButton,   Role::ButtonMenu, Role::ButtonDropDown, Role::CheckBox, Role::RadioButton, Role::ComboBox,
      Role::EditableText, Role::StaticText, Role::SpinBox,        Role::Slider,   Role::PageTab,     Role::PageTabList,
      Role::Link,         Role::Canvas,     Role::Chart,          Role::Pane,     Role::LayeredPane, Role::ListItem};
  return holdsCells(role) || std::ranges::find(kControls, role) != std::end(kControls);
}

QString roleName(Role role) { return QString::fromLatin1(QMetaEnum::fromType<QAccessible::Role>().valueToKey(role)); }

struct Walk {
  QStringList faults;
  QMap<Role, int> counts;  // of the controls that can take the focus
  int seen = 0;

  void into(QAccessibleInterface* at, const QString& path) {
    if (at == nullptr || !at->isValid() || at->state().invisible) return;
    const QObject* object = at->object();
    const QString here =
        object == nullptr
            ? path
            : QStringLiteral("%1/%2#%3")
                  .arg(path, QString::fromLatin1(object->metaObject()->className()).section(QStringLiteral("::"), -1),
                       object->objectName());
    const Role role = at->role();
    if (at->state().focusable || holdsCells(role)) {
      ++counts[role];
      if (at->text(QAccessible::Name).trimmed().isEmpty()) faults << here + QStringLiteral(" has no name");
      if (!isControl(role)) faults << QStringLiteral("%1 has the role %2").arg(here, roleName(role));
    }
    if (holdsCells(role)) return;  // its cells are data
    ++seen;
    for (int i = 0; i < at->childCount(); ++i) into(at->child(i), here);
  }
};

}  // namespace

class TestAccessibility final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    window_.resize(1440, 900);
    window_.show();
    window_.openFile(QStringLiteral(NORMLENS_DEMO_MODELS "/gpt2.pt"));
    QTRY_VERIFY_WITH_TIMEOUT(session_.plan() && !session_.busy(), kPatienceMs);
    session_.fold();
    QTRY_VERIFY_WITH_TIMEOUT(session_.foldResult() && !session_.busy(), kPatienceMs);
    session_.selection()->selectNorm(0);
    QTRY_VERIFY_WITH_TIMEOUT(session_.selection()->zeroMean(), kPatienceMs);
  }

  void everyControlHasANameAndARole_data() {
    QTest::addColumn<int>("tab");
    QTest::addColumn<int>("place");
    const auto row = [](const char* name, BottomPanel::Tab tab, Workspace::Place place = Workspace::Place::Graph) {
      QTest::newRow(name) << static_cast<int>(tab) << static_cast<int>(place);
    };
    row("plan", BottomPanel::Plan);
    row("proof", BottomPanel::Proof);
    row("differences", BottomPanel::Differences);
    row("benchmark", BottomPanel::Benchmark);
    row("norms", BottomPanel::Plan, Workspace::Place::Norms);
    row("inputs", BottomPanel::Plan, Workspace::Place::Inputs);
    row("export", BottomPanel::Plan, Workspace::Place::Export);
  }
  void everyControlHasANameAndARole() {
    QFETCH(int, tab);
    QFETCH(int, place);
    Workspace* work = window_.workspace();
    work->bottom()->showTab(static_cast<BottomPanel::Tab>(tab));
    if (const auto at = static_cast<Workspace::Place>(place); at == Workspace::Place::Export) {
      work->showSheet();
    } else {
      work->showPlace(at);
    }
    expectNoFaults();
  }

  void everyPageHasANameAndARole_data() {
    QTest::addColumn<QString>("action");
    for (const char* action : {"preferences", "about", "lessons", "laboratory", "probe", "atlas", "showLog"})
      QTest::newRow(action) << QString::fromLatin1(action);
  }
  void everyPageHasANameAndARole() {
    QFETCH(const QString, action);
    auto* found = window_.findChild<QAction*>(action);
    QVERIFY(found != nullptr);
    found->trigger();
    expectNoFaults();
    window_.actions()->escape->trigger();
  }

  // Every box of the graph is one that a screen reader finds, names and selects.
  void theBoxesOfTheGraphAreReached() {
    Workspace* work = window_.workspace();
    work->showPlace(Workspace::Place::Graph);
    graphview::GraphView* view = work->graph()->view();
    view->expandAll();
    QTRY_VERIFY_WITH_TIMEOUT(view->isStill(), kPatienceMs);
    QAccessibleInterface* graph = QAccessible::queryAccessibleInterface(view);
    QCOMPARE(graph->role(), Role::Canvas);
    QCOMPARE(graph->childCount(), static_cast<int>(view->scene().layout->boxes.size()));
    const protocol::NormInfo& norm = session_.analysis()->norms.at(3);
    int reached = -1;
    for (int i = 0; i < graph->childCount(); ++i) {
      QAccessibleInterface* box = graph->child(i);
      QVERIFY(box->isValid() && box->parent() == graph && graph->indexOfChild(box) == i);
      QVERIFY(!box->text(QAccessible::Name).isEmpty());
      if (view->scene().box(i).item == view->scene().hierarchy->itemOfId(norm.node)) reached = i;
    }
    QVERIFY(reached >= 0);
    QAccessibleInterface* box = graph->child(reached);
    QVERIFY2(box->text(QAccessible::Name).endsWith(QString::fromStdString(norm.title)),
             qPrintable(box->text(QAccessible::Name)));
    QVERIFY(!box->state().selected);
    box->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
    QCOMPARE(session_.selection()->current().norm, norm.index);
    QVERIFY(box->state().selected);
    QCOMPARE(graph->focusChild(), box);
  }

  void aControlWithoutANameIsFound() {
    QPushButton button(&window_);
    button.show();
    Walk walk;
    walk.into(QAccessible::queryAccessibleInterface(&window_), {});
    QCOMPARE(walk.faults.size(), 1);
    QVERIFY2(walk.faults.first().endsWith(QStringLiteral("has no name")), qPrintable(walk.faults.first()));
    QWidget bare(&window_);
    bare.setFocusPolicy(Qt::StrongFocus);
    bare.setAccessibleName(QStringLiteral("Bare"));
    bare.show();
    button.setText(QStringLiteral("Fold"));
    Walk again;
    again.into(QAccessible::queryAccessibleInterface(&window_), {});
    QCOMPARE(again.faults.size(), 1);
    QVERIFY2(again.faults.first().contains(QStringLiteral("has the role")), qPrintable(again.faults.first()));
  }

  void theVariantsTheComparisonAndTheStartPage() {
    Workspace* work = window_.workspace();
    work->showPlace(Workspace::Place::Graph);
    work->bottom()->showTab(BottomPanel::Plan);
    auto* view = window_.findChild<Segmented*>(QStringLiteral("planView"));
    QTest::keyClick(view, Qt::Key_Right);
    auto* table = window_.findChild<QTableView*>(QStringLiteral("variantTable"));
    QTRY_VERIFY_WITH_TIMEOUT(table->model()->rowCount() == 4, kPatienceMs);
    expectNoFaults();
    window_.actions()->compareFolded->trigger();
    expectNoFaults();
    QTest::keyClick(window_.findChild<QWidget*>(QStringLiteral("compare")), Qt::Key_Escape);
    session_.close();
    QTest::qWait(50);
    expectNoFaults();
  }

 private:
  void expectNoFaults() {
    Walk walk;
    walk.into(QAccessible::queryAccessibleInterface(&window_), {});
    walk.faults.removeDuplicates();
    QVERIFY2(walk.faults.isEmpty(), qPrintable(u'\n' + walk.faults.join(u'\n')));
    QVERIFY2(walk.seen > 20 && walk.counts.value(Role::PushButton) > 0, "The walk came to no controls.");
  }

  MainWindow window_{
      {EngineCommand{QStringLiteral(NORMLENS_ENGINE), QStringLiteral("serve")}, ColorScheme::Light, false, false}};
  Session& session_ = *window_.session();
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestAccessibility>(argc, argv); }

#include "test_accessibility.moc"

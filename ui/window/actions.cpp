#include "ui/window/actions.h"

#include <QCoreApplication>
#include <QWidget>
#include <tuple>

#include "ui/session/session.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr NamedWay kFlavours[] = {
    {"portable", QT_TRANSLATE_NOOP("Flavor", "Portable: runs almost everywhere"),
     QT_TRANSLATE_NOOP(
         "Flavor",
         "torch's own norm, from 2.4 on. In ONNX: operators of the model's own opset, which run everywhere.")},
    {"primitives", QT_TRANSLATE_NOOP("Flavor", "Primitives: for older runtimes"),
     QT_TRANSLATE_NOOP("Flavor", "Written out as multiplications, a mean and a square root, which every runtime has.")},
    {"fast", QT_TRANSLATE_NOOP("Flavor", "Fast: fused kernels"),
     QT_TRANSLATE_NOOP("Flavor",
                       "TorchScript, torch.export: normlens::rms_norm, which needs libnormlens_ops.so. ONNX: ONNX "
                       "Runtime's fused norms.")},
};

constexpr NamedWay kThemes[] = {{"system", QT_TRANSLATE_NOOP("Theme", "System"), ""},
                                {"light", QT_TRANSLATE_NOOP("Theme", "Light"), ""},
                                {"dark", QT_TRANSLATE_NOOP("Theme", "Dark"), ""}};

}  // namespace

std::span<const NamedWay> normFlavours() { return kFlavours; }

Actions::Actions(QWidget* window) : QObject(window) {
  addModelActions();
  addViewActions();
  addPlanActions();
  addPanels();
  std::tie(foldMenu, policyGroup) = addWays(tr("Policy"), tr("Policy"), "Policy", policies());
  std::tie(themeMenu, themeGroup) = addWays(tr("Appearance"), {}, "Theme", kThemes);
  addMenus(window);
}

void Actions::addModelActions() {
  open =
      add("open", tr("Open"), QKeySequence::Open, tr("Open a TorchScript, torch.export or ONNX model, or a project."));
  saveProject = add("saveProject", tr("Save project"), QKeySequence::Save,
                    tr("Save plan, inputs, view, measurements and the path of the model."));
  saveProjectAs = add("saveProjectAs", tr("Save project as"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S),
                      tr("Save the project under another name."));
  fold = add("fold", tr("Fold"), kFoldKeys,
             tr("Apply the plan: center the weights, replace LayerNorms by RMSNorms and prove the result."));
  verify = add("verify", tr("Prove again"), QKeySequence(Qt::CTRL | Qt::Key_P),
               tr("Repeat the proof: original against folded, in float64 and in the file's own type."));
  measure = add("measure", tr("Measure"), QKeySequence(Qt::CTRL | Qt::Key_M),
                tr("Time the two models of the Benchmark panel in alternating rounds."));
  exportModel = add("export", tr("Export"), QKeySequence(Qt::CTRL | Qt::Key_E),
                    tr("Choose where the folded model will run, and write its file."));
  exportReport = add("exportReport", tr("Export report"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E),
                     tr("Write a page about the fold, with pictures of the graph, for a pull request or a paper."));
  undo = add("undo", tr("Undo"), QKeySequence::Undo, tr("Undo the last change of the plan."));
  redo = add("redo", tr("Redo"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), tr("Redo the change of the plan."));
  redo->setShortcuts({redo->shortcut(), QKeySequence(Qt::CTRL | Qt::Key_Y)});
}

void Actions::addViewActions() {
  compareFolded = add("compareFolded", tr("Compare with the folded model"), QKeySequence(Qt::CTRL | Qt::Key_D),
                      tr("Show the original and the folded graph side by side."));
  compareWith = add("compareWith", tr("Compare with…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_D),
                    tr("Compare this graph with that of another file."));
  find = add("find", tr("Find"), QKeySequence::Find, tr("Find a norm, a module or a node."));
  findNext = add("findNext", tr("Find next"), QKeySequence(Qt::Key_F3), tr("Go to the next search result."));
  findPrevious = add("findPrevious", tr("Find previous"), QKeySequence(Qt::SHIFT | Qt::Key_F3),
                     tr("Go to the previous search result."));
  command = add("command", tr("Command palette"), QKeySequence(Qt::CTRL | Qt::Key_K),
                tr("Run a command, or go to a LayerNorm or panel, by a few letters of its name."));
  explain = add("explain", tr("Explain this"), QKeySequence(Qt::Key_F1),
                tr("Explain what is under the pointer, next to the work."));
  lessons = add("lessons", tr("Lessons"), QKeySequence(Qt::CTRL | Qt::Key_1),
                tr("What LayerNorm, RMSNorm and centering do, in interactive figures."));
  laboratory = add("laboratory", tr("Laboratory"), QKeySequence(Qt::CTRL | Qt::Key_2),
                   tr("Train networks side by side: with LayerNorm and with its alternatives."));
  probe =
      add("probe", tr("Geometry probe"), QKeySequence(Qt::CTRL | Qt::Key_3),
          tr("The directions of the norms' inputs in the open model, and whether an RMSNorm could replace each norm."));
  atlas = add("atlas", tr("Atlas of architectures"), QKeySequence(Qt::CTRL | Qt::Key_4),
              tr("Which architectures of transformers and timm fold, compared with the papers' numbers."));
  stop = add("stop", tr("Stop what is running"), {}, tr("Stop the running job (Esc)."));
  escape = add("escape", tr("One step back"), QKeySequence(Qt::Key_Escape),
               tr("Leave the field, close what is open, or stop what is running."));
  graphOnly = add("graphOnly", tr("Graph only"), QKeySequence(Qt::Key_F),
                  tr("Give the graph the whole window, or bring the panels back."));
  restartEngine =
      add("restartEngine", tr("Restart engine"), {}, tr("Start a new engine and reopen the model; the plan is kept."));
  closeModel = add("closeModel", tr("Close model"), QKeySequence::Close, tr("Return to the start page."));
  quit = add("quit", tr("Quit"), QKeySequence(Qt::CTRL | Qt::Key_Q), tr("Close the window; plan and charts are kept."));
  toggleInspector =
      add("toggleInspector", tr("Inspector"), QKeySequence(Qt::CTRL | Qt::Key_I), tr("Show or hide the inspector."));
  toggleBottom = add("toggleBottom", tr("Bottom panel"), QKeySequence(Qt::CTRL | Qt::Key_J),
                     tr("Show or hide plan, proof, differences and benchmark."));
  for (QAction* toggle : {toggleInspector, toggleBottom}) {
    toggle->setCheckable(true);
    toggle->setChecked(true);
  }
  preferences = add("preferences", tr("Preferences"), QKeySequence(Qt::CTRL | Qt::Key_Comma),
                    tr("Theme, text size, precision and the engine's command."));
  about = add("about", tr("About NormLens"), {}, tr("Versions of the window, the engine and what runs the models."));
}

void Actions::addMenus(QWidget* window) {
  const auto make = [&](const QString& title, const char* name) {
    auto* menu = new QMenu(title, window);
    menu->setObjectName(QLatin1String(name));
    menu->setToolTipsVisible(true);
    return menu;
  };
  fileMenu = make(tr("File"), "fileMenu");
  fileMenu->addAction(open);
  fileMenu->addActions({saveProject, saveProjectAs});
  fileMenu->addSeparator();
  fileMenu->addAction(exportModel);
  fileMenu->addAction(exportReport);
  fileMenu->addSeparator();
  fileMenu->addAction(closeModel);
  fileMenu->addAction(quit);
  editMenu = make(tr("Edit"), "editMenu");
  editMenu->addActions({undo, redo});
  editMenu->addSeparator();
  editMenu->addActions({foldNorm, centerHere});
  editMenu->addSeparator();
  editMenu->addActions({suggestBest, foldAll, resetPlan});
  editMenu->addMenu(foldMenu);
  viewMenu = make(tr("View"), "viewMenu");
  viewMenu->addActions({find, command});
  viewMenu->addSeparator();
  viewMenu->addActions(panels);
  viewMenu->addSeparator();
  viewMenu->addActions({toggleInspector, toggleBottom, graphOnly});
  viewMenu->addActions({compareFolded, compareWith});
  viewMenu->addMenu(themeMenu);
  viewMenu->addActions({laboratory, probe, atlas, preferences});
  helpMenu = make(tr("Help"), "helpMenu");
  helpMenu->addActions({explain, lessons});
  helpMenu->addSeparator();
  helpMenu->addAction(about);
}

void Actions::addPanels() {
  struct Panel {
    ActionPanel panel;
    int key;  // with Alt; 0: none
    const char* name;
    QString title, tip;
  };
  const Panel rows[] = {
      {ActionPanel::NormList, Qt::Key_1, "showNormList", tr("Norms by verdict"),
       tr("Go to the list of LayerNorms on the left.")},
      {ActionPanel::Modules, Qt::Key_2, "showModules", tr("Modules"), tr("Go to the tree of modules on the left.")},
      {ActionPanel::Plan, Qt::Key_3, "showPlan", tr("Plan"), tr("Go to the edits of the plan.")},
      {ActionPanel::NormTable, Qt::Key_4, "showNormTable", tr("Table of LayerNorms"),
       tr("Show all LayerNorms as a table, or go back to the graph.")},
      {ActionPanel::Inputs, Qt::Key_5, "showInputs", tr("Inputs"), tr("Go to the inputs of the model.")},
      {ActionPanel::Proof, Qt::Key_6, "showProof", tr("Proof"), tr("Go to the proof of the fold.")},
      {ActionPanel::Differences, Qt::Key_7, "showDifferences", tr("Differences"),
       tr("Go to where two models diverge.")},
      {ActionPanel::Benchmark, Qt::Key_8, "showBenchmark", tr("Benchmark"), tr("Go to the measured times.")},
      {ActionPanel::Learn, Qt::Key_9, "showLearn", tr("Words"),
       tr("Explain the words of this program next to the work.")},
      {ActionPanel::Log, Qt::Key_0, "showLog", tr("Log"), tr("Go to the engine's messages.")}};
  for (const Panel& row : rows) {
    QAction* action =
        add(row.name, row.title, row.key == 0 ? QKeySequence() : QKeySequence(Qt::ALT | row.key), row.tip);
    action->setData(static_cast<int>(row.panel));
    if (row.panel == ActionPanel::NormTable) action->setShortcuts({QKeySequence(Qt::Key_W), action->shortcut()});
    panels << action;
  }
}

void Actions::addPlanActions() {
  suggestBest =
      add("suggestBest", tr("Suggest best"), {},
          tr("Let the planner choose by the costs of norms and centerings measured on the engine's machine."));
  foldAll = add("foldAll", tr("Fold all"), {},
                tr("Fold every LayerNorm that can be folded, even where it needs its own centering."));
  resetPlan = add("resetPlan", tr("Reset"), {}, tr("Undo every choice: restore the plan made after the analysis."));
  foldNorm = add("foldNorm", tr("Fold this LayerNorm"), QKeySequence(Qt::CTRL | Qt::Key_L),
                 tr("Fold the selected LayerNorm, or keep it if the plan folds it."));
  centerHere = add("centerHereAction", tr("Center here"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C),
                   tr("Show what centering the selected value at run time would free."));
}

QAction* Actions::add(const char* name, const QString& text, const QKeySequence& keys, const QString& tip) {
  auto* action = new QAction(text, this);
  action->setObjectName(QLatin1String(name));
  action->setShortcut(keys);
  action->setToolTip(keys.isEmpty() ? tip
                                    : QStringLiteral("%1 (%2)").arg(tip, keys.toString(QKeySequence::NativeText)));
  action->setWhatsThis(action->toolTip());
  static_cast<QWidget*>(parent())->addAction(action);
  all_ << action;
  return action;
}

std::pair<QMenu*, QActionGroup*> Actions::addWays(const QString& title, const QString& section, const char* context,
                                                  std::span<const NamedWay> ways) {
  auto* menu = new QMenu(title, static_cast<QWidget*>(parent()));
  menu->setToolTipsVisible(true);
  if (!section.isEmpty()) menu->addAction(section)->setEnabled(false);  // the style draws no words in a separator
  auto* group = new QActionGroup(this);
  for (const NamedWay& way : ways) {
    QAction* action = menu->addAction(QCoreApplication::translate(context, way.title));
    action->setObjectName(QStringLiteral("%1_%2").arg(QString::fromLatin1(context).toLower(), QLatin1String(way.name)));
    action->setToolTip(QCoreApplication::translate(context, way.meaning));
    action->setCheckable(true);
    action->setData(QString::fromLatin1(way.name));
    group->addAction(action);
  }
  return {menu, group};
}

void setChosen(const QActionGroup& group, const QString& data) {
  for (QAction* action : group.actions()) action->setChecked(action->data().toString() == data);
}

void Actions::update(Session& session) {
  const bool analysed = session.analysis().has_value();
  const bool alive = session.engine()->state() != EngineClient::State::Dead && session.served();
  const bool idle = !session.busy() && alive;
  const bool folds = session.plan() && !session.plan()->folded.empty();
  const bool folded = session.foldResult() && !session.foldResult()->plan.folded.empty();
  const bool settled = analysed && (idle || (alive && session.job().kind == JobKind::Planning));
  const QString cannotRun = session.cannotRun();
  fold->setEnabled(settled && folds);
  fold->setToolTip(cannotRun.isEmpty() ? fold->whatsThis() : cannotRun);
  foldMenu->setEnabled(analysed && alive);
  policyGroup->setEnabled(analysed && alive);
  verify->setEnabled(folded && idle);
  measure->setEnabled(alive && session.canMeasure());
  exportModel->setEnabled(folds && alive);
  exportReport->setEnabled(folded && idle);
  updatePlan(session, alive);
  stop->setEnabled(session.running().kind != JobKind::None && session.canStop());
  for (QAction* save : {saveProject, saveProjectAs}) save->setEnabled(analysed);
  closeModel->setEnabled(!session.path().isEmpty());
  compareFolded->setEnabled(folded && idle);
  compareWith->setEnabled(session.document() != nullptr && idle);
  for (QAction* panel : panels) panel->setEnabled(!session.path().isEmpty());
  for (QAction* action : {explain, graphOnly}) action->setEnabled(!session.path().isEmpty());
  setChosen(*policyGroup, text(nameOf(session.choices()->params().policy)));
}

void Actions::updatePlan(Session& session, bool alive) {
  const bool asked = session.analysis().has_value() && alive && session.cannotRun().isEmpty();
  const QUndoStack& stack = *session.choices()->undoStack();
  const QString undone = stack.undoText(), redone = stack.redoText();
  undo->setEnabled(stack.canUndo());
  redo->setEnabled(stack.canRedo());
  undo->setText(undone.isEmpty() ? tr("Undo") : tr("Undo: %1").arg(undone));
  redo->setText(redone.isEmpty() ? tr("Redo") : tr("Redo: %1").arg(redone));
  undo->setToolTip(undone.isEmpty() ? tr("Undo the last change of the plan.") : tr("Undo: %1").arg(undone));
  redo->setToolTip(redone.isEmpty() ? tr("Redo the change of the plan.") : tr("Redo: %1").arg(redone));
  const bool some = asked && session.analysis()->totals.layer_norms > 0;
  for (QAction* action : {suggestBest, foldAll, resetPlan}) action->setEnabled(some);
  const Selection& selection = session.selection()->current();
  const bool norm = asked && selection.norm >= 0;
  const QString obstacle = norm ? session.choices()->foldObstacle(selection.norm) : QString();
  foldNorm->setEnabled(norm && obstacle.isEmpty());
  foldNorm->setToolTip(obstacle.isEmpty() ? foldNorm->whatsThis() : obstacle);
  foldNorm->setText(norm && session.folds(selection.norm) ? tr("Keep this LayerNorm") : tr("Fold this LayerNorm"));
  centerHere->setEnabled(asked && (norm || selection.node >= 0 || selection.value >= 0));
}

QList<QAction*> Actions::searchable() const { return all_ + policyGroup->actions() + themeGroup->actions(); }

}  // namespace normlens::ui

#include "ui/window/bottom/inputs_page.h"

#include <QFileInfo>
#include <QHeaderView>
#include <QPushButton>
#include <QTableView>

#include "ui/models/inputs_model.h"
#include "ui/session/project/input_presets.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"
#include "ui/widgets/delegates/inputs_delegate.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/row_table.h"
#include "ui/window/parts.h"

namespace normlens::ui {

InputsPage::InputsPage(Session* session, QWidget* parent)
    : QWidget(parent), session_(session), model_(new InputsModel(this)) {
  auto* layout = makeColumn(this);
  layout->addLayout(buildBar());
  buildTable();
  layout->addWidget(table_, 1);
  connect(model_, &QAbstractItemModel::dataChanged, this, &InputsPage::showState);
  for (const auto signal : {&Session::analysisChanged, &Session::modelChanged, &Session::inputsChanged}) {
    connect(session_, signal, this, &InputsPage::fill);
  }
  connect(session_, &Session::jobChanged, this, &InputsPage::showState);
  connect(session_, &Session::inputsUnused, this, [this](const QString& reason) {
    unused_ = reason;
    fill();
  });
  connect(session_, &Session::leaving, this, &InputsPage::forgetTyped);
  fill();
}

QLayout* InputsPage::buildBar() {
  auto* bar = makeRow(nullptr, 8, {16, 6, 12, 6});
  state_ = describe(new ElidedLabel({}, Qt::ElideRight, this), "inputsState");
  bar->addWidget(state_, 1);
  load_ = addButton(bar, "secondary", tr("Load .npy or .npz"), "inputsLoad",
                    tr("Run the model on arrays from a file: in_0, in_1 and so on, or by the names of the inputs."));
  guess_ = addButton(bar, "secondary", tr("Guess again"), "inputsGuess",
                     tr("Forget what you set; the engine infers the inputs from the graph."));
  apply_ = addButton(bar, "secondary", tr("Use these inputs"), "inputsApply",
                     tr("Run the model on numbers drawn by this table and analyse anew; the plan is kept."));
  connect(load_, &QPushButton::clicked, this, &InputsPage::load);
  connect(guess_, &QPushButton::clicked, this, [this] {
    forgetTyped();
    session_->guessInputs();
  });
  connect(apply_, &QPushButton::clicked, this, &InputsPage::apply);
  return bar;
}

void InputsPage::buildTable() {
  table_ = makeRowTable(QStringLiteral("inputsTable"), tr("Inputs of the model"), 28, this);
  table_->setModel(model_);
  table_->setItemDelegate(new InputsDelegate(table_));
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed |
                          QAbstractItemView::AnyKeyPressed | QAbstractItemView::SelectedClicked);
  table_->horizontalHeader()->setStretchLastSection(true);
  setColumnWidths(table_, {{InputsModel::Name, 190},
                           {InputsModel::Type, 110},
                           {InputsModel::Shape, 180},
                           {InputsModel::Low, 120},
                           {InputsModel::High, 120}});
}

void InputsPage::fill() {
  model_->setEditable(session_->inputs().npz.empty());
  const auto& analysis = session_->analysis();
  const bool found = !analysis || !analysis->inputs.empty() || analysis->probe_error.empty() || analysis->never_runs;
  model_->setInputs(!found     ? inputsOfGraph(session_->index())
                    : analysis ? analysis->inputs
                               : std::vector<protocol::InputSpec>());
  // Typed cells stay while they are tried, and when they were refused or the run was stopped.
  if (session_->job().kind == JobKind::Analyzing || unused_) {
    if (!tried_.empty()) model_->retype(tried_, unused_.value_or(QString()));
  } else if (analysis) {
    forgetTyped();
  }
  showState();
}

void InputsPage::forgetTyped() {
  tried_.clear();
  unused_.reset();
}

void InputsPage::showState() {
  const protocol::InputsParams& inputs = session_->inputs();
  const QString error = model_->firstError();
  const bool set = !nothingChosen(inputs);
  const bool free = session_->analysis().has_value() && session_->served() && !session_->busy();
  load_->setEnabled(free);
  // Guessing is allowed while something runs: that is stopped.
  guess_->setEnabled(session_->model().has_value() && session_->served());
  apply_->setEnabled(free && model_->edited() && error.isEmpty());
  QString words;
  if (!session_->model()) {
    words = tr("The inputs come with the model.");
  } else if (session_->job().kind == JobKind::Analyzing) {
    words = tr("The engine runs the model on them.");
  } else if (!error.isEmpty()) {
    words = error;
  } else if (!model_->refusal().isEmpty()) {
    words = model_->refusal();
  } else if (session_->analysis() && session_->analysis()->never_runs) {
    words = tr("The model is never run, whatever its inputs are.");
  } else if (model_->edited()) {
    words = tr("Changed, not used yet.");
  } else if (!inputs.npz.empty()) {
    words = tr("From %1.").arg(QFileInfo(text(inputs.npz)).fileName());
    const auto& unused = session_->analysis() ? session_->analysis()->unused_arrays : std::vector<std::string>();
    if (!unused.empty()) words += tr(" Not used, since no input has such a name: %1.").arg(nameList(unused));
  } else if (set) {
    words = tr("As you set them; kept for this model.");
  } else {
    words = session_->analysis() && session_->analysis()->inputs.empty()
                ? tr("The model ran on no guess. Double-click a cell to say what fits.")
                : tr("Guessed from the graph. Double-click a cell to change it.");
  }
  setKind(state_, error.isEmpty() && model_->refusal().isEmpty() ? "soft" : "error");
  state_->setFullText(words);
}

void InputsPage::apply() {
  const auto specs = model_->specs();
  if (!specs) return;
  protocol::InputsParams inputs = session_->inputs();
  inputs.npz.clear();
  inputs.specs = *specs;
  tried_ = model_->rows();
  unused_.reset();
  session_->setInputs(inputs);
}

void InputsPage::load() {
  const QStringList filters{tr("NumPy arrays (*.npz *.npy)"), tr("All files (*)")};
  const FileQuestion question{QStringLiteral("inputsDialog"), tr("Load inputs"), filters, folderOf(session_->path())};
  askForFile(this, question, [this](const QString& path) {
    protocol::InputsParams inputs = session_->inputs();
    inputs.npz = path.toStdString();
    inputs.specs.clear();
    forgetTyped();
    session_->setInputs(inputs);
  });
}

}  // namespace normlens::ui

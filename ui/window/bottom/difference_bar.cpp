#include "ui/window/bottom/difference_bar.h"

#include <QCheckBox>
#include <QFileInfo>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <algorithm>

#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/room_steps.h"
#include "ui/widgets/segmented.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr int kMostBatches = 1000, kBatchesWidth = 100, kBriefBatchesWidth = 44, kMostNameWidth = 160,
              kBriefNameWidth = 60;
// The types with their short words for the bar.
constexpr std::pair<const char*, const char*> kTypes[] = {
    {"float64", "f64"}, {"float32", "f32"}, {"float16", "f16"}, {"bfloat16", "bf16"}};

}  // namespace

DifferenceBar::DifferenceBar(Session* session, DifferenceRun* run, QWidget* parent)
    : QWidget(parent), session_(session), run_(run) {
  buildControls();
  buildMenu();
  for (const auto signal : {&Session::analysisChanged, &Session::modelChanged, &Session::foldChanged,
                            &Session::inputsChanged, &Session::jobChanged}) {
    connect(session_, signal, this, &DifferenceBar::showState);
  }
  connect(session_, &Session::modelChanged, this, [this] { setAgainst({}); });
  connect(run_, &DifferenceRun::changed, this, &DifferenceBar::showState);
  connect(run_, &DifferenceRun::progressed, this, &DifferenceBar::showState);
  showState();
}

void DifferenceBar::buildControls() {
  auto* row = makeRow(this, 8, {16, 4, 12, 4});
  const auto chosen = DifferenceSettings().dtypes;
  for (const auto& [type, brief] : kTypes) {
    auto* box = new QCheckBox(QLatin1String(brief), this);
    box->setObjectName(QStringLiteral("difference_") + QLatin1String(type));
    box->setAccessibleName(QLatin1String(type));
    box->setToolTip(tr("Compare both models in %1.").arg(QLatin1String(type)));
    box->setChecked(std::find(chosen.begin(), chosen.end(), type) != chosen.end());
    connect(box, &QCheckBox::toggled, this, &DifferenceBar::showState);
    row->addWidget(box);
    types_.push_back(box);
  }
  buildTypesMenu(row);
  batches_ =
      describe(new QSpinBox(this), "differenceBatches",
               tr("Number of input sets. The first is the model's own, others are drawn like it. The worst counts."),
               tr("Batches"));
  batches_->setRange(1, kMostBatches);
  batches_->setButtonSymbols(QAbstractSpinBox::NoButtons);
  followText(batches_, [this] { showBatches(); });
  row->addWidget(batches_);
  other_ = addButton(row, "menu", {}, "differenceAgainst", tr("The model to compare with the original."));
  inputs_ = addButton(row, "secondary", {}, "differenceInputs",
                      tr("The inputs of both models. Set or load your own under Inputs."));
  connect(inputs_, &QPushButton::clicked, this, &DifferenceBar::inputsWanted);
  words_ = describe(new ElidedLabel({}, Qt::ElideRight, this), "differenceState");
  row->addWidget(words_, 1);
  view_ = new Segmented({{tr("By depth"), tr("Errors by place and precision, as a heat map and as a chart.")},
                         {tr("Figures"), tr("The same errors as a table of numbers.")},
                         {tr("Tensors"), tr("Both tensors of the selected row, and their difference.")}},
                        this);
  describe(view_, "differenceView", {}, tr("What is shown next to the table"));
  progress_ = describe(new QProgressBar(this), "differenceProgress", {}, tr("Progress of the comparison"));
  progress_->setTextVisible(false);
  progress_->setRange(0, 1000);
  progress_->setFixedSize(120, 6);
  row->addWidget(progress_);
  row->addWidget(view_);
  go_ = addButton(row, "secondary", {}, "differenceGo", {});
  auto* room = new RoomSteps(this);
  room->add([this](bool taken) { words_->setVisible(!taken); });
  room->add([this](bool taken) { inputs_->setVisible(!taken); });  // they have a tab of their own
  room->add([this](bool taken) { view_->setFolded(taken); });
  room->add([this](bool taken) {
    briefBatches_ = taken;
    showBatches();
  });
  room->add([this](bool taken) {
    for (QCheckBox* box : types_) box->setVisible(!taken);
    typesMenu_->setVisible(taken);
  });
  room->add([this](bool taken) {
    briefOther_ = taken;
    showState();
  });
  connect(go_, &QPushButton::clicked, this, [this] { run_->running() ? run_->stop() : run_->start(settings()); });
}

// The same boxes behind one button, where there is no room for them.
void DifferenceBar::buildTypesMenu(QBoxLayout* row) {
  typesMenu_ = addButton(row, "menu", {}, "differenceTypes", tr("The precisions in which both models are compared."));
  auto* menu = new QMenu(typesMenu_);
  for (QCheckBox* box : types_) {
    QAction* action = menu->addAction(box->accessibleName());
    action->setCheckable(true);
    action->setChecked(box->isChecked());
    connect(action, &QAction::toggled, box, &QCheckBox::setChecked);
    connect(box, &QCheckBox::toggled, action, &QAction::setChecked);
  }
  typesMenu_->setMenu(menu);
  typesMenu_->hide();
}

// The tooltip explains a bare number.
void DifferenceBar::showBatches() {
  batches_->setPrefix(briefBatches_ ? QString() : tr("batches: "));
  batches_->setFixedWidth(grown(briefBatches_ ? kBriefBatchesWidth : kBatchesWidth));
}

void DifferenceBar::buildMenu() {
  auto* menu = new QMenu(this);
  connect(menu->addAction(tr("Folded model")), &QAction::triggered, this, [this] { setAgainst({}); });
  QAction* file = menu->addAction(tr("Another file…"));
  file->setObjectName(QStringLiteral("differenceFile"));
  connect(file, &QAction::triggered, this, [this] {
    askForFile(this,
               {QStringLiteral("differenceDialog"), tr("Compare with"), modelFilters(), folderOf(session_->path())},
               [this](const QString& path) { setAgainst(path); });
  });
  other_->setMenu(menu);
}

void DifferenceBar::setAgainst(const QString& path) {
  against_ = path;
  showState();
  Q_EMIT settingsChanged();
}

DifferenceSettings DifferenceBar::settings() const {
  DifferenceSettings settings;
  settings.against = against_;
  settings.batches = batches_->value();
  settings.dtypes.clear();
  for (const QCheckBox* box : types_) {
    if (box->isChecked()) settings.dtypes.push_back(box->accessibleName().toStdString());
  }
  return settings;
}

// Sums up what is done: the worst output error of each type, and why a type could not be compared.
QString DifferenceBar::outcome() const {
  QStringList parts;
  for (const protocol::DiffResult& column : run_->columns()) {
    if (!column.error.empty()) {
      parts << tr("%1: %2").arg(text(column.dtype), asSentence(text(column.error)));
      continue;
    }
    double worst = 0;
    for (const protocol::DiffRow& row : column.rows) {
      if (row.kind == SiteKind::Output) worst = std::max(worst, row.max_rel);
    }
    parts << tr("%1: outputs %2").arg(text(column.dtype), formatError(worst));
  }
  return parts.join(QStringLiteral(" · "));
}

void DifferenceBar::showState() {
  const QString obstacle = run_->obstacle(settings());
  const bool running = run_->running();
  go_->setText(running ? tr("Cancel") : tr("Compare"));
  go_->setToolTip(running ? tr("Stop; the results so far are kept.")
                          : tr("Run both models on the same inputs in each selected precision."));
  go_->setEnabled(running || (obstacle.isEmpty() && !session_->busy()));
  progress_->setVisible(running);
  progress_->setValue(static_cast<int>(1000 * run_->fraction()));
  const QString other = !against_.isEmpty() ? QFileInfo(against_).fileName()
                        : briefOther_       ? tr("Folded")
                                            : tr("Folded model");
  other_->setText(
      other_->fontMetrics().elidedText(other, Qt::ElideMiddle, grown(briefOther_ ? kBriefNameWidth : kMostNameWidth)));
  other_->setToolTip(tr("The model to compare with the original.") +
                     (against_.isEmpty() ? QString() : u'\n' + against_));
  const size_t types = settings().dtypes.size();
  typesMenu_->setText(types == 1 ? tr("1 type") : tr("%1 types").arg(types));
  const protocol::InputsParams& inputs = session_->inputs();
  inputs_->setText(!inputs.npz.empty()     ? QFileInfo(text(inputs.npz)).fileName()
                   : !inputs.specs.empty() ? tr("My inputs")
                                           : tr("Guessed inputs"));
  const QString problem = run_->problem();
  setKind(words_, problem.isEmpty() ? "soft" : "error");
  words_->setFullText(running ? asSentence(run_->stage()) : problem.isEmpty() ? outcome() : problem);
}

}  // namespace normlens::ui

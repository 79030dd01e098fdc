#include "ui/window/bottom/difference_bar.h"

#include <QCheckBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <algorithm>

#include "ui/session/difference_run.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/frames.h"

namespace normlens::ui {

namespace {

constexpr int kMostBatches = 1000;
constexpr const char* kTypes[] = {"float64", "float32", "float16", "bfloat16"};

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
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(16, 5, 12, 5);
  row->setSpacing(12);
  for (const char* type : kTypes) {
    auto* box = new QCheckBox(QLatin1String(type), this);
    box->setObjectName(QStringLiteral("difference_") + QLatin1String(type));
    box->setToolTip(tr("Compare both models in %1.").arg(QLatin1String(type)));
    const auto chosen = DifferenceSettings().dtypes;
    box->setChecked(std::find(chosen.begin(), chosen.end(), type) != chosen.end());
    connect(box, &QCheckBox::toggled, this, &DifferenceBar::showState);
    row->addWidget(box);
    types_.push_back(box);
  }
  batches_ = new QSpinBox(this);
  batches_->setObjectName(QStringLiteral("differenceBatches"));
  batches_->setRange(1, kMostBatches);
  batches_->setButtonSymbols(QAbstractSpinBox::NoButtons);
  batches_->setFixedWidth(96);
  batches_->setPrefix(tr("batches: "));
  batches_->setAccessibleName(tr("Batches"));
  batches_->setToolTip(
      tr("How many input sets: the first is the model's own, others are drawn like it; the worst counts."));
  row->addWidget(batches_);
  const auto add = [&](const char* name, const QString& tip) {
    auto* button = makeButton({}, "secondary", this);
    button->setObjectName(QLatin1String(name));
    button->setToolTip(tip);
    row->addWidget(button);
    return button;
  };
  other_ = add("differenceAgainst", tr("What the original is compared with."));
  inputs_ = add("differenceInputs", tr("What both models are run with: set or load your own on the Inputs tab."));
  connect(inputs_, &QPushButton::clicked, this, &DifferenceBar::inputsWanted);
  words_ = new ElidedLabel({}, Qt::ElideRight, this);
  words_->setObjectName(QStringLiteral("differenceState"));
  setKind(words_, "soft");
  row->addWidget(words_, 1);
  progress_ = new QProgressBar(this);
  progress_->setObjectName(QStringLiteral("differenceProgress"));
  progress_->setAccessibleName(tr("Progress of the comparison"));
  progress_->setTextVisible(false);
  progress_->setRange(0, 1000);
  progress_->setFixedSize(120, 6);
  row->addWidget(progress_);
  go_ = add("differenceGo", {});
  connect(go_, &QPushButton::clicked, this, [this] { run_->running() ? run_->cancel() : compare(); });
}

void DifferenceBar::buildMenu() {
  auto* menu = new QMenu(this);
  connect(menu->addAction(tr("Folded model")), &QAction::triggered, this, [this] { setAgainst({}); });
  QAction* file = menu->addAction(tr("Another file…"));
  file->setObjectName(QStringLiteral("differenceFile"));
  connect(file, &QAction::triggered, this, &DifferenceBar::askForFile);
  other_->setMenu(menu);
  setKind(other_, "menu");
}

void DifferenceBar::askForFile() {
  auto* dialog = new QFileDialog(this, tr("Compare with"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setObjectName(QStringLiteral("differenceDialog"));
  dialog->setFileMode(QFileDialog::ExistingFile);
  dialog->setDirectory(QFileInfo(session_->path()).absolutePath());
  dialog->setNameFilters({tr("Models (*.pt *.pth *.ts *.onnx)"), tr("All files (*)")});
  connect(dialog, &QFileDialog::fileSelected, this, &DifferenceBar::setAgainst);
  dialog->open();
}

void DifferenceBar::setAgainst(const QString& path) {
  against_ = path;
  showState();
  Q_EMIT settingsChanged();
}

void DifferenceBar::compare() {
  DifferenceSettings settings;
  settings.against = against_;
  settings.batches = batches_->value();
  settings.dtypes.clear();
  for (const QCheckBox* box : types_) {
    if (box->isChecked()) settings.dtypes.push_back(box->text().toStdString());
  }
  run_->start(settings);
}

// Of what is done: the worst of each type, and what could not be done.
QString DifferenceBar::outcome() const {
  QStringList parts;
  for (const protocol::DiffResult& column : run_->columns()) {
    if (!column.error.empty()) {
      parts << tr("%1: %2").arg(text(column.dtype), asSentence(text(column.error)));
      continue;
    }
    double worst = 0;
    for (const protocol::DiffRow& row : column.rows) {
      if (row.kind == "output") worst = std::max(worst, row.max_rel);
    }
    parts << tr("%1: outputs %2").arg(text(column.dtype), formatError(worst));
  }
  return parts.join(QStringLiteral(" · "));
}

void DifferenceBar::showState() {
  DifferenceSettings wanted;
  wanted.against = against_;
  wanted.dtypes.clear();
  for (const QCheckBox* box : types_) {
    if (box->isChecked()) wanted.dtypes.push_back(box->text().toStdString());
  }
  const QString obstacle = run_->obstacle(wanted);
  const bool running = run_->running();
  go_->setText(running ? tr("Cancel") : tr("Compare"));
  go_->setToolTip(running ? tr("Stop; what is done stays.")
                          : tr("Run both models on the same inputs in each chosen precision."));
  go_->setEnabled(running || (obstacle.isEmpty() && !session_->busy()));
  progress_->setVisible(running);
  progress_->setValue(static_cast<int>(1000 * run_->fraction()));
  other_->setText(against_.isEmpty() ? tr("Folded model") : QFileInfo(against_).fileName());
  const protocol::InputsParams& inputs = session_->inputs();
  inputs_->setText(!inputs.npz.empty()     ? QFileInfo(text(inputs.npz)).fileName()
                   : !inputs.specs.empty() ? tr("My inputs")
                                           : tr("Guessed inputs"));
  const QString problem = run_->problem();
  setKind(words_, problem.isEmpty() ? "soft" : "error");
  words_->setFullText(running ? asSentence(run_->stage()) : problem.isEmpty() ? outcome() : problem);
}

}  // namespace normlens::ui

#include "ui/window/inspector/model_page.h"

#include <QComboBox>
#include <QFileInfo>
#include <QLabel>

#include "core/protocol/input_groups.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/property_list.h"
#include "ui/window/inspector/inspector.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

constexpr int kNameLetters = 12;  // that have room in any case

}  // namespace

ModelPage::ModelPage(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
  InspectorPage page(this);
  title_ = page.addTitle(page.layout, Qt::ElideMiddle);
  subtitle_ = page.add(makeWords("soft", page.body));
  const QString tip = tr("The file holds several models; this one is shown.");
  models_ = page.add(describe(new QComboBox(page.body), "modelChoice", tip, tip));
  models_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  models_->setMinimumContentsLength(kNameLetters);
  connect(models_, &QComboBox::activated, this, [this] {
    if (models_->currentText() != session_->modelName()) Q_EMIT modelWanted(session_->path(), models_->currentText());
  });
  connect(session_, &Session::openFailed, this, &ModelPage::showModels);  // the one before is shown still
  connect(session_, &Session::engineLost, this, &ModelPage::showModels);
  page.layout->addSpacing(4);
  note_ = page.add(describe(makeWords("body", page.body), "modelNote"));
  page.layout->addSpacing(4);
  facts_ = page.add(new PropertyList(page.body));
  const auto addSection = [&](const QString& title, QLabel*& label) {
    page.layout->addSpacing(8);
    label = page.add(makeLabel(title, "section", page.body));
    return page.add(new PropertyList(page.body));
  };
  inputs_ = addSection(tr("Inputs of the probe run"), inputsTitle_);
  assumed_ = page.add(makeWords("faint", page.body));
  papers_ = addSection(tr("By the papers' criteria"), papersTitle_);
  // A long name in the words makes nothing wider than the panel.
  for (QLabel* words : {note_, assumed_}) {
    QSizePolicy policy = words->sizePolicy();
    policy.setHorizontalPolicy(QSizePolicy::Ignored);
    words->setSizePolicy(policy);
  }
  page.layout->addStretch(1);
}

void ModelPage::showModel() {
  const auto& model = session_->model();
  const auto& analysis = session_->analysis();
  title_->setFullText(QFileInfo(session_->path()).fileName());
  subtitle_->setText(model ? tr("%1, %2 parameters").arg(text(model->format), formatCount(model->parameters))
                           : QString());
  showModels();
  showNote();
  QVector<Property> facts;
  if (model) {
    facts.push_back({tr("file"), formatBytes(model->file_bytes), session_->path()});
    facts.push_back({tr("weights"), formatBytes(model->parameter_bytes), {}});
    facts.push_back({tr("operators"), formatCount(static_cast<qint64>(session_->index().graph().nodes.size())), {}});
  }
  if (analysis) {
    facts.push_back({tr("LayerNorms"), QString::number(analysis->totals.layer_norms), {}});
    facts.push_back({tr("other norms"), QString::number(analysis->other_norms.size()),
                     tr("GroupNorm, InstanceNorm, BatchNorm and RMSNorm; they are left alone.")});
  }
  facts_->setProperties(facts);
  QVector<Property> inputs;
  QStringList assumed;
  if (analysis) {
    for (const auto& [names, input] : protocol::inputGroups(analysis->inputs)) {
      inputs.push_back({text(names), QStringLiteral("%1 %2").arg(text(input.dtype), formatShape(input.shape)),
                        tr("values from %1 to %2").arg(formatNumber(input.low), formatNumber(input.high))});
      if (!input.assumed.empty()) assumed << QStringLiteral("%1: %2").arg(text(names), text(input.assumed));
    }
  }
  inputs_->setProperties(inputs);
  inputsTitle_->setVisible(!inputs.isEmpty());
  assumed_->setText(assumed.join(u'\n'));
  assumed_->setVisible(!assumed.isEmpty());
  QVector<Property> papers;
  if (const int known = analysis ? analysis->totals.layer_norms - analysis->totals.unknown : 0; known > 0) {
    const protocol::Totals& t = analysis->totals;
    papers = {
        {tr("paper"), tr("%1 of %2").arg(t.paper).arg(known), tr("Algorithm 1 of the paper.")},
        {tr("paper, practical"), tr("%1 of %2").arg(t.paper_practical).arg(known),
         tr("With auxiliary centering after opaque leaves.")},
        {tr("paper, strict"), tr("%1 of %2").arg(t.paper_strict).arg(known),
         tr("Foldable, and every affected layer is a LayerNorm.")},
        {tr("exact, free"), tr("%1 of %2").arg(t.free).arg(known), tr("NormLens, by editing weights alone."), true}};
  }
  papers_->setProperties(papers);
  papersTitle_->setVisible(!papers.isEmpty());
}

void ModelPage::showModels() {
  models_->clear();
  if (session_->model()) {
    for (const std::string& name : session_->model()->models) models_->addItem(text(name));
  }
  models_->setCurrentText(session_->modelName());
  models_->setVisible(models_->count() > 0);
}

// Shows the file's own note together with what became of the run.
void ModelPage::showNote() {
  const auto& model = session_->model();
  const auto& analysis = session_->analysis();
  QStringList notes;
  if (model && !model->note.empty()) notes << asSentence(text(model->note));
  if (analysis && !analysis->probe_error.empty()) {
    notes << asSentence(tr("The model could not be run: %1").arg(text(analysis->probe_error)));
  } else if (analysis && !analysis->note.empty()) {
    notes << asSentence(text(analysis->note));
  } else if (analysis && notes.isEmpty()) {
    notes << tr("Select a LayerNorm to see what decides whether it folds.");
  }
  note_->setText(notes.join(u'\n'));
  note_->setVisible(!notes.isEmpty());
}

}  // namespace normlens::ui

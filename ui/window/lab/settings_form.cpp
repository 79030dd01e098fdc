#include "ui/window/lab/settings_form.h"

#include <QCheckBox>
#include <QFileInfo>
#include <QGridLayout>
#include <QLineEdit>
#include <QSignalBlocker>
#include <algorithm>

#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/segmented.h"
#include "ui/window/lab/network_mark.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"
#include "ui/words/lab_fields.h"
#include "ui/words/lab_words.h"

namespace normlens::ui {
namespace {

constexpr int kField = 108;
constexpr qsizetype kMostBeside = 3;  // choices in one row
constexpr size_t kAll = SIZE_MAX;

QString nameFor(std::string_view key) {
  return QStringLiteral("lab_") + QString::fromUtf8(key.data(), static_cast<qsizetype>(key.size()));
}

}  // namespace

SettingsForm::SettingsForm(QWidget* parent)
    : QWidget(parent), settings_(lab::usualSettings(lab::Experiment::Equivalence)) {
  auto* column = makeColumn(this, 8);
  auto* grid = new QGridLayout;
  grid->setHorizontalSpacing(8);
  grid->setVerticalSpacing(6);
  grid->setColumnStretch(0, 1);
  for (const LabField& field : labFields()) {
    controls_.push_back(makeControl(field));
    const int row = grid->rowCount();
    grid->addWidget(controls_.back().name, row, 0);
    grid->addWidget(controls_.back().row, row, 1, Qt::AlignRight);
  }
  column->addLayout(grid);
  others_ = describe(makeWords("soft", this), "labOthers");
  column->addWidget(others_);
  column->addSpacing(8);
  column->addWidget(makeLabel(tr("Networks"), "section", this));
  makeNetworks(this);
  column->addWidget(
      makeWords("soft", this, tr("All networks start from the same weights and read the same examples.")));
  for (size_t i = 0; i < controls_.size(); ++i) {
    if (auto* edit = controls_[i].edit)
      connect(edit, &QLineEdit::textEdited, this, [this, i](const QString& words) { take(i, words); });
    if (auto* choices = controls_[i].choices)
      connect(choices, &Segmented::chosen, this, [this, i](int chosen) { take(i, controls_[i].keys[chosen]); });
  }
  refresh(kAll);
}

SettingsForm::Control SettingsForm::makeControl(const LabField& field) {
  Control control{&field, makeLabel(nameOf(field, settings_), "plain12", this), nullptr};
  control.name->setToolTip(tipOf(field));
  if (field.kind == LabField::Kind::Choice) {
    makeChoices(control);
    return control;
  }
  auto* edit = new QLineEdit(this);
  edit->setAlignment(Qt::AlignRight);
  setTextWidth(edit, kField);
  control.edit = describe(edit, nameFor(field.key).toLatin1().constData(), tipOf(field), control.name->text());
  control.row = edit;
  if (field.kind == LabField::Kind::File) {
    auto* choose = new IconButton(QStringLiteral("open"), {}, tr("Choose a file."), this);
    control.row = new QWidget(this);
    auto* line = makeRow(control.row, 4);
    line->addWidget(edit);
    line->addWidget(choose);
    const size_t index = controls_.size();
    connect(choose, &IconButton::clicked, this, [this, index] { askForFile(index); });
  }
  control.name->setBuddy(edit);
  return control;
}

void SettingsForm::makeChoices(Control& control) {
  for (const LabChoice& choice : control.field->choices(settings_)) control.keys << text(std::string(choice.key));
  const QVector<Segment> segments = segmentsOf(*control.field);
  auto* choices = new Segmented(segments, this);
  choices->setSnug(true);
  choices->setFolded(segments.size() > kMostBeside);
  control.choices = describe(choices, nameFor(control.field->key).toLatin1().constData(), {}, control.name->text());
  control.row = choices;
}

QVector<Segment> SettingsForm::segmentsOf(const LabField& field) const {
  QVector<Segment> segments;
  for (const LabChoice& choice : field.choices(settings_)) {
    const bool missing = choice.key == "cuda" && devices_.gpu.isEmpty();
    segments << Segment{choice.name, missing ? devices_.missing : choice.tip, choice.offered && !missing};
  }
  return segments;
}

void SettingsForm::makeNetworks(QWidget* parent) {
  for (const lab::NormUse network : lab::kNetworks) {
    auto* line = makeRow(nullptr, 8);
    const LabWord word = labWord(network);
    auto* box = describe(new QCheckBox(parent), nameFor(nameOf(network)).toLatin1().constData(), word.tip, word.name);
    auto* name = makeLabel(word.name, "fact", parent);
    name->setToolTip(word.tip);
    name->setBuddy(box);
    line->addWidget(box);
    line->addWidget(new NetworkMark(network, parent));
    line->addWidget(name);
    line->addStretch();
    layout()->addItem(line);
    networks_.emplace(network, box);
    connect(box, &QCheckBox::clicked, this, &SettingsForm::takeNetworks);
  }
}

void SettingsForm::setSettings(const lab::RunSettings& settings) {
  settings_ = settings;
  for (Control& control : controls_) control.unread = false;
  refresh(kAll);
}

void SettingsForm::setDevices(const Devices& devices) {
  devices_ = devices;
  refresh(kAll);
}

void SettingsForm::take(size_t control, const QString& words) {
  controls_[control].unread = !controls_[control].field->take(settings_, words);
  refresh(control);
  Q_EMIT changed();
}

// Takes the checked networks in the order in which they are trained.
void SettingsForm::takeNetworks() {
  settings_.networks.clear();
  for (const lab::NormUse network : lab::kNetworks) {
    if (networks_.find(network)->second->isChecked()) settings_.networks.push_back(network);
  }
  Q_EMIT changed();
}

void SettingsForm::refresh(size_t but) {
  for (size_t i = 0; i < controls_.size(); ++i) {
    Control& control = controls_[i];
    const bool belongs = control.field->belongs(settings_);
    control.name->setText(nameOf(*control.field, settings_));
    control.name->setVisible(belongs);
    control.row->setVisible(belongs);
    control.unread = control.unread && belongs;
    setKind(control.name, control.unread ? "error" : "plain12");
    if (i == but || control.unread) continue;
    const QString shown = control.field->show(settings_);
    if (control.edit != nullptr) {
      const QSignalBlocker quiet(control.edit);
      control.edit->setText(shown);
      continue;
    }
    control.choices->setSegments(segmentsOf(*control.field));
    control.choices->setCurrent(static_cast<int>(control.keys.indexOf(shown)));
  }
  for (const auto& [network, box] : networks_) {
    const QSignalBlocker quiet(box);
    box->setChecked(std::ranges::find(settings_.networks, network) != settings_.networks.end());
  }
  QStringList others;
  for (size_t i = 1; i < settings_.optimizers.size(); ++i) others << text(lab::describe(settings_.optimizers[i]));
  others_->setText(tr("Trained with this optimizer, and again with %1.").arg(others.join(tr("; with "))));
  others_->setVisible(!others.isEmpty());
}

QString SettingsForm::problem() const {
  for (const Control& control : controls_) {
    if (!control.unread) continue;
    return tr("“%1” cannot be read as %2.").arg(control.edit->text(), nameOf(*control.field, settings_).toLower());
  }
  const Status good = lab::checkRunSettings(settings_);
  return good ? QString() : asSentence(text(good.error().message));
}

void SettingsForm::askForFile(size_t control) {
  const FileQuestion question{QStringLiteral("labDataDialog"),
                              tr("Data to learn"),
                              {tr("Arrays (*.npz)")},
                              folderOf(text(settings_.data.path))};
  ui::askForFile(this, question, [this, control](const QString& path) {
    take(control, QFileInfo(path).absoluteFilePath());
    refresh(kAll);
  });
}

}  // namespace normlens::ui

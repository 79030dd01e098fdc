#include "ui/window/frame/connection_form.h"

#include <QComboBox>
#include <QFileInfo>
#include <QLineEdit>
#include <QPushButton>
#include <algorithm>

#include "ui/client/engine_command.h"
#include "ui/widgets/follow_text.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

constexpr int kFieldWidth = 380;

// Returns the name of a connection that the user gave none.
QString usualName(const QString& command) {
  const EngineCommand words = engineCommandFromLine(command);
  const QString host = hostOf(words);
  return host.isEmpty() ? QFileInfo(words.value(0)).fileName() : host;
}

}  // namespace

ConnectionForm::ConnectionForm(int nameWidth, QWidget* parent)
    : QWidget(parent),
      nameWidth_(nameWidth),
      choice_(describe(new QComboBox(this), "preferConnection")),
      name_(describe(new QLineEdit(this), "preferConnectionName")),
      command_(describe(new QLineEdit(this), "preferEngine")) {
  makeColumn(this, 10);
  addRow(tr("Connection"), choice_, tr("The engines that you saved. Choosing one fills the fields below."));
  addRow(tr("Name"), name_, tr("The connection is saved under this name."));
  const QString usual = defaultEngineProgram();
  command_->setPlaceholderText(usual.isEmpty() ? tr("no engine was found next to the window") : usual);
  addRow(tr("Command"), command_,
         tr("Program and arguments that start the engine. Empty: the installed one.") + u'\n' +
             command_->placeholderText());
  choice_->setPlaceholderText(tr("not saved"));
  addButtons();
  note_ = describe(makeWords("faint", this), "preferEngineNote");
  addRow({}, note_, {});
  connect(choice_, &QComboBox::activated, this, &ConnectionForm::choose);
  for (QLineEdit* field : {name_, command_}) connect(field, &QLineEdit::textEdited, this, &ConnectionForm::edited);
  connect(command_, &QLineEdit::returnPressed, this, &ConnectionForm::apply);
  connect(&trial_, &EngineTrial::ended, this, [this](bool works, const QString& words) {
    setKind(note_, works ? "passed" : "error");
    note_->setText(words);
  });
}

QHBoxLayout* ConnectionForm::addRow(const QString& title, QWidget* field, const QString& tip) {
  auto* row = new QHBoxLayout;
  auto* label = makeLabel(title, "plain12", this);
  setTextWidth(label, nameWidth_);
  row->addWidget(label);
  if (field != nullptr) {
    label->setBuddy(field);
    field->setToolTip(tip);
    field->setAccessibleName(title);
    followText(field, [field] { field->setMinimumWidth(grown(kFieldWidth)); });
    row->addWidget(field, 1);
  }
  static_cast<QVBoxLayout*>(layout())->addLayout(row);
  return row;
}

void ConnectionForm::addButtons() {
  QHBoxLayout* row = addRow({}, nullptr, {});
  const auto add = [&](const QString& text, const char* name, const QString& tip, void (ConnectionForm::*pressed)()) {
    QPushButton* button = addButton(row, "secondary", text, name, tip);
    connect(button, &QPushButton::clicked, this, pressed);
    return button;
  };
  apply_ =
      add(tr("Use this engine"), "preferEngineApply",
          tr("Start the engine with this command and reopen the model; the plan is kept."), &ConnectionForm::apply);
  test_ = add(tr("Test"), "preferEngineTest",
              tr("Start another engine with this command, show what it answers, and end it."), &ConnectionForm::test);
  save_ = add(tr("Save"), "preferConnectionSave", tr("Keep this name and command in the list."), &ConnectionForm::save);
  remove_ = add(tr("Remove"), "preferConnectionRemove", tr("Take this name out of the list."), &ConnectionForm::remove);
  row->addStretch(1);
}

void ConnectionForm::setConnections(const std::vector<Connection>& connections, const QString& command) {
  connections_ = connections;
  used_ = command;
  const auto found = std::ranges::find(connections_, command, &Connection::command);
  name_->setText(found == connections_.end() ? QString() : found->name);
  command_->setText(command);
  listConnections();
  edited();
}

void ConnectionForm::listConnections() {
  choice_->clear();
  choice_->addItem(tr("This machine"));
  for (const Connection& each : connections_) choice_->addItem(each.name);
}

void ConnectionForm::choose(int index) {
  const Connection chosen = index == 0 ? Connection() : connections_[index - 1];
  name_->setText(chosen.name);
  command_->setText(chosen.command);
  edited();
}

// The result of a test belongs to the command that was tested.
void ConnectionForm::edited() {
  trial_.stop();
  const bool fixed = qEnvironmentVariableIsSet("NORMLENS_ENGINE");
  setKind(note_, "faint");
  note_->setText(fixed ? tr("The environment variable NORMLENS_ENGINE names the engine now.") : QString());
  showState();
}

void ConnectionForm::showState() {
  const Connection now = typed();
  const auto place = std::ranges::find(connections_, now);
  const bool saved = place != connections_.end();
  const int index = now.command.isEmpty() ? 0 : saved ? static_cast<int>(place - connections_.begin()) + 1 : -1;
  choice_->setCurrentIndex(index);
  name_->setPlaceholderText(now.command.isEmpty() ? QString() : usualName(now.command));
  apply_->setEnabled(!qEnvironmentVariableIsSet("NORMLENS_ENGINE") && now.command != used_);
  save_->setEnabled(!now.command.isEmpty() && !saved);
  remove_->setEnabled(savedAs(now.name) != connections_.end());
}

Connection ConnectionForm::typed() const {
  const QString command = command_->text().trimmed(), name = name_->text().trimmed();
  return {name.isEmpty() && !command.isEmpty() ? usualName(command) : name, command};
}

std::vector<Connection>::const_iterator ConnectionForm::savedAs(const QString& name) const {
  return std::ranges::find(connections_, name, &Connection::name);
}

void ConnectionForm::apply() {
  if (!apply_->isEnabled()) return;
  used_ = typed().command;
  showState();
  Q_EMIT applied(used_);
}

void ConnectionForm::save() {
  const Connection now = typed();
  std::erase_if(connections_, [&](const Connection& each) { return each.name == now.name; });
  connections_.push_back(now);
  name_->setText(now.name);
  listConnections();
  showState();
  Q_EMIT saved(connections_);
}

void ConnectionForm::remove() {
  std::erase_if(connections_, [name = typed().name](const Connection& each) { return each.name == name; });
  listConnections();
  showState();
  Q_EMIT saved(connections_);
}

void ConnectionForm::test() {
  setKind(note_, "faint");
  note_->setText(tr("Starting the engine…"));
  trial_.start(engineCommandFromLine(command_->text()));
}

}  // namespace normlens::ui

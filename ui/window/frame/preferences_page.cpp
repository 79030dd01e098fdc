#include "ui/window/frame/preferences_page.h"

#include <QAction>
#include <QKeyEvent>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSpinBox>
#include <algorithm>

#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/segmented.h"
#include "ui/window/frame/connection_form.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

constexpr int kPageWidth = 680, kNameWidth = 180;
// The style's own arrows do not follow the theme.
IconButton* makeStep(QSpinBox* spin, const QString& icon, const QString& word, void (QSpinBox::*step)()) {
  auto* button = new IconButton(icon, {}, word, spin->parentWidget());
  button->setIconExtent(14);
  setTextHeight(button, 28);
  setTextWidth(button, 28);
  button->setFocusPolicy(Qt::NoFocus);  // the arrow keys do it in the field
  QObject::connect(button, &QToolButton::clicked, spin, step);
  return button;
}

constexpr const char* kDevices[] = {"cpu", "cuda"};

}  // namespace

PreferencesPage::PreferencesPage(QWidget* parent) : QWidget(parent) {
  describe(this, "preferences", {}, tr("Preferences"));
  auto* scroll = makeScrollArea(this, tr("Preferences"));
  makeColumn(this)->addWidget(scroll);
  auto* body = new QWidget(scroll);
  auto* across = makeRow(body, -1, {24, 28, 24, 28});
  auto* page = new QWidget(body);
  followText(page, [page] { page->setMaximumWidth(grown(kPageWidth)); });
  across->addStretch(1);
  across->addWidget(page, 100);
  across->addStretch(1);
  column_ = makeColumn(page, 16);
  auto* head = new QHBoxLayout;
  head->addWidget(makeLabel(tr("Preferences"), "hero", page));
  head->addStretch(1);
  auto* done = addButton(head, "secondary", tr("Done"), "preferencesDone", tr("Back (Esc)."));
  connect(done, &QPushButton::clicked, this, &PreferencesPage::closed);
  column_->addLayout(head);
  addAppearance();
  addNumbers();
  addEngine();
  column_->addStretch(1);
  scroll->setWidget(body);
  setPreferences({});
}

void PreferencesPage::addDirection(QAction* leftToRight) {
  auto* direction = new Segmented({{tr("Down"), tr("The data runs from the top to the bottom.")},
                                   {tr("To the right"), tr("The data runs from the left to the right.")}},
                                  column_->parentWidget());
  direction->setObjectName(QStringLiteral("preferDirection"));
  const auto follow = [direction, leftToRight] { direction->setCurrent(leftToRight->isChecked() ? 1 : 0); };
  connect(direction, &Segmented::chosen, leftToRight,
          [leftToRight](int index) { leftToRight->setChecked(index == 1); });
  connect(leftToRight, &QAction::toggled, direction, follow);
  follow();
  addRow(appearance_, tr("Direction of the graph"), direction, tr("The direction of the data in the graph."));
}

QVBoxLayout* PreferencesPage::addSection(const QString& title, const QString& meaning) {
  auto* card = new QFrame(column_->parentWidget());
  card->setProperty("kind", "card");
  auto* layout = makeColumn(card, 10, {20, 16, 20, 16});
  layout->addWidget(makeLabel(title, "title", card));
  if (!meaning.isEmpty()) layout->addWidget(makeWords("soft", card, meaning));
  column_->addWidget(card);
  return layout;
}

void PreferencesPage::addRow(QVBoxLayout* section, const QString& name, QWidget* control, const QString& tip) {
  auto* row = new QHBoxLayout;
  auto* label = makeLabel(name, "plain12", section->parentWidget());
  setTextWidth(label, kNameWidth);
  label->setBuddy(control);
  label->setToolTip(tip);
  control->setToolTip(tip);
  control->setAccessibleName(name);
  row->addWidget(label);
  row->addWidget(control);
  if (auto* spin = qobject_cast<QSpinBox*>(control)) {
    row->addWidget(makeStep(spin, QStringLiteral("minus"), tr("Less"), &QSpinBox::stepDown));
    row->addWidget(makeStep(spin, QStringLiteral("plus"), tr("More"), &QSpinBox::stepUp));
  }
  row->addStretch(1);
  section->addLayout(row);
}

// Adds a row that begins under the control of the row above.
QHBoxLayout* PreferencesPage::addIndented(QVBoxLayout* section) {
  auto* row = new QHBoxLayout;
  auto* indent = new QWidget(column_->parentWidget());
  setTextWidth(indent, kNameWidth);
  row->addWidget(indent);
  section->addLayout(row);
  return row;
}

void PreferencesPage::addNumber(QVBoxLayout* section, int Preferences::*field, const char* name, const QString& title,
                                const QString& tip, const QString& suffix, const QString& least) {
  const auto& number = *std::find_if(std::begin(kPreferenceNumbers), std::end(kPreferenceNumbers),
                                     [&](const PreferenceNumber& each) { return each.field == field; });
  auto* spin = describe(new QSpinBox(column_->parentWidget()), name);
  spin->setRange(number.least, number.most);
  spin->setSuffix(suffix);
  spin->setSpecialValueText(least);
  spin->setButtonSymbols(QAbstractSpinBox::NoButtons);
  setTextWidth(spin, 90);
  connect(spin, &QSpinBox::valueChanged, this, [this, field](int value) {
    chosen_.*field = value;
    Q_EMIT changed();
  });
  numbers_.emplace_back(spin, field);
  addRow(section, title, spin, tip);
}

void PreferencesPage::addAppearance() {
  appearance_ = addSection(tr("Appearance"), {});
  // As they are numbered in ColorScheme.
  scheme_ = new Segmented({{tr("System"), tr("The desktop's light or dark theme when the window opened.")},
                           {tr("Light"), tr("Dark text on a light background.")},
                           {tr("Dark"), tr("Light text on a dark background.")}},
                          column_->parentWidget());
  scheme_->setObjectName(QStringLiteral("preferScheme"));
  connect(scheme_, &Segmented::chosen, this, [this](int index) {
    chosen_.scheme = static_cast<ColorScheme>(index);
    Q_EMIT changed();
  });
  addRow(appearance_, tr("Theme"), scheme_, tr("The colors of the window."));
  addNumber(appearance_, &Preferences::fontPixels, "preferFont", tr("Text size"),
            tr("The size of body text; everything else scales with it."), tr(" px"));
}

void PreferencesPage::addNumbers() {
  QVBoxLayout* section = addSection(tr("Numbers and projects"), {});
  addNumber(section, &Preferences::digits, "preferDigits", tr("Precision"),
            tr("Significant digits of the numbers in the inspector."), tr(" digits"));
  addNumber(section, &Preferences::autosaveSeconds, "preferAutosave", tr("Autosave every"),
            tr("How often your changes are saved for recovery after a crash."), tr(" s"), tr("never"));
}

void PreferencesPage::addEngine() {
  QVBoxLayout* section =
      addSection(tr("Engine"), tr("The program that reads and runs models. It may run on another machine: \"ssh "
                                  "gpu-box normlens-engine serve\" opens the models of gpu-box and measures there."));
  connection_ = new ConnectionForm(kNameWidth, column_->parentWidget());
  section->addWidget(connection_);
  connect(connection_, &ConnectionForm::applied, this, [this](const QString& command) {
    chosen_.engineCommand = command;
    Q_EMIT engineCommandChanged(command);
  });
  connect(connection_, &ConnectionForm::saved, this, [this](const std::vector<Connection>& connections) {
    chosen_.connections = connections;
    Q_EMIT changed();
  });
  device_ = describe(new Segmented(QVector<Segment>(std::size(kDevices)), column_->parentWidget()), "preferDevice");
  connect(device_, &Segmented::chosen, this, [this](int index) {
    chosen_.device = QLatin1String(kDevices[index]);
    Q_EMIT changed();
  });
  addRow(section, tr("Device"), device_, tr("Where models are measured unless the Benchmark panel overrides it."));
  deviceNote_ = describe(makeWords("faint", column_->parentWidget()), "preferDeviceNote");
  addIndented(section)->addWidget(deviceNote_, 1);
  addNumber(section, &Preferences::timeLimitSeconds, "preferTimeLimit", tr("Time limit"),
            tr("A run of a model stops after this time. Default: 10 minutes; 1 minute to find shapes, 20 seconds on "
               "guessed inputs. Applies to the next model."),
            tr(" s"), tr("default"));
  addNumber(section, &Preferences::memoryLimitGb, "preferMemoryLimit", tr("Memory limit"),
            tr("A model gets at most this much memory. Default: nine tenths of the available memory. Applies to the "
               "next model."),
            tr(" GB"), tr("default"));
}

void PreferencesPage::setDevices(const Devices& devices) {
  devices_ = devices;
  const bool hasGpu = !devices.gpu.isEmpty();
  device_->setSegments({{tr("CPU"), tr("Measurements run on the CPU of the engine's machine by default.")},
                        {tr("CUDA"), tr("Measurements run on the engine's GPU by default."), hasGpu}});
  device_->setCurrent(devices.used(chosen_.device) == QLatin1String(kDevices[1]) ? 1 : 0);
  const QString note = hasGpu ? devices.gpu : devices.missing;
  deviceNote_->setText(devices.host.isEmpty() ? note : tr("On %1: %2").arg(devices.host, note));
}

void PreferencesPage::setPreferences(const Preferences& preferences) {
  chosen_ = preferences;
  scheme_->setCurrent(static_cast<int>(preferences.scheme));
  for (const auto& [spin, field] : numbers_) {
    const QSignalBlocker quiet(spin);
    spin->setValue(preferences.*field);
  }
  setDevices(devices_);
  connection_->setConnections(preferences.connections, preferences.engineCommand);
}

void PreferencesPage::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    Q_EMIT closed();
  } else {
    QWidget::keyPressEvent(event);
  }
}

}  // namespace normlens::ui

#include "ui/window/frame/tool_bar.h"

#include <QAction>
#include <QCursor>
#include <QMenu>
#include <QToolTip>

#include "ui/client/devices.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/lesson_link.h"
#include "ui/widgets/room_steps.h"
#include "ui/window/actions.h"
#include "ui/window/frame/search_box.h"
#include "ui/window/parts.h"

namespace normlens::ui {

ToolBar::ToolBar(Actions* actions, QWidget* parent) : QFrame(parent) {
  describe(this, "toolBar", {}, tr("Tools"));
  setTextHeight(this, 44);
  auto* layout = makeRow(this, 2, {13, 0, 12, 0});
  IconButton* open = addButton(QStringLiteral("open"), actions->open, true);
  layout->addSpacing(4);
  IconButton* fold = addButton(QStringLiteral("fold"), actions->fold, true);
  linkLesson(fold, "plan");
  addMenuArrow(actions->foldMenu, tr("Choose the policy: what may be folded."));
  layout->addSpacing(4);
  IconButton* verify = addButton(QStringLiteral("verify"), actions->verify, true);
  linkLesson(verify, "proof");
  layout->addSpacing(4);
  IconButton* measure = addButton(QStringLiteral("measure"), actions->measure, true);
  linkLesson(measure, "latency");
  layout->addSpacing(4);
  IconButton* write = addButton(QStringLiteral("export"), actions->exportModel, true);
  linkLesson(write, "flavours");
  const auto addSeparator = [&] {
    QFrame* line = makeLine(Qt::Vertical, this);
    line->setFixedHeight(20);
    layout->addSpacing(6);
    layout->addWidget(line);
    layout->addSpacing(6);
  };
  addSeparator();
  addButton(QStringLiteral("undo"), actions->undo, false);
  addButton(QStringLiteral("redo"), actions->redo, false);
  addSeparator();
  auto* gap = new QWidget(this);
  gap->setFixedWidth(24);
  layout->addWidget(gap);
  search_ = new SearchBox(this);
  layout->addWidget(search_, 100);
  layout->addStretch(1);
  device_ = describe(new IconButton(QStringLiteral("device"), tr("No engine"), tr("Where models are measured."), this),
                     "device");
  device_->setLook(IconButton::Look::Outlined);
  device_->setPopupMode(QToolButton::InstantPopup);
  addDeviceMenu(actions->restartEngine);
  layout->addWidget(device_);
  layout->addSpacing(4);
  addMainMenu(actions);
  auto* steps = new RoomSteps(this);
  steps->add([gap](bool taken) { gap->setVisible(!taken); });
  for (IconButton* button : {verify, measure, write, open, fold, device_}) {
    steps->add([button](bool taken) { button->showWords(!taken); });
  }
}

void ToolBar::addDeviceMenu(QAction* restart) {
  auto* menu = describe(new QMenu(device_), "deviceMenu");
  menu->setToolTipsVisible(true);
  where_ = menu->addAction(QString());
  where_->setEnabled(false);
  const auto add = [&](const QString& text, const char* device) {
    QAction* action = menu->addAction(text);
    action->setCheckable(true);
    connect(action, &QAction::triggered, this, [this, device] { Q_EMIT deviceChosen(QLatin1String(device)); });
    return action;
  };
  cpu_ = add(tr("CPU"), "cpu");
  gpu_ = add({}, "cuda");
  noGpu_ = menu->addAction(QString());
  noGpu_->setEnabled(false);
  menu->addSeparator();
  menu->addAction(restart);
  device_->setMenu(menu);
  connect(menu, &QMenu::aboutToShow, this, &ToolBar::devicesOpened);
}

void ToolBar::addMainMenu(Actions* actions) {
  auto* menu = describe(new QMenu(tr("Menu"), this), "mainMenu");
  for (QMenu* part : {actions->fileMenu, actions->editMenu, actions->viewMenu, actions->helpMenu}) menu->addMenu(part);
  auto* button = describe(new IconButton(QStringLiteral("more"), {}, tr("All commands: file, edit, view, help."), this),
                          "mainMenuButton");
  button->setMenu(menu);
  button->setPopupMode(QToolButton::InstantPopup);
  layout()->addWidget(button);
}

IconButton* ToolBar::addButton(const QString& icon, QAction* action, bool withText) {
  auto* button = new IconButton(icon, withText ? action->text() : QString(), action->toolTip(), this);
  button->setAccessibleName(action->text());
  followAction(button, action);
  layout()->addWidget(button);
  return button;
}

// The arrow belongs to the button before it.
void ToolBar::addMenuArrow(QMenu* menu, const QString& tip) {
  auto* button = new IconButton(QStringLiteral("chevron_down"), {}, tip, this);
  button->setIconExtent(11);
  button->setFixedWidth(18);
  button->setMenu(menu);
  button->setPopupMode(QToolButton::InstantPopup);
  button->setEnabled(menu->isEnabled());
  connect(menu->menuAction(), &QAction::changed, button, [button, menu] { button->setEnabled(menu->isEnabled()); });
  layout()->addWidget(button);
}

void ToolBar::setGpuTip(const QString& tip) {
  const bool shown = !tip.isEmpty() && QToolTip::isVisible() && QToolTip::text() == gpu_->toolTip();
  gpu_->setToolTip(tip);
  if (shown) QToolTip::showText(QCursor::pos(), tip, device_->menu());
}

void ToolBar::setDevices(const Devices& devices, const QString& chosen) {
  const auto& [engine, gpu, missing, host] = devices;
  const bool onGpu = devices.used(chosen) == QLatin1String("cuda");
  const QString device = !engine ? tr("No engine") : onGpu ? gpu : tr("CPU");
  device_->setText(device);
  const QString machine = host.isEmpty() ? device : tr("%1 on %2").arg(device, host);
  device_->setAccessibleName(tr("Device: %1").arg(machine));
  where_->setText(host.isEmpty() ? tr("Measure on") : tr("Measure on %1").arg(host));
  cpu_->setEnabled(engine);
  cpu_->setChecked(engine && !onGpu);
  gpu_->setVisible(engine && !gpu.isEmpty());
  gpu_->setText(gpu);
  gpu_->setChecked(onGpu);
  // The reason is in the menu itself: nobody hovers over what cannot be chosen.
  noGpu_->setVisible(engine && gpu.isEmpty());
  noGpu_->setText(missing);
}

}  // namespace normlens::ui

#include "ui/window/frame/tool_bar.h"

#include <QAction>
#include <QMenu>

#include "ui/widgets/icon_button.h"
#include "ui/widgets/lesson_link.h"
#include "ui/window/actions.h"
#include "ui/window/frame/search_box.h"
#include "ui/window/parts.h"

namespace normlens::ui {

ToolBar::ToolBar(Actions* actions, QWidget* parent) : QFrame(parent) {
  describe(this, "toolBar", {}, tr("Tools"));
  setFixedHeight(44);
  auto* layout = makeRow(this, 2, {13, 0, 12, 0});
  addButton(QStringLiteral("open"), actions->open, true);
  layout->addSpacing(4);
  linkLesson(addButton(QStringLiteral("fold"), actions->fold, true), "plan");
  addMenuArrow(actions->foldMenu, tr("Choose what may be folded: the policy."));
  layout->addSpacing(4);
  linkLesson(addButton(QStringLiteral("verify"), actions->verify, true), "proof");
  layout->addSpacing(4);
  linkLesson(addButton(QStringLiteral("measure"), actions->measure, true), "latency");
  layout->addSpacing(4);
  linkLesson(addButton(QStringLiteral("export"), actions->exportModel, true), "flavours");
  addMenuArrow(actions->exportMenu, tr("Choose how the norm is written into the exported file."));
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
  layout->addSpacing(24);
  search_ = new SearchBox(this);
  layout->addWidget(search_, 100);
  layout->addStretch(1);
  device_ =
      describe(new IconButton(QStringLiteral("device"), tr("No engine"), tr("Where the engine runs the model."), this),
               "device");
  device_->setLook(IconButton::Look::Outlined);
  device_->setPopupMode(QToolButton::InstantPopup);
  auto* menu = new QMenu(device_);
  menu->addAction(actions->restartEngine);
  device_->setMenu(menu);
  device_->setFixedHeight(28);
  layout->addWidget(device_);
  layout->addSpacing(4);
  addMainMenu(actions);
}

void ToolBar::addMainMenu(Actions* actions) {
  auto* menu = new QMenu(tr("Menu"), this);
  menu->setObjectName(QStringLiteral("mainMenu"));
  for (QMenu* part : {actions->fileMenu, actions->editMenu, actions->viewMenu}) menu->addMenu(part);
  auto* button = describe(new IconButton(QStringLiteral("more"), {}, tr("All commands: file, edit, view."), this),
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

void ToolBar::setDevice(const QString& device) {
  device_->setText(device);
  device_->setAccessibleName(tr("Device: %1").arg(device));
}

}  // namespace normlens::ui

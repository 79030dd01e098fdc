#include "ui/widgets/info_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/icon_button.h"

namespace normlens::ui {

InfoBar::InfoBar(QWidget* parent) : QFrame(parent) {
  setObjectName(QStringLiteral("infoBar"));
  setProperty("kind", "infoBar");
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(40, 7, 10, 7);
  layout->setSpacing(10);
  auto* texts = new QVBoxLayout;
  texts->setSpacing(1);
  message_ = makeLabel({}, "strong", this);
  message_->setObjectName(QStringLiteral("infoMessage"));
  hint_ = makeLabel({}, "soft", this);
  for (QLabel* label : {message_, hint_}) {
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    texts->addWidget(label);
  }
  layout->addLayout(texts, 1);
  action_ = makeButton({}, "secondary", this);
  action_->setObjectName(QStringLiteral("infoAction"));
  layout->addWidget(action_, 0, Qt::AlignVCenter);
  other_ = makeButton({}, "link", this);
  other_->setObjectName(QStringLiteral("infoOther"));
  layout->addWidget(other_, 0, Qt::AlignVCenter);
  auto* close = new IconButton(QStringLiteral("close"), {}, tr("Close this message"), this);
  close->setObjectName(QStringLiteral("infoClose"));
  layout->addWidget(close, 0, Qt::AlignTop);
  close_ = close;
  connect(close, &QToolButton::clicked, this, &InfoBar::dismiss);
  const auto runs = [this](QPushButton* button, std::function<void()> InfoBar::*action) {
    connect(button, &QPushButton::clicked, this, [this, action] {
      const auto run = this->*action;
      dismiss();
      if (run) run();
    });
  };
  runs(action_, &InfoBar::onAction_);
  runs(other_, &InfoBar::onOther_);
  hide();
}

void InfoBar::show(Tone tone, const QString& message, const QString& hint, const QString& actionText,
                   std::function<void()> action, const QString& otherText, std::function<void()> other) {
  if (tone == Tone::Message && showsError()) return;  // an error is not pushed aside
  tone_ = tone;
  topic_.clear();
  setKind(this, tone == Tone::Message ? "infoBar" : "errorBar");
  setKind(other_, tone == Tone::Choice ? "primary" : "link");
  message_->setText(message);
  hint_->setText(hint);
  hint_->setVisible(!hint.isEmpty());
  action_->setText(actionText);
  action_->setVisible(!actionText.isEmpty());
  onAction_ = std::move(action);
  other_->setText(otherText);
  other_->setVisible(!otherText.isEmpty());
  onOther_ = std::move(other);
  close_->setVisible(tone != Tone::Choice);
  setAccessibleName(tone == Tone::Message ? message : tr("Error: %1").arg(message));
  setVisible(true);
  update();
}

void InfoBar::dismiss() {
  onAction_ = {};
  onOther_ = {};
  hide();
}

void InfoBar::dismissAbout(const QString& topic) {
  if (isAbout(topic)) dismiss();
}

QString InfoBar::message() const { return message_->text(); }

void InfoBar::paintEvent(QPaintEvent* event) {
  QFrame::paintEvent(event);
  const Theme theme = themeOf(this);
  QPainter painter(this);
  const bool error = tone_ != Tone::Message;
  const bool alone = hint_->isHidden() && message_->height() < 2 * message_->fontMetrics().height();
  const double middle =
      alone ? message_->geometry().center().y() + 1 : message_->y() + message_->fontMetrics().height() / 2.0;
  paintIcon(painter, QRectF(16, middle - 8, 16, 16), error ? QStringLiteral("warning") : QStringLiteral("info"),
            error ? theme.blocked : theme.accentText);
}

}  // namespace normlens::ui

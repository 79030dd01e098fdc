#include "ui/widgets/info_bar.h"

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
  auto* layout = makeRow(this, 10, {40, 7, 10, 7});
  auto* texts = makeColumn(nullptr, 1);
  message_ = makeLabel({}, "strong", this);
  message_->setObjectName(QStringLiteral("infoMessage"));
  hint_ = makeLabel({}, "soft", this);
  hint_->setObjectName(QStringLiteral("infoHint"));
  for (QLabel* label : {message_, hint_}) {
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    texts->addWidget(label);
  }
  layout->addLayout(texts, 1);
  const char* const names[] = {"infoAction", "infoOther", "infoThird"};
  for (size_t i = 0; i < buttons_.size(); ++i) {
    buttons_[i] = makeButton({}, i == 0 ? "secondary" : "link", this);
    buttons_[i]->setObjectName(QLatin1String(names[i]));
    layout->addWidget(buttons_[i], 0, Qt::AlignVCenter);
    connect(buttons_[i], &QPushButton::clicked, this, [this, i] {
      const auto go = i < ways_.size() ? ways_[i].go : nullptr;
      dismiss();
      if (go) go();
    });
  }
  auto* close = describe(new IconButton(QStringLiteral("close"), {}, tr("Close this message"), this), "infoClose");
  layout->addWidget(close, 0, Qt::AlignTop);
  close_ = close;
  connect(close, &QToolButton::clicked, this, &InfoBar::dismiss);
  hide();
}

void InfoBar::show(Tone tone, const QString& message, const QString& hint, std::vector<Way> ways) {
  if (tone == Tone::Message && showsError()) return;  // an error is not pushed aside
  tone_ = tone;
  topic_.clear();
  ways_ = std::move(ways);
  setKind(this, tone == Tone::Message ? "infoBar" : "errorBar");
  setKind(buttons_[1], tone == Tone::Choice ? "primary" : "link");
  message_->setText(message);
  hint_->setText(hint);
  hint_->setVisible(!hint.isEmpty());
  for (size_t i = 0; i < buttons_.size(); ++i) {
    buttons_[i]->setVisible(i < ways_.size());
    buttons_[i]->setText(i < ways_.size() ? ways_[i].text : QString());
  }
  close_->setVisible(tone != Tone::Choice);
  setAccessibleName(tone == Tone::Message ? message : tr("Error: %1").arg(message));
  setVisible(true);
  update();
}

void InfoBar::dismiss() {
  ways_.clear();
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

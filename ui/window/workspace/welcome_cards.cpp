#include "ui/window/workspace/welcome_cards.h"

#include <QDir>
#include <QFileInfo>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

#include "ui/session/words/format.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/push_button.h"

namespace normlens::ui {

namespace {

// The number of a step in a disc.
class StepNumber final : public QWidget {
 public:
  StepNumber(int number, QWidget* parent) : QWidget(parent), number_(number) { setFixedSize(20, 20); }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme theme = themeOf(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.selection);
    painter.drawEllipse(rect());
    painter.setPen(theme.accentText);
    painter.setFont(uiFont(12, QFont::Bold));
    painter.drawText(rect(), Qt::AlignCenter, QString::number(number_));
  }

 private:
  int number_;
};

QString homely(const QString& folder) {
  const QString home = QDir::homePath();
  return folder == home || folder.startsWith(home + u'/') ? u'~' + folder.mid(home.size()) : folder;
}

}  // namespace

QFrame* makeStepCard(int number, StepArt art, const QString& title, const QString& text, QWidget* parent) {
  auto* card = new QFrame(parent);
  card->setProperty("kind", "card");
  auto* layout = new QVBoxLayout(card);
  layout->setContentsMargins(22, 18, 20, 18);
  layout->setSpacing(6);
  layout->addWidget(new StepPicture(art, card));
  layout->addSpacing(8);
  auto* head = new QHBoxLayout;
  head->setSpacing(8);
  head->addWidget(new StepNumber(number, card));
  head->addWidget(makeLabel(title, "title", card));
  head->addStretch(1);
  layout->addLayout(head);
  QLabel* words = makeLabel(text, "step", card);
  words->setWordWrap(true);
  layout->addWidget(words);
  layout->addStretch(1);
  return card;
}

DemoCard::DemoCard(const DemoModel& model, QWidget* parent) : QAbstractButton(parent), model_(model) {
  setFocusPolicy(Qt::TabFocus);
  setAttribute(Qt::WA_Hover);
  setFixedHeight(model.free < 0 ? 98 : 84);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("Open the demo %1").arg(model.title));
  setToolTip(model.path);
}

void DemoCard::paintBar(QPainter& painter, const QRectF& area) const {
  const Theme theme = themeOf(this);
  const int total = model_.free + model_.withCentering + model_.blocked;
  painter.setPen(Qt::NoPen);
  if (total <= 0) {
    painter.setBrush(theme.hairline);
    painter.drawRoundedRect(area, 2, 2);
    return;
  }
  const std::pair<int, QColor> parts[] = {{model_.free, theme.linearLine},
                                          {model_.withCentering, theme.classes.centering},
                                          {model_.blocked, theme.opaqueLine}};
  double left = area.left();
  for (const auto& [count, color] : parts) {
    if (count <= 0) continue;
    const double width = area.width() * count / total;
    painter.setBrush(color);
    painter.drawRoundedRect(QRectF(left, area.top(), qMax(2.0, width - 2), area.height()), 2, 2);
    left += width;
  }
}

void DemoCard::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(hasFocus() || underMouse() ? theme.accent : theme.hairline);
  painter.setBrush(theme.panel);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8);
  const QRectF inner = QRectF(rect()).adjusted(14, 11, -14, -10);
  painter.setFont(monoFont(10));
  painter.setPen(theme.textFaint);
  painter.drawText(QRectF(inner.left(), inner.top(), inner.width(), 18), Qt::AlignRight | Qt::AlignVCenter,
                   formatBytes(model_.bytes));
  painter.setFont(uiFont(13, QFont::DemiBold));
  painter.setPen(theme.text);
  painter.drawText(QRectF(inner.left(), inner.top(), inner.width() - 60, 18), Qt::AlignLeft | Qt::AlignVCenter,
                   model_.title);
  painter.setFont(uiFont(12));
  painter.setPen(theme.textSoft);
  if (model_.free < 0) {  // nothing to count: room for a second line
    painter.drawText(QRectF(inner.left(), inner.top() + 21, inner.width(), inner.height() - 20),
                     Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, model_.description);
    return;
  }
  painter.drawText(
      QRectF(inner.left(), inner.top() + 19, inner.width(), 17), Qt::AlignLeft | Qt::AlignVCenter,
      QFontMetrics(painter.font()).elidedText(model_.description, Qt::ElideRight, static_cast<int>(inner.width())));
  paintBar(painter, QRectF(inner.left(), inner.top() + 42, inner.width(), 4));
  painter.setFont(uiFont(11));
  const QRectF line(inner.left(), inner.bottom() - 15, inner.width(), 16);
  painter.setPen(theme.text);
  painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, tr("%1 free").arg(model_.free));
  const bool blocked = model_.blocked > 0;
  painter.setPen(blocked ? theme.blocked : theme.textSoft);
  painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter,
                   !blocked && model_.withCentering > 0 ? tr("%1 with centering").arg(model_.withCentering)
                                                        : tr("%1 blocked").arg(model_.blocked));
}

RecentRow::RecentRow(const RecentFile& file, bool last, QWidget* parent)
    : QAbstractButton(parent), file_(file), last_(last) {
  setFocusPolicy(Qt::TabFocus);
  setAttribute(Qt::WA_Hover);
  setFixedHeight(50);
  setAccessibleName(tr("Open %1").arg(file.path));
  setToolTip(file.path);
}

void RecentRow::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (underMouse() || hasFocus()) {
    painter.setPen(hasFocus() ? QPen(theme.accent) : QPen(Qt::NoPen));
    painter.setBrush(theme.hover);
    painter.drawRoundedRect(QRectF(rect()).adjusted(4, 3, -4, -3), 6, 6);
  }
  paintIcon(painter, QRectF(14, (height() - 16) / 2.0, 16, 16), QStringLiteral("file"), theme.textSoft);
  const QFileInfo info(file_.path);
  const int counted = file_.layerNorms >= 0 ? 70 : 0;
  painter.setFont(uiFont(13, QFont::Medium));
  painter.setPen(theme.text);
  const int room = width() - 40 - 14 - counted;
  painter.drawText(QRect(40, 8, room, 18), Qt::AlignVCenter | Qt::AlignLeft,
                   QFontMetrics(painter.font()).elidedText(info.fileName(), Qt::ElideMiddle, room));
  painter.setFont(uiFont(11));
  painter.setPen(theme.textSoft);
  painter.drawText(QRect(40, 25, room, 16), Qt::AlignVCenter | Qt::AlignLeft,
                   QFontMetrics(painter.font()).elidedText(homely(info.absolutePath()), Qt::ElideMiddle, room));
  if (counted > 0) {
    painter.setFont(uiFont(12));
    painter.setPen(theme.text);
    painter.drawText(rect().adjusted(0, 0, -14, 0), Qt::AlignVCenter | Qt::AlignRight,
                     tr("%1 of %2").arg(file_.foldable).arg(file_.layerNorms));
  }
  if (!last_) {
    painter.setPen(theme.hairline);
    painter.drawLine(14, height() - 1, width() - 14, height() - 1);
  }
}

DropArea::DropArea(QWidget* parent) : QFrame(parent) {
  setFixedHeight(176);
  auto* layout = new QVBoxLayout(this);
  layout->setSpacing(6);
  layout->addStretch(1);
  layout->addSpacing(34);
  QLabel* title = makeLabel(tr("Drop a model here"), "title", this);
  QLabel* text = makeLabel(tr("TorchScript .pt or ONNX .onnx, up to the memory of this machine"), "step", this);
  open_ = new PushButton(tr("Open model"), PushButton::Look::Filled, this);
  open_->setObjectName(QStringLiteral("welcomeOpen"));
  open_->setIconName(QStringLiteral("open"));
  open_->setToolTip(tr("Choose a TorchScript or ONNX model, or a project, to open (Ctrl+O)."));
  connect(open_, &QPushButton::clicked, this, &DropArea::openClicked);
  for (QWidget* widget : {static_cast<QWidget*>(title), static_cast<QWidget*>(text), static_cast<QWidget*>(open_)}) {
    layout->addWidget(widget, 0, Qt::AlignHCenter);
  }
  layout->insertSpacing(layout->count() - 1, 6);
  layout->addStretch(1);
}

void DropArea::setHot(bool hot) {
  hot_ = hot;
  update();
}

void DropArea::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(hot_ ? theme.accent : theme.control, 1.6, Qt::DashLine));
  painter.setBrush(hot_ ? theme.selection : theme.panel);
  painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 8, 8);
  const QWidget* title = layout()->itemAt(2)->widget();
  if (title != nullptr) {
    paintIcon(painter, QRectF(width() / 2.0 - 15, title->y() - 38, 30, 30), QStringLiteral("file"), theme.textSoft);
  }
}

}  // namespace normlens::ui

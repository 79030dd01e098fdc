#include "ui/window/frame/command_palette.h"

#include <QApplication>
#include <QEvent>
#include <QGraphicsDropShadowEffect>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListView>
#include <QPainter>
#include <QStyledItemDelegate>

#include "ui/models/search/palette_model.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

// Letter runs of the same kind are drawn together, so that kerning stays within them.
void paintTitle(QPainter& painter, QRect area, const QString& title, const QVector<int>& matched, const Theme& theme,
                const QColor& color) {
  int at = 0;
  while (at < title.size() && area.width() > 8) {
    const bool strong = matched.contains(at);
    int end = at;
    while (end < title.size() && matched.contains(end) == strong) ++end;
    const QFont font = uiFont(13, strong ? QFont::DemiBold : QFont::Normal);
    const QFontMetrics metrics(font);
    const QString run = title.mid(at, end - at);
    painter.setFont(font);
    painter.setPen(strong ? theme.accentText : color);
    painter.drawText(area, Qt::AlignVCenter | Qt::AlignLeft, metrics.elidedText(run, Qt::ElideRight, area.width()));
    area.setLeft(area.left() + metrics.horizontalAdvance(run));
    at = end;
  }
}

// Paints a row of the command palette: icon, title with the matched letters strong, hint at the right.
class PaletteDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const Theme theme = themeOf(option.palette);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    if (option.state & QStyle::State_Selected) {
      painter->setPen(Qt::NoPen);
      painter->setBrush(theme.selection);
      painter->drawRoundedRect(QRectF(option.rect).adjusted(6, 1, -6, -1), 5, 5);
    }
    const bool enabled = index.data(PaletteModel::EnabledRole).toBool();
    const QColor color = enabled ? theme.text : theme.textFaint;
    QRect area = option.rect.adjusted(16, 0, -16, 0);
    paintIcon(*painter, QRectF(area.left(), area.center().y() - 6.5, 14, 14),
              index.data(PaletteModel::IconRole).toString(), enabled ? theme.textSoft : theme.textFaint);
    area.setLeft(area.left() + 24);
    const QString hint = index.data(PaletteModel::HintRole).toString();
    painter->setFont(uiFont(11));
    painter->setPen(theme.textFaint);
    painter->drawText(area, Qt::AlignVCenter | Qt::AlignRight, hint);
    area.setRight(area.right() - QFontMetrics(uiFont(11)).horizontalAdvance(hint) - 12);
    paintTitle(*painter, area, index.data().toString(), index.data(PaletteModel::PositionsRole).value<QVector<int>>(),
               theme, color);
    painter->restore();
  }
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override {
    return {200, grown(30)};
  }
};

constexpr int kWidth = 600, kRow = 30, kMostRows = 12, kTop = 52;

}  // namespace

CommandPalette::CommandPalette(QWidget* parent) : QFrame(parent), model_(new PaletteModel(this)) {
  describe(this, "commandPalette", {}, tr("Command palette"));
  setProperty("kind", "card");
  setAutoFillBackground(true);
  auto* shadow = new QGraphicsDropShadowEffect(this);
  shadow->setBlurRadius(28);
  shadow->setOffset(0, 6);
  shadow->setColor(QColor(0, 0, 0, 90));
  setGraphicsEffect(shadow);
  auto* layout = makeColumn(this, 8, {1, 10, 1, 8});
  field_ = describe(new QLineEdit(this), "paletteField",
                    tr("Type letters in order: \"fa\" finds Fold all. Enter runs it, Esc closes."),
                    tr("Command, LayerNorm or panel"));
  field_->setPlaceholderText(tr("Type a command, a LayerNorm or a panel"));
  auto* margin = makeRow(nullptr, 0, {12, 0, 12, 0});
  margin->addWidget(field_);
  layout->addLayout(margin);
  list_ = describe(new QListView(this), "paletteList", {}, tr("Matches"));
  list_->setModel(model_);
  list_->setItemDelegate(new PaletteDelegate(list_));
  list_->setFocusPolicy(Qt::NoFocus);
  list_->setUniformItemSizes(true);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  layout->addWidget(list_);
  nothing_ = makeLabel(tr("No matches."), "faint", this);
  nothing_->setAlignment(Qt::AlignCenter);
  setTextHeight(nothing_, kRow);
  layout->addWidget(nothing_);
  connect(field_, &QLineEdit::textChanged, this, &CommandPalette::narrow);
  connect(list_, &QListView::clicked, this, [this](const QModelIndex& index) { choose(index.row()); });
  field_->installEventFilter(this);
  parent->installEventFilter(this);
  hide();
}

void CommandPalette::open(std::vector<PaletteEntry> entries) {
  if (!isVisible()) focusBefore_ = QApplication::focusWidget();
  model_->setEntries(std::move(entries));
  field_->clear();
  narrow({});
  show();
  raise();
  field_->setFocus(Qt::ShortcutFocusReason);
}

void CommandPalette::close() {
  if (!isVisible()) return;
  const bool hadFocus = field_->hasFocus();
  hide();
  // Back to where the keyboard was, unless the user went elsewhere.
  if (hadFocus && focusBefore_ != nullptr && window()->findChildren<QWidget*>().contains(focusBefore_)) {
    focusBefore_->setFocus(Qt::OtherFocusReason);
  }
  focusBefore_ = nullptr;
}

void CommandPalette::narrow(const QString& pattern) {
  model_->setPattern(pattern);
  if (model_->rowCount() > 0) list_->setCurrentIndex(model_->index(0));
  list_->setVisible(model_->rowCount() > 0);
  nothing_->setVisible(model_->rowCount() == 0);
  place();
}

void CommandPalette::place() {
  const int rows = qBound(1, model_->rowCount(), kMostRows);
  list_->setFixedHeight(rows * grown(kRow) + 2);
  const int wide = qMin(grown(kWidth), parentWidget()->width() - 32);
  layout()->activate();
  setGeometry((parentWidget()->width() - wide) / 2, kTop, wide, layout()->sizeHint().height());
}

void CommandPalette::choose(int row) {
  const QModelIndex at = model_->index(row);
  if (!at.isValid() || !at.data(PaletteModel::EnabledRole).toBool()) return;
  close();
  model_->run(row);
}

bool CommandPalette::handleKey(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Escape:
      close();
      return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      choose(list_->currentIndex().row());
      return true;
    case Qt::Key_Down:
    case Qt::Key_Up:
    case Qt::Key_PageDown:
    case Qt::Key_PageUp:
      QApplication::sendEvent(list_, event);
      return true;
    default:
      return false;
  }
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget()) {
    if (event->type() == QEvent::Resize && isVisible()) place();
    return false;
  }
  // Escape is a shortcut of the window as well: while the palette is open it is the palette's.
  if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
    event->accept();
    return true;
  }
  if (event->type() == QEvent::KeyPress) return handleKey(static_cast<QKeyEvent*>(event));
  if (event->type() == QEvent::FocusOut && static_cast<QFocusEvent*>(event)->reason() != Qt::ActiveWindowFocusReason) {
    close();
  }
  return false;
}

}  // namespace normlens::ui

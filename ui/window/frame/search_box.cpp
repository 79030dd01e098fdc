#include "ui/window/frame/search_box.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QKeyEvent>
#include <QPainter>
#include <QTimer>
#include <utility>

#include "ui/theme/theme.h"
#include "ui/widgets/delegates/row_delegate.h"
#include "ui/widgets/follow_text.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

constexpr int kKeyRoom = 46, kIconRoom = 40;

}  // namespace

SearchBox::SearchBox(QWidget* parent)
    : QLineEdit(parent), model_(new SearchModel(this)), completer_(new QCompleter(this)) {
  describe(this, "search",
           tr("Type part of a name, op:, name:, shape:, dtype: or attr: with a word, or /a regular expression/. Enter "
              "goes to the match, F3 to the next."),
           tr("Search norms, modules, nodes and commands"));
  setTextMargins(0, 0, kKeyRoom, 0);
  addLeadingIcon(this, "search");
  setAcceptDrops(false);  // a file dropped here is opened by the window
  followText(this, [this] {
    setMinimumWidth(grown(180));
    setMaximumWidth(grown(360));
  });
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  completer_->setModel(model_);
  completer_->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
  completer_->setMaxVisibleItems(12);
  completer_->setWidget(this);  // not setCompleter(): the model does the matching, in its own time
  describe(completer_->popup(), "searchResults", {}, tr("Search results"));
  completer_->popup()->setItemDelegate(new RowDelegate(
      [](const QModelIndex& index) {
        return RowLook{index.data(SearchModel::IconRole).toString(), index.data().toString(),
                       index.data(SearchModel::HintRole).toString()};
      },
      28, this));
  connect(this, &QLineEdit::textEdited, this, &SearchBox::search);
  connect(model_, &SearchModel::finished, this, &SearchBox::showFound);
  connect(this, &QLineEdit::returnPressed, this, [this] {
    const QModelIndexList picked = completer_->popup()->selectionModel()->selectedIndexes();
    if (model_->hitCount() > 0)
      choose(completer_->popup()->isVisible() && !picked.isEmpty() ? picked.first().row() : 0);
  });
  connect(completer_, qOverload<const QModelIndex&>(&QCompleter::activated), this, [this](const QModelIndex& index) {
    choose(index.row());  // The completer's own model holds every row of ours.
  });
}

// Shows the long placeholder where there is room for it.
void SearchBox::resizeEvent(QResizeEvent* event) {
  QLineEdit::resizeEvent(event);
  const int room = width() - kIconRoom - kKeyRoom;
  const QString all = tr("Search norms, modules, commands");
  setPlaceholderText(fontMetrics().horizontalAdvance(all) <= room ? all : tr("Search"));
}

void SearchBox::begin() {
  setFocus(Qt::ShortcutFocusReason);
  selectAll();
}

void SearchBox::search(const QString& text) {
  current_ = -1;
  model_->setQuery(text);
}

void SearchBox::showFound() {
  current_ = std::min(current_, model_->hitCount() - 1);
  update();
  if (!hasFocus() || text().isEmpty()) return;
  if (model_->rowCount() == 0) {
    completer_->popup()->hide();
  } else if (current_ < 0) {
    completer_->complete();
  }
}

void SearchBox::choose(int number) {
  if (std::exchange(choosing_, true)) return;  // Enter in the list is reported by the box and by the list
  const SearchModel::Entry entry = model_->hit(number);
  completer_->popup()->hide();
  current_ = number;
  if (entry.target == SearchModel::Target::Command) {
    clear();
    search({});
  }
  clearFocus();
  update();
  // After the popup is gone: a command may open another.
  QTimer::singleShot(0, this, [this, entry] {
    choosing_ = false;
    Q_EMIT chosen(entry.target, entry.id);
  });
}

void SearchBox::step(int by) {
  const int count = model_->hitCount();
  if (count == 0) {
    begin();
    return;
  }
  choose(current_ < 0 ? (by > 0 ? 0 : count - 1) : (current_ + by + count) % count);
}

// Escape is a shortcut of the window as well: in the field it is the field's.
bool SearchBox::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
    event->accept();
    return true;
  }
  return QLineEdit::event(event);
}

void SearchBox::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    if (completer_->popup()->isVisible()) {
      completer_->popup()->hide();
      return;
    }
    clear();
    search({});
    clearFocus();
    return;
  }
  if (event->key() == Qt::Key_Down && model_->rowCount() > 0) {
    completer_->complete();
    return;
  }
  QLineEdit::keyPressEvent(event);
}

QString SearchBox::countText() const {
  if (text().isEmpty()) return tr("Ctrl F");
  if (!model_->error().isEmpty()) return QStringLiteral("/ ?");
  if (model_->searching()) return QStringLiteral("…");
  const int count = model_->hitCount();
  return current_ < 0 ? QString::number(count) : tr("%1 of %2").arg(current_ + 1).arg(count);
}

void SearchBox::paintEvent(QPaintEvent* event) {
  QLineEdit::paintEvent(event);
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(uiFont(11));
  const QString note = countText();
  const double width = std::max(40.0, painter.fontMetrics().horizontalAdvance(note) + 12.0);
  const double high = grown(18);
  const QRectF key(this->width() - width - 6, (height() - high) / 2, width, high);
  painter.setPen(theme.hairline);
  painter.setBrush(theme.chrome);
  painter.drawRoundedRect(key.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
  painter.setPen(text().isEmpty() || model_->hitCount() > 0 || model_->searching() ? theme.textSoft : theme.blocked);
  painter.drawText(key, Qt::AlignCenter, note);
}

}  // namespace normlens::ui

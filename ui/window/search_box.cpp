#include "ui/window/search_box.h"

#include <QAbstractItemView>
#include <QAbstractProxyModel>
#include <QCompleter>
#include <QPainter>
#include <QTimer>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/widgets/row_delegate.h"

namespace normlens::ui {

SearchBox::SearchBox(QWidget* parent)
    : QLineEdit(parent), model_(new SearchModel(this)), completer_(new QCompleter(this)) {
  setObjectName(QStringLiteral("search"));
  setPlaceholderText(tr("Search norms, modules, commands"));
  setAccessibleName(tr("Search norms, modules, operators and commands"));
  setToolTip(tr("Type any part of a name; Enter goes there. Ctrl+F or Ctrl+K brings you here."));
  setTextMargins(18, 0, 40, 0);
  setAcceptDrops(false);  // a file dropped here is opened by the window
  setMinimumWidth(180);
  setMaximumWidth(360);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  completer_->setModel(model_);
  completer_->setFilterMode(Qt::MatchContains);
  completer_->setCaseSensitivity(Qt::CaseInsensitive);
  completer_->setMaxVisibleItems(12);
  setCompleter(completer_);
  completer_->popup()->setItemDelegate(new RowDelegate(
      [](const QModelIndex& index) {
        return RowLook{index.data(SearchModel::IconRole).toString(), index.data().toString(),
                       index.data(SearchModel::HintRole).toString()};
      },
      28, this));
  connect(completer_, qOverload<const QModelIndex&>(&QCompleter::activated), this, [this](const QModelIndex& index) {
    const auto target = static_cast<SearchModel::Target>(index.data(SearchModel::TargetRole).toInt());
    const int id = index.data(SearchModel::IdRole).toInt();
    // After the completer has put the text in.
    QTimer::singleShot(0, this, [this, target, id] {
      clear();
      clearFocus();
      Q_EMIT chosen(target, id);
    });
  });
}

void SearchBox::setEntries(std::vector<SearchModel::Entry> entries) { model_->setEntries(std::move(entries)); }

void SearchBox::begin() {
  setFocus(Qt::ShortcutFocusReason);
  selectAll();
}

void SearchBox::paintEvent(QPaintEvent* event) {
  QLineEdit::paintEvent(event);
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  paintIcon(painter, QRectF(9, (height() - 14) / 2.0, 14, 14), QStringLiteral("search"), theme.textSoft);
  if (!text().isEmpty()) return;
  const QRectF key(width() - 46, (height() - 18) / 2.0, 40, 18);
  painter.setPen(theme.hairline);
  painter.setBrush(theme.chrome);
  painter.drawRoundedRect(key.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
  painter.setPen(theme.textSoft);
  painter.setFont(uiFont(11));
  painter.drawText(key, Qt::AlignCenter, tr("Ctrl K"));
}

}  // namespace normlens::ui

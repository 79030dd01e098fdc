#include "ui/widgets/delegates/inputs_delegate.h"

#include <QComboBox>
#include <QLineEdit>
#include <QPainter>

#include "ui/models/inputs_model.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

void InputsDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const Theme theme = themeOf(option.palette);
  painter->save();
  if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme.selection);
  const bool wrong = !index.data(InputsModel::ErrorRole).toString().isEmpty();
  const bool note = index.column() == InputsModel::Note;
  const QFont font = note ? uiFont(12) : monoFont(12);
  const QRect area = option.rect.adjusted(index.column() == InputsModel::Name ? 16 : 8, 0, -8, 0);
  painter->setFont(font);
  painter->setPen(wrong ? theme.blocked : note ? theme.textFaint : theme.text);
  painter->drawText(area, Qt::AlignVCenter | Qt::AlignLeft,
                    QFontMetrics(font).elidedText(index.data().toString(), Qt::ElideRight, area.width()));
  painter->setPen(theme.hairline);
  painter->drawLine(option.rect.bottomLeft(), option.rect.bottomRight());
  if (wrong) painter->fillRect(QRect(area.left(), option.rect.bottom() - 3, area.width(), 2), theme.blocked);
  painter->restore();
}

QWidget* InputsDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem& option,
                                      const QModelIndex& index) const {
  const QString name = index.model()->headerData(index.column(), Qt::Horizontal).toString();
  if (index.column() == InputsModel::Type) {
    auto* box = new QComboBox(parent);
    box->addItems(InputsModel::types());
    box->setAccessibleName(name);
    return box;
  }
  QWidget* editor = QStyledItemDelegate::createEditor(parent, option, index);
  editor->setAccessibleName(name);
  // The cell has no room for the frame and padding of a field outside a table.
  editor->setStyleSheet(QStringLiteral("QLineEdit { border-radius: 0; min-height: 0; padding: 0 7px; }"));
  return editor;
}

void InputsDelegate::setEditorData(QWidget* editor, const QModelIndex& index) const {
  if (auto* box = qobject_cast<QComboBox*>(editor)) {
    box->setCurrentText(index.data(Qt::EditRole).toString());
  } else {
    QStyledItemDelegate::setEditorData(editor, index);
  }
}

void InputsDelegate::setModelData(QWidget* editor, QAbstractItemModel* model, const QModelIndex& index) const {
  if (auto* box = qobject_cast<QComboBox*>(editor)) {
    model->setData(index, box->currentText(), Qt::EditRole);
  } else {
    QStyledItemDelegate::setModelData(editor, model, index);
  }
}

}  // namespace normlens::ui

// Paints list rows of an icon, a title and a quiet text at the right: modules and search results.
#pragma once

#include <QStyledItemDelegate>
#include <functional>

namespace normlens::ui {

struct RowLook {
  QString icon;  // may be empty
  QString title;
  QString hint;  // at the right
};

class RowDelegate final : public QStyledItemDelegate {
  Q_OBJECT

 public:
  using LookOf = std::function<RowLook(const QModelIndex&)>;
  RowDelegate(LookOf lookOf, int rowHeight, QObject* parent);

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  LookOf lookOf_;
  int rowHeight_;
};

}  // namespace normlens::ui

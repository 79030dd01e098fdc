// Filters the norm list by words in name or reason; groups stay, their CountRole becomes what is left.
#pragma once

#include <QSortFilterProxyModel>

namespace normlens::ui {

class NormFilter final : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit NormFilter(QObject* parent = nullptr) : QSortFilterProxyModel(parent) {}

  void setWords(const QString& words);  // all of them must occur; case does not matter
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  QStringList words_;
};

}  // namespace normlens::ui

// Finds norms, modules, operators and commands by any part of their name.
#pragma once

#include <QLineEdit>

#include "ui/models/search_model.h"

class QCompleter;

namespace normlens::ui {

class SearchBox final : public QLineEdit {
  Q_OBJECT

 public:
  explicit SearchBox(QWidget* parent = nullptr);

  void setEntries(std::vector<SearchModel::Entry> entries);
  void begin();  // focus, everything selected

 Q_SIGNALS:
  void chosen(normlens::ui::SearchModel::Target target, int id);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  SearchModel* model_;
  QCompleter* completer_;
};

}  // namespace normlens::ui

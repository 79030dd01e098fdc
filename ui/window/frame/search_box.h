// Finds norms, modules, operators and commands; see search_query.h for what can be typed. F3 steps through what was
// found last.
#pragma once

#include <QLineEdit>

#include "ui/models/search/search_model.h"

class QCompleter;

namespace normlens::ui {

class SearchBox final : public QLineEdit {
  Q_OBJECT

 public:
  explicit SearchBox(QWidget* parent = nullptr);

  [[nodiscard]] SearchModel* model() const { return model_; }  // Lists the things that can be found.
  void begin();                                                // focus, everything selected
  void step(int by);                                           // to the next (1) or previous (-1) of what was found

 Q_SIGNALS:
  void chosen(normlens::ui::SearchModel::Target target, int id);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void search(const QString& text);
  void showFound();
  void choose(int number);
  [[nodiscard]] QString countText() const;

  SearchModel* model_;
  QCompleter* completer_;
  bool choosing_ = false;  // chosen() is on its way
  int current_ = -1;       // number of the hit that was gone to last
};

}  // namespace normlens::ui

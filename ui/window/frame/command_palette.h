// Ctrl+K: everything that can be done or gone to, by a few letters of its name. Lies over the window, not modal; Esc or
// a click elsewhere closes it.
#pragma once

#include <QFrame>
#include <vector>

#include "ui/models/search/palette_model.h"

class QLabel;
class QLineEdit;
class QListView;

namespace normlens::ui {

class CommandPalette final : public QFrame {
  Q_OBJECT

 public:
  explicit CommandPalette(QWidget* parent);

  void open(std::vector<PaletteEntry> entries);
  void close();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  bool handleKey(QKeyEvent* event);
  void place();
  void choose(int row);
  void narrow(const QString& pattern);

  PaletteModel* model_;
  QLineEdit* field_;
  QListView* list_;
  QLabel* nothing_;
  QWidget* focusBefore_ = nullptr;  // Not owned; only compared with what is alive.
};

}  // namespace normlens::ui

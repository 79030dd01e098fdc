// The bar at the top: what can be done, search, the device.
#pragma once

#include <QFrame>

class QAction;
class QMenu;

namespace normlens::ui {

class Actions;
class IconButton;
class SearchBox;

class ToolBar final : public QFrame {
  Q_OBJECT

 public:
  ToolBar(Actions* actions, QWidget* parent);  // actions: not owned

  void setDevice(const QString& device);
  [[nodiscard]] SearchBox* search() const { return search_; }

 private:
  IconButton* addButton(const QString& icon, QAction* action, bool withText);
  void addMainMenu(Actions* actions);
  void addMenuArrow(QMenu* menu, const QString& tip);

  SearchBox* search_;
  IconButton* device_;
};

}  // namespace normlens::ui

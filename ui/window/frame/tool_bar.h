// The bar at the top: what can be done, search, the device.
#pragma once

#include <QFrame>

class QAction;
class QMenu;

namespace normlens::ui {

class Actions;
class IconButton;
class SearchBox;
struct Devices;

class ToolBar final : public QFrame {
  Q_OBJECT

 public:
  ToolBar(Actions* actions, QWidget* parent);  // actions: not owned

  void setDevices(const Devices& devices, const QString& chosen);  // chosen: "cpu" or "cuda"
  void setGpuTip(const QString& tip);                              // Shown over the GPU's name.
  [[nodiscard]] SearchBox* search() const { return search_; }

 Q_SIGNALS:
  void deviceChosen(const QString& device);  // "cpu", "cuda": where measurements start out
  void devicesOpened();                      // the menu of devices is about to be shown

 private:
  void addDeviceMenu(QAction* restart);
  IconButton* addButton(const QString& icon, QAction* action, bool withText);
  void addMainMenu(Actions* actions);
  void addMenuArrow(QMenu* menu, const QString& tip);

  SearchBox* search_;
  IconButton* device_;
  QAction *where_, *cpu_, *gpu_, *noGpu_;
};

}  // namespace normlens::ui

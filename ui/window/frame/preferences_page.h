// The preferences as a page of the window: what is chosen holds at once.
#pragma once

#include <QWidget>
#include <vector>

#include "ui/client/devices.h"
#include "ui/window/frame/preferences.h"

class QAction;
class QHBoxLayout;
class QLabel;
class QSpinBox;
class QVBoxLayout;

namespace normlens::ui {

class ConnectionForm;
class Segmented;

class PreferencesPage final : public QWidget {
  Q_OBJECT

 public:
  explicit PreferencesPage(QWidget* parent);

  void setPreferences(const Preferences& preferences);  // no signal
  void setDevices(const Devices& devices);              // a choice of what there is
  // A row for the graph's direction, which is the graph's own switch and follows it. Not owned.
  void addDirection(QAction* leftToRight);
  [[nodiscard]] const Preferences& preferences() const { return chosen_; }

 Q_SIGNALS:
  void changed();  // by the user; all but the engine's command, which has a button that applies it
  void engineCommandChanged(const QString& command);
  void closed();

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QVBoxLayout* addSection(const QString& title, const QString& meaning);
  static void addRow(QVBoxLayout* section, const QString& name, QWidget* control, const QString& tip);
  QHBoxLayout* addIndented(QVBoxLayout* section);
  void addAppearance();
  void addNumbers();
  void addEngine();
  // least: what is shown for the smallest number; empty: the number.
  void addNumber(QVBoxLayout* section, int Preferences::*field, const char* name, const QString& title,
                 const QString& tip, const QString& suffix, const QString& least = {});

  Preferences chosen_;
  Devices devices_;
  QVBoxLayout* column_;
  QVBoxLayout* appearance_ = nullptr;
  Segmented* scheme_;
  std::vector<std::pair<QSpinBox*, int Preferences::*>> numbers_;
  Segmented* device_;
  QLabel* deviceNote_;
  ConnectionForm* connection_;
};

}  // namespace normlens::ui

// The settings of a run as a form: the fields that belong to the experiment and to its data, and the networks that are
// trained. What is written is read at once; a field that cannot be read is marked. Thread: GUI thread.
#pragma once

#include <QWidget>
#include <map>
#include <vector>

#include "core/protocol/run_settings.h"
#include "ui/client/devices.h"

class QCheckBox;
class QFormLayout;
class QLabel;
class QLineEdit;

namespace normlens::ui {

class Segmented;
struct Segment;
struct LabField;

class SettingsForm final : public QWidget {
  Q_OBJECT

 public:
  explicit SettingsForm(QWidget* parent);

  [[nodiscard]] const lab::RunSettings& settings() const { return settings_; }
  void setSettings(const lab::RunSettings& settings);
  void setDevices(const Devices& devices);  // Offers those that can be chosen.
  // Returns why it could not be run, in one sentence; empty: it could.
  [[nodiscard]] QString problem() const;

 Q_SIGNALS:
  void changed();  // by the user

 private:
  struct Control {
    const LabField* field;
    QLabel* name;
    QWidget* row;  // all that is beside the name
    QLineEdit* edit = nullptr;
    Segmented* choices = nullptr;
    QStringList keys = {};  // The choices' keys.
    bool unread = false;    // its text
  };

  Control makeControl(const LabField& field);
  void makeChoices(Control& control);
  [[nodiscard]] QVector<Segment> segmentsOf(const LabField& field) const;
  void makeNetworks(QWidget* parent);
  void take(size_t control, const QString& words);
  void takeNetworks();
  void refresh(size_t but);  // all, but for the text of that control; kAll
  void askForFile(size_t control);

  lab::RunSettings settings_;
  Devices devices_;
  std::vector<Control> controls_;
  std::map<lab::NormUse, QCheckBox*> networks_;
  QLabel* others_ = nullptr;
};

}  // namespace normlens::ui

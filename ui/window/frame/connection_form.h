// Chooses the engine: this machine's, a saved connection, or a command that is typed. A command can be tested before it
// is saved or used.
#pragma once

#include <QWidget>
#include <vector>

#include "ui/client/engine_trial.h"
#include "ui/window/frame/preferences.h"

class QComboBox;
class QHBoxLayout;
class QLabel;
class QLineEdit;
class QPushButton;

namespace normlens::ui {

class ConnectionForm final : public QWidget {
  Q_OBJECT

 public:
  ConnectionForm(int nameWidth, QWidget* parent);  // nameWidth: of the words before a field

  // command: that of the engine in use. No signal.
  void setConnections(const std::vector<Connection>& connections, const QString& command);

 Q_SIGNALS:
  void applied(const QString& command);  // the engine of this command is to be used; empty: this machine's
  void saved(const std::vector<normlens::ui::Connection>& connections);  // all of them

 private:
  QHBoxLayout* addRow(const QString& title, QWidget* field, const QString& tip);
  void addButtons();
  void listConnections();
  void choose(int index);
  void edited();
  void showState();
  void apply();
  void save();
  void remove();
  void test();
  [[nodiscard]] Connection typed() const;
  [[nodiscard]] std::vector<Connection>::const_iterator savedAs(const QString& name) const;

  int nameWidth_;
  std::vector<Connection> connections_;
  QString used_;       // the command of the engine in use
  QComboBox* choice_;  // this machine, then connections_
  QLineEdit *name_, *command_;
  QPushButton *apply_, *test_, *save_, *remove_;
  QLabel* note_;
  EngineTrial trial_;
};

}  // namespace normlens::ui

// The inspector's page of the model itself, shown when nothing is selected.
#pragma once

#include <QWidget>

class QComboBox;
class QLabel;

namespace normlens::ui {

class ElidedLabel;
class PropertyList;
class Session;

class ModelPage final : public QWidget {
  Q_OBJECT

 public:
  ModelPage(Session* session, QWidget* parent);  // session: not owned

  void showModel();

 Q_SIGNALS:
  void modelWanted(const QString& path, const QString& name);  // of a file that holds several

 private:
  void showModels();
  void showNote();

  Session* session_;  // Not owned.
  ElidedLabel* title_;
  QLabel* subtitle_;
  QComboBox* models_;  // of the file; hidden where there is but one
  QLabel* note_;
  PropertyList* facts_;
  QLabel* inputsTitle_;
  PropertyList* inputs_;
  QLabel* assumed_;
  QLabel* papersTitle_;
  PropertyList* papers_;
};

}  // namespace normlens::ui

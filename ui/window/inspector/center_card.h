// 'Center here' before it is done: shows what it would free, or why it is not allowed, and the button that does it.
#pragma once

#include <QFrame>

#include "ui/client/question.h"

class QLabel;
class QPushButton;

namespace normlens::ui {

class Session;

class CenterCard final : public QFrame {
  Q_OBJECT

 public:
  // suffix: of the object names, as there is one card per page. session: not owned.
  CenterCard(Session* session, const QString& suffix, QWidget* parent);

  void ask(int value);
  void dismiss();

 private:
  void showAnswer(const QString& title, const QString& sentence, bool allowed, bool remove);

  Session* session_;  // Not owned.
  Question question_;
  int value_ = -1;
  bool remove_ = false;
  QLabel* title_;
  QLabel* sentence_;
  QPushButton* add_;
};

}  // namespace normlens::ui

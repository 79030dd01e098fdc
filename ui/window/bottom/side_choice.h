// One of the two models of a measurement: the open one, its fold, its fold in another norm flavour, its fused form, or
// a file, chosen in a dialog. Names of sides: see protocol::BenchParams.
#pragma once

#include <QComboBox>
#include <string>

namespace normlens::ui {

class Session;

class SideChoice final : public QComboBox {
  Q_OBJECT

 public:
  enum class Which { A, B };  // B may be none

  SideChoice(Session* session, Which which, QWidget* parent);  // session: not owned
  [[nodiscard]] const std::string& side() const { return side_; }
  void setSide(const std::string& side);

 Q_SIGNALS:
  void chosen();  // by the user

 private:
  void choose(const std::string& side);

  Session* session_;  // Not owned.
  std::string side_;
};

}  // namespace normlens::ui

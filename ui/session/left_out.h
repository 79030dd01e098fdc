// Keeps what was lost with the edit that the user left out last, and whether a run-time centering in its place would
// pay: requested with the new plan, where the user was faster than the preview. Thread: GUI thread.
#pragma once

#include <QObject>
#include <optional>

#include "ui/client/question.h"
#include "ui/session/plan_preview.h"

namespace normlens::ui {

class Session;

class LeftOut final : public QObject {
  Q_OBJECT

 public:
  explicit LeftOut(Session* session);  // its owner

  // nullopt: nothing was left out, or the plan has changed since.
  [[nodiscard]] const std::optional<Fall>& fall() const { return fall_; }

 Q_SIGNALS:
  void changed();

 private:
  void planned();

  struct Leaving {
    protocol::EditInfo edit;
    protocol::PlanInfo before;
    protocol::PlanParams without;
    std::optional<Fall> known;  // by the preview
  };
  Session* session_;
  std::optional<Leaving> leaving_;  // until the plan without it is there
  std::optional<Fall> fall_;
  protocol::PlanParams fellIn_;
  Question question_;
};

}  // namespace normlens::ui

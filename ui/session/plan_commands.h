// Changes of the plan's parameters as undo commands.
#pragma once

#include <QUndoCommand>

#include "core/protocol/messages.h"

namespace normlens::ui {

class Session;

class ChangePlan final : public QUndoCommand {
 public:
  ChangePlan(Session* session, protocol::PlanParams before, protocol::PlanParams after, const QString& text);
  void undo() override;
  void redo() override;

 private:
  Session* session_;  // not owned; owns the stack that owns this
  protocol::PlanParams before_, after_;
};

}  // namespace normlens::ui

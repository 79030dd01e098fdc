#include "ui/session/plan_commands.h"

#include "ui/session/session.h"

namespace normlens::ui {

ChangePlan::ChangePlan(Session* session, protocol::PlanParams before, protocol::PlanParams after, const QString& text)
    : QUndoCommand(text), session_(session), before_(std::move(before)), after_(std::move(after)) {}

void ChangePlan::undo() { session_->replacePlanParams(before_); }
void ChangePlan::redo() { session_->replacePlanParams(after_); }

}  // namespace normlens::ui

// Holds what the user wants: the plan's parameters, and whether the plan is applied (folded). Each change is a named
// step of the undo stack; a change of the parameters is a plan that is not folded yet. Thread: GUI thread.
#pragma once

#include <QObject>
#include <QUndoStack>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::ui {

class Session;

class PlanChoices final : public QObject {
  Q_OBJECT

 public:
  explicit PlanChoices(Session* session);  // its owner, for the names of things

  [[nodiscard]] const protocol::PlanParams& params() const { return wanted_.params; }
  [[nodiscard]] bool folded() const { return wanted_.folded; }
  [[nodiscard]] QUndoStack* undoStack() { return &undo_; }

  void setPolicy(Policy policy);
  void centerValue(int value, bool centered);
  void keepNorm(int norm, bool keep) { keepNorms({norm}, keep); }
  void keepNorms(const std::vector<int>& norms, bool keep);   // one step
  void setEditOn(const protocol::EditInfo& edit, bool on);    // see plan_rows.h
  void takeWay(const protocol::PlanWay& way);                 // where a copy and a centering compete
  void center(int value, const protocol::EditInfo& instead);  // at run time, with that edit left out
  void foldAll();                                             // Policy::All, no norm kept
  void suggestBest();  // the planner's choice with prices measured where the model runs; nothing kept, nothing added
  void reset();        // as after the analysis

  // ---- for the session
  void setFolded(int norms);                                // it was folded: a step that can be taken back
  void startOver(const protocol::PlanParams& params = {});  // nothing to undo; emits nothing

 Q_SIGNALS:
  void leavingOut(const protocol::EditInfo& edit);  // by the user, before changed()
  void changed();

 private:
  struct Wanted {
    protocol::PlanParams params;
    bool folded = false;
  };
  class Change;
  void push(const protocol::PlanParams& params, const QString& text) { push(Wanted{params, false}, text); }
  void push(Wanted wanted, const QString& text);
  [[nodiscard]] QString nameOf(int value) const;

  Session* session_;
  Wanted wanted_;
  QUndoStack undo_;
};

}  // namespace normlens::ui

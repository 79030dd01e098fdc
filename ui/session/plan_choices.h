// What the user wants of the plan: its parameters, each change of them a named step of the undo stack.
// Thread: GUI thread.
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

  [[nodiscard]] const protocol::PlanParams& params() const { return params_; }
  [[nodiscard]] QUndoStack* undoStack() { return &undo_; }

  void setPolicy(const QString& policy);
  void centerValue(int value, bool centered);
  void keepNorm(int norm, bool keep) { keepNorms({norm}, keep); }
  void keepNorms(const std::vector<int>& norms, bool keep);  // one step
  void setEditOn(const protocol::EditInfo& edit, bool on);   // see plan_rows.h
  void foldAll();                                            // policy 'all', no norm kept
  void suggestBest();  // the planner's choice with prices measured where the model runs; nothing kept, nothing added
  void reset();        // as after the analysis

  // ---- for the session
  void startOver(const protocol::PlanParams& params = {});  // nothing to undo; tells nothing

 Q_SIGNALS:
  void changed();

 private:
  class Change;
  void push(const protocol::PlanParams& params, const QString& text);

  Session* session_;
  protocol::PlanParams params_;
  QUndoStack undo_;
};

}  // namespace normlens::ui

// Holds what the user wants: the plan's parameters, and whether the plan is applied (folded). Each change is a named
// step of the undo stack; a change of the parameters is a plan that is not folded yet. Thread: GUI thread.
#pragma once

#include <QObject>
#include <QUndoStack>
#include <optional>
#include <vector>

#include "core/protocol/messages.h"
#include "ui/client/question.h"
#include "ui/words/plan_rows.h"

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
  void keepNorms(const std::vector<int>& norms, bool keep);  // one step
  // Adds what folds this norm whatever it costs: what the engine's plan for it alone centers and copies.
  void foldNorm(int norm);
  // Returns why the choice between folding and keeping it is not there, as a sentence; empty: it is.
  [[nodiscard]] QString foldObstacle(int norm) const;
  void setEditOn(const protocol::EditInfo& edit, bool on);    // see plan_rows.h
  void takeWay(const protocol::PlanWay& way);                 // where a copy and a centering compete
  void center(int value, const protocol::EditInfo& instead);  // at run time, with that edit left out
  void foldAll();                                             // Policy::All, no norm kept
  void suggestBest();  // the planner's choice with prices measured where the model runs; nothing kept, nothing added
  void reset();        // as after the analysis
  void use(const protocol::PlanParams& params, const QString& name);

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
  void addForNorm(int norm, const protocol::PlanInfo& alone);
  [[nodiscard]] bool isByPaper() const { return wanted_.params.policy == Policy::Paper; }  // obeys nobody else
  [[nodiscard]] QString byPaper() const;  // why nothing is changed, with the way out
  [[nodiscard]] QString nameOf(int value) const;
  [[nodiscard]] QString nameOfNorm(int norm) const;

  Session* session_;
  Question alone_;  // the plan for one norm
  Wanted wanted_;
  QUndoStack undo_;
};

// Holds the plan that is shown, and the one that would be if no norm were kept, which has the edits that can be turned
// on again. Each with the parameters that it was made by. Thread: GUI thread.
class ShownPlan final {
 public:
  [[nodiscard]] const std::optional<protocol::PlanInfo>& plan() const { return plan_; }
  [[nodiscard]] bool isFor(const protocol::PlanParams& params) const { return plan_ && samePlan(madeBy_, params); }
  [[nodiscard]] bool hasOfferFor(const protocol::PlanParams& params) const {
    return offered_ && samePlan(offeredBy_, nothingKept(params));
  }
  [[nodiscard]] std::vector<PlanRow> rows() const {
    return plan_ ? planRows(offered_ ? *offered_ : *plan_, *plan_) : std::vector<PlanRow>();
  }

  void take(const protocol::PlanInfo& plan, const protocol::PlanParams& params) {
    plan_ = plan;
    madeBy_ = params;
    if (samePlan(params, nothingKept(params))) takeOffer(plan, params);
  }
  void takeFolded(const protocol::PlanInfo& plan) { plan_ = plan; }  // the same plan, as the fold carried it out
  void takeOffer(const protocol::PlanInfo& offered, const protocol::PlanParams& params) {
    offered_ = offered;
    offeredBy_ = params;
  }
  void dropPlan() { plan_.reset(); }  // its parameters changed: what was offered may stay
  void dropOffer() { offered_.reset(); }
  void clear() { *this = {}; }

 private:
  std::optional<protocol::PlanInfo> plan_, offered_;
  protocol::PlanParams madeBy_, offeredBy_;
};

}  // namespace normlens::ui

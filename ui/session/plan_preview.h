// An edit before it is left out: which norms would stay LayerNorms then, which other edits would be lost with it, and
// whether a run-time centering in its place would pay. Requested beside the session's jobs; nothing
// changes. Thread: GUI thread.
#pragma once

#include <QObject>
#include <QTimer>
#include <functional>
#include <optional>

#include "core/protocol/messages.h"
#include "ui/client/question.h"

namespace normlens::ui {

class Session;

struct Fall {
  protocol::EditInfo edit;                // that is left out
  std::vector<protocol::EditInfo> edits;  // the others that are lost with it
  std::vector<int> norms;                 // that would stay, in order
  int replacing = 0;                      // run-time centerings that take its place
  int centering = -1;                     // a value whose run-time centering would keep some of them folded
  int centered = 0;                       // how many

  [[nodiscard]] bool holds(const protocol::EditInfo& lost) const;
};
// Compares a plan with one without the edit.
[[nodiscard]] Fall fallBetween(const protocol::PlanInfo& before, const protocol::PlanInfo& after,
                               const protocol::EditInfo& edit);
// "Without h.0.proj.weight, 9 LayerNorms would stay" and "33 edits fall with it."
[[nodiscard]] QString fallTitle(const Fall& fall, const Session& session);
// Requests whether a run-time centering behind the op that reads the weight would keep some of the norms folded in the
// plan `without` the edit. done() only where it would.
void askForCentering(Session& session, Question& question, protocol::PlanParams without, const Fall& fall,
                     const std::function<void(const Fall&)>& done);
[[nodiscard]] QString fallDetail(const Fall& fall);  // Describes what would be.
[[nodiscard]] QString fallen(const Fall& fall);      // Describes what was: what became of the norms.

class PlanPreview final : public QObject {
  Q_OBJECT

 public:
  explicit PlanPreview(Session* session);  // its owner

  // Takes the edit that is pointed at, or has the focus; requests its fall 150 ms later and then emits changed().
  void consider(const protocol::EditInfo& edit);
  void forget();
  [[nodiscard]] const std::optional<Fall>& fall() const { return fall_; }
  // Returns the whole fall of this edit; nullopt: another was considered, or the engine has not answered.
  [[nodiscard]] std::optional<Fall> known(const protocol::EditInfo& edit) const;

 Q_SIGNALS:
  void changed();

 private:
  void ask();

  Session* session_;
  std::optional<protocol::EditInfo> edit_;
  std::optional<Fall> fall_;
  QTimer wait_;
  Question question_;
};

// Keeps what was lost with the edit that the user left out last, and whether a run-time centering in its place would
// pay: requested with the new plan, where the user was faster than the preview.
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

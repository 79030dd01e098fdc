#include "ui/session/left_out.h"

#include <utility>

#include "ui/session/session.h"

namespace normlens::ui {

LeftOut::LeftOut(Session* session) : QObject(session), session_(session), question_(session->engine(), this) {
  connect(session_->choices(), &PlanChoices::leavingOut, this, [this](const protocol::EditInfo& edit) {
    if (!session_->plan()) return;
    leaving_ = {edit, *session_->plan(), toggled(session_->choices()->params(), edit, false),
                session_->preview()->known(edit)};
  });
  connect(session_, &Session::planChanged, this, &LeftOut::planned);
}

void LeftOut::planned() {
  if (!session_->plan()) return;
  const protocol::PlanParams& params = session_->choices()->params();
  if (!leaving_ && fall_ && samePlan(fellIn_, params)) return;  // the same plan, emitted again
  question_.drop();
  const bool told = std::exchange(fall_, std::nullopt).has_value();
  const auto left = std::exchange(leaving_, std::nullopt);
  if (left && samePlan(left->without, params)) {  // else it was taken back meanwhile
    fall_ = left->known ? *left->known : fallBetween(left->before, *session_->plan(), left->edit);
    fellIn_ = params;
    if (!left->known) {
      askForCentering(*session_, question_, params, *fall_, [this](const Fall& known) {
        fall_ = known;
        Q_EMIT changed();
      });
    }
  }
  if (told || fall_) Q_EMIT changed();
}

}  // namespace normlens::ui

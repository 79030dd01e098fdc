// The planner's minimum cut as far as run-time centerings decide, as protocol structs. Thread: as PlanMaker.
#pragma once

#include "core/base/task.h"
#include "core/protocol/lesson_messages.h"
#include "core/service/plans/plan_maker.h"

namespace normlens::service {

// Errors: those of PlanMaker::options(); Usage (a factor that is no price, a policy without prices); Cancelled.
[[nodiscard]] Result<protocol::CenteringCut> centeringCut(PlanMaker& plans, const analysis::Analysis& analysis,
                                                          const protocol::CenteringCutParams& params, const Task& task);

}  // namespace normlens::service

// Service: the last fold's edits for a checkpoint.
#include "core/service/plans/checkpoint_export.h"
#include "core/service/service_state.h"

namespace normlens::service {

Result<CheckpointExport> Service::checkpointExport(const CheckpointFolder& folder) const {
  if (auto status = state_->needAnalysis(); !status) return tl::unexpected(status.error());
  if (!state_->folded) return fail(ErrorCode::Usage, "nothing has been folded yet", "fold first");
  const auto plan = toFoldPlan(state_->plan);
  return CheckpointExport::prepare(folder, {*state_->model, state_->layerNorms(), plan, state_->toldFold});
}

}  // namespace normlens::service

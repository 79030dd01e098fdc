// Service: a fold whose residual streams lose a channel.
#include "core/service/service_state.h"

namespace normlens::service {

Result<Narrowing> Service::narrowStreams(const protocol::PlanParams& params, const NarrowOptions& options,
                                         const Task& task) {
  if (auto status = state_->needInputs(); !status) return tl::unexpected(status.error());
  // Betas move into biases whatever takes the norms' place: a narrow norm adds none.
  auto planned = state_->plans->make(params, formats::NormFlavour::Portable, task);
  if (!planned) return tl::unexpected(planned.error());
  const NarrowSource source{*state_->model, *state_->analysis, state_->inputs.tensors};
  auto verify = state_->verifyOptions(state_->conditionsOf(planned->plan));
  verify.flavour = options.flavour;
  return service::narrowStreams(source, std::move(planned->plan), options, verify, task);
}

}  // namespace normlens::service

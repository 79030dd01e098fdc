// Service: a fold whose residual streams lose a channel.
#include "core/service/service_state.h"

namespace normlens::service {
namespace {

protocol::StreamInfo told(const analysis::Stream& stream) {
  protocol::StreamInfo info;
  info.channels = stream.channels.full;
  info.width = stream.refused.empty() ? stream.channels.width : stream.channels.full;
  for (const int norm : stream.norms) info.norms.add(norm);
  info.restored = stream.restored;
  info.adds = stream.adds;
  info.cuts = stream.cuts;
  info.refused = stream.refused;
  return info;
}

template <class T>
protocol::StreamFigures told(const T (&of)[3]) {
  return {static_cast<double>(of[0]), static_cast<double>(of[1]), static_cast<double>(of[2])};
}

protocol::StreamReport told(const std::vector<analysis::Stream>& streams, const StreamWork& work,
                            const std::string& refused) {
  protocol::StreamReport report;
  for (const auto& stream : streams) report.streams.push_back(told(stream));
  report.norm_flops = told(work.normFlops);
  report.linear_flops = told(work.linearFlops);
  report.stream_bytes = told(work.streamBytes);
  report.weight_bytes = told(work.weightBytes);
  report.reason = refused;
  return report;
}

Result<analysis::StreamPadding> paddingNamed(const std::string& name) {
  if (const auto padding = analysis::streamPaddingFromName(name)) return *padding;
  return fail(ErrorCode::Usage, "there is no padding '" + name + "'", "none, even or 64");
}

// The claims that narrow streams rest on are not the papers' own.
Status checkPolicy(const protocol::PlanParams& plan) {
  if (plan.policy != "paper") return {};
  return fail(ErrorCode::Refused,
              "policy paper takes values for zero-mean that are not, so no stream is narrowed by it",
              "choose another policy");
}

}  // namespace

Result<Narrowing> Service::narrowStreams(const protocol::PlanParams& params, const NarrowOptions& options,
                                         const Task& task) {
  if (auto status = state_->needInputs(); !status) return tl::unexpected(status.error());
  if (auto status = checkPolicy(params); !status) return tl::unexpected(status.error());
  // Betas move into biases whatever takes the norms' place: a narrow norm adds none.
  auto planned = state_->plans->make(params, formats::NormFlavour::Portable, task);
  if (!planned) return tl::unexpected(planned.error());
  const NarrowSource source{*state_->model, *state_->analysis, state_->inputs.tensors};
  auto verify = state_->verifyOptions(state_->conditionsOf(planned->plan));
  verify.flavour = options.flavour;
  return service::narrowStreams(source, std::move(planned->plan), options, verify, task);
}

Result<protocol::StreamReport> Service::streams(const protocol::StreamParams& params, const Task& task) {
  if (auto status = state_->needAnalysis(); !status) return tl::unexpected(status.error());
  const auto padding = paddingNamed(params.padding);
  if (!padding) return tl::unexpected(padding.error());
  if (auto status = checkPolicy(params.plan); !status) return told({}, {}, status.error().message);
  const auto planned = state_->plans->make(params.plan, formats::NormFlavour::Portable, task);
  if (!planned) return tl::unexpected(planned.error());
  const auto narrow = planNarrowing(*state_->analysis, planned->plan, *padding);
  return told(narrow.streams, narrow.work, narrow.refused);
}

Result<protocol::NarrowResult> Service::writeNarrow(const protocol::NarrowParams& params, const Task& task) {
  if (auto status = state_->needAnalysis(); !status) return tl::unexpected(status.error());
  if (state_->early) {
    if (const auto confirmed = analyze(task); !confirmed) return tl::unexpected(confirmed.error());
  }
  const std::filesystem::path path = params.path;
  if (auto status = state_->checkExport("the narrow model", path); !status) return tl::unexpected(status.error());
  const auto padding = paddingNamed(params.streams.padding);
  if (!padding) return tl::unexpected(padding.error());
  const auto flavour = formats::normFlavourFromName(params.norm);
  if (!flavour) return fail(ErrorCode::Usage, "there is no norm '" + params.norm + "'");
  NarrowOptions options;
  options.padding = *padding;
  options.flavour = *flavour;
  auto made = narrowStreams(params.streams.plan, options, task);
  if (!made) return tl::unexpected(made.error());
  protocol::NarrowResult result;
  result.streams = told(made->streams, made->work, made->model ? std::string() : made->reason);
  result.holds_if = state_->conditionsOf(made->plan);
  result.verify = std::move(made->verify);
  result.reason = made->reason;
  result.narrow_ms = made->ms;
  if (!made->model || (!made->ok && !params.force)) return result;
  task.report("writing " + path.filename().string());
  const Stopwatch watch;
  if (auto status = made->model->save(path, task); !status) return tl::unexpected(std::move(status.error()));
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(path, ignored);
  result.written = protocol::ExportResult{path.string(), static_cast<int64_t>(bytes), watch.ms()};
  return result;
}

}  // namespace normlens::service

#include "core/service/probe_swaps.h"

#include <utility>

#include "core/service/describe/probe_findings.h"
#include "core/service/forced_error.h"

namespace normlens::service {
namespace {

using protocol::ForcedError;

class Swapping {
 public:
  Swapping(OriginalInType& original, const AnalysedModel& subject, const protocol::ProbeSwapsParams& params,
           const Task& task)
      : original_(original), subject_(subject), params_(params), task_(task) {
    result_.dtype = graph::dtypeName(subject.original.facts().dtype);
    result_.hardly = params.hardly;
  }

  // False: stopped.
  bool measure() {
    const auto& norms = subject_.analysis.norms.layerNorms;
    const size_t steps = norms.size() + 1;
    for (size_t i = 0; i < norms.size(); ++i) {
      const std::string stage =
          "LayerNorm " + std::to_string(i + 1) + " of " + std::to_string(norms.size()) + " as an RMSNorm";
      task_.report(stage, static_cast<double>(i) / static_cast<double>(steps));
      if (!measureOne(norms[i].index)) return false;
    }
    if (norms.size() < 2) return true;
    task_.report("all LayerNorms as RMSNorms", static_cast<double>(norms.size()) / static_cast<double>(steps));
    auto all = ask(protocol::kAllNorms, true);
    if (all) result_.all = std::move(*all);
    return all.has_value();
  }

  [[nodiscard]] protocol::ProbeSwaps take(bool cancelled) {
    result_.cancelled = cancelled;
    result_.findings = swapFindings(result_);
    return std::move(result_);
  }
  [[nodiscard]] bool hasAny() const { return !result_.swaps.empty(); }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  bool measureOne(int norm) {
    protocol::ProbeSwap swap;
    swap.norm = norm;
    auto asItIs = ask(norm, true);
    if (!asItIs) return false;
    swap.as_it_is = std::move(*asItIs);
    swap.notices = wouldNotice(swap.as_it_is, params_.hardly);
    const auto& verdict = subject_.analysis.verdicts[static_cast<size_t>(norm)].verdict;
    if (params_.fold_first && verdict == analysis::Verdict::Free) {
      auto folded = ask(norm, false);
      if (!folded) return false;
      swap.folded = std::move(*folded);
    }
    result_.swaps.push_back(std::move(swap));
    return true;
  }

  // Its stages would hide how far all is.
  Result<ForcedError> ask(int norm, bool asItIs) {
    if (const Status running = task_.check(); !running) {
      error_ = running.error();
      return tl::unexpected(error_);
    }
    Task quiet;
    quiet.stop = task_.stop;
    auto error = forcedError(original_, subject_, {norm, result_.dtype, asItIs}, quiet);
    if (!error) error_ = error.error();
    return error;
  }

  OriginalInType& original_;
  AnalysedModel subject_;
  const protocol::ProbeSwapsParams& params_;
  const Task& task_;
  protocol::ProbeSwaps result_;
  Error error_;  // of what ended it
};

}  // namespace

Result<protocol::ProbeSwaps> probeSwaps(OriginalInType& original, const AnalysedModel& subject,
                                        const protocol::ProbeSwapsParams& params, const Task& task) {
  Swapping swapping(original, subject, params, task);
  const bool complete = swapping.measure();
  if (!complete && (swapping.error().code != ErrorCode::Cancelled || !swapping.hasAny())) {
    return tl::unexpected(swapping.error());
  }
  return swapping.take(!complete);
}

}  // namespace normlens::service

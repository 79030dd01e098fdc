#include "tests/support/fake_engine/canned_streams.h"

#include <filesystem>
#include <fstream>

#include "tests/support/fake_engine/canned_replies.h"

namespace normlens::fake {
namespace {

constexpr double kRows = 16;

protocol::StreamFigures scaled(double all, double fold, double narrow) { return {all, all * fold, all * narrow}; }

}  // namespace

protocol::StreamReport streams(const CannedModel& model, const protocol::StreamParams& params) {
  protocol::StreamReport report;
  const auto norms = static_cast<int>(model.normNodes.size());
  protocol::StreamInfo stream;
  stream.channels = stream.width = model.width;
  for (int norm = 0; norm < norms; ++norm) stream.norms.add(norm);
  stream.adds = norms - 1;
  if (model.postNorm) {
    stream.refused =
        "its residual sum is read by norm 1 alone, and what goes on is that norm's output: it is post-norm";
    report.reason = "the residual stream cannot be narrowed, because " + stream.refused;
    report.streams = {stream};
    return report;
  }
  stream.width = params.padding == "none" ? model.width - 1 : model.width;
  stream.restored = 1;
  report.streams = {stream};
  const auto d = static_cast<double>(model.width), share = static_cast<double>(stream.width) / d;
  report.norm_flops = scaled(7 * d * kRows * norms, 4.0 / 7, 4 * share / 7);
  report.linear_flops = scaled(24 * d * d * kRows, 1, share);
  report.stream_bytes = scaled(4 * d * kRows * norms, 1, share);
  report.weight_bytes = scaled(48 * d * d, 1, 0.2 + 0.8 * share);
  return report;
}

protocol::NarrowResult narrow(const CannedModel& model, const protocol::NarrowParams& params) {
  protocol::NarrowResult result;
  result.streams = streams(model, params.streams);
  result.reason = result.streams.reason;
  if (!result.reason.empty()) return result;
  const bool proved = params.path.find("unproved") == std::string::npos;
  protocol::FoldParams fold;
  fold.plan = params.streams.plan;
  if (!proved) fold.plan.policy = "paper";
  result.verify = foldResult(model, fold).verify;
  result.narrow_ms = 2.5;
  if (!proved) result.reason = "the narrow model gives other outputs";
  if (!proved && !params.force) return result;
  std::ofstream(params.path) << "narrow, padding " << params.streams.padding << "\n";
  result.written =
      protocol::ExportResult{params.path, static_cast<int64_t>(std::filesystem::file_size(params.path)), 0.7};
  return result;
}

}  // namespace normlens::fake

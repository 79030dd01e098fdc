#include "app/engine/verbs/report/last_fold.h"

#include "app/engine/verbs/report/compose.h"
#include "app/engine/verbs/report/gather.h"
#include "app/engine/verbs/report/graph_picture.h"
#include "app/engine/verbs/report/html_writer.h"
#include "app/engine/verbs/report/markdown_writer.h"
#include "app/engine/verbs/report/sections.h"

namespace normlens::engine::report {

namespace {

// Only these points are reported as the latency of the fold.
std::optional<protocol::BenchResult> ofFold(std::optional<protocol::BenchResult> bench) {
  if (!bench) return bench;
  std::erase_if(bench->points, [](const protocol::BenchPoint& point) {
    return point.a.model != "original" || !point.b || !protocol::flavourOfFold(point.b->model);
  });
  return bench->points.empty() ? std::nullopt : std::move(bench);
}

}  // namespace

Result<protocol::Report> reportOfLastFold(service::Service& service, protocol::ReportParams params, const Task& task) {
  if (params.format != "html" && params.format != "markdown") {
    return fail(ErrorCode::Usage, "there is no report in the format '" + params.format + "'", "html or markdown");
  }
  auto fold = service.lastFold();
  if (!fold) return tl::unexpected(fold.error());
  Facts facts = named(params.model);
  for (protocol::ReportPicture& picture : params.pictures) {
    auto svg = drawingOnly(picture.svg);
    if (!svg) return tl::unexpected(svg.error());
    facts.pictures.emplace_back(picture.title, Figure{std::move(*svg), std::move(picture.alt), true});
  }
  facts.info = std::move(fold->info);
  facts.analysis = std::move(fold->analysis);
  facts.fold = std::move(fold->fold);
  facts.norm = fold->norm;
  if (!fold->inputs.npz.empty()) facts.inputWords = {"--inputs", fold->inputs.npz.string()};
  for (const std::string& spec : fold->inputs.specs) facts.inputWords.insert(facts.inputWords.end(), {"--input", spec});
  auto plan = service.planText();
  if (!plan) return tl::unexpected(plan.error());
  facts.plan = std::move(*plan);
  facts.sha256 = service.sourceSha256();
  facts.bench = ofFold(std::move(params.bench));
  // The window's plan may be no policy's: the commands take it from the page.
  facts.policyWords = {"--plan", planName(facts)};
  if (facts.norm != ReportOptions().norm) facts.policyWords.insert(facts.policyWords.end(), {"--norm", facts.norm});
  if (const Status compared = compare(service, facts, task); !compared) return tl::unexpected(compared.error());
  const Document document = composed(facts);
  return protocol::Report{params.format == "html" ? asHtml(document) : asMarkdown(document)};
}

}  // namespace normlens::engine::report

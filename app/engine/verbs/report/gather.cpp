#include "app/engine/verbs/report/gather.h"

#include <chrono>

#include "app/engine/version.h"
#include "core/base/formatted.h"
#include "core/run/compare/compare_models.h"

namespace normlens::engine::report {
namespace {

std::string today() {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  return formatted("%04d-%02u-%02u", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                   static_cast<unsigned>(day.day()));
}

void addWord(const char* option, const std::string& value, std::vector<std::string>& words) {
  words.emplace_back(option);
  words.push_back(value);
}

void nameWords(const ReportOptions& options, Facts& facts) {
  if (!options.inputs.npz.empty()) addWord("--inputs", options.inputs.npz, facts.inputWords);
  for (const std::string& spec : options.inputs.specs) addWord("--input", spec, facts.inputWords);
  if (!options.inputs.model.empty()) addWord("--model", options.inputs.model, facts.inputWords);
  auto& words = facts.policyWords;
  if (options.planFile.empty()) {
    addWord("--policy", nameOf(options.policy), words);
    if (options.maxGrowth != ReportOptions().maxGrowth)
      addWord("--max-growth", formatted("%g", options.maxGrowth), words);
  } else {
    addWord("--plan", options.planFile, words);
  }
  if (options.norm.name != NormChoice().name) addWord("--norm", options.norm.name, words);
  for (const std::string& size : options.inputs.sizes.assume) addWord("--assume", size, words);
  if (options.inputs.sizes.strict) words.emplace_back("--strict");
}

// A fold that was refused is what the report is about, too.
Status foldInMemory(service::Service& service, const ReportOptions& options, Facts& facts, const Task& task) {
  if (!options.planFile.empty()) {
    RETURN_IF_ERROR(service.usePlanFile(options.planFile));
  }
  protocol::FoldParams params;
  params.plan.policy = options.policy;
  params.plan.max_growth_percent = options.maxGrowth;
  params.norm = options.norm.name;
  auto fold = service.fold(params, task);
  if (!fold && fold.error().code != ErrorCode::Refused) return tl::unexpected(fold.error());
  facts.fold = fold ? std::move(*fold) : protocol::FoldResult{};
  if (!fold) {
    facts.fold->reason = fold.error().message;
    return {};
  }
  if (facts.fold->plan.isEmpty()) return {};
  ASSIGN_OR_RETURN(auto plan, service.planText());
  facts.plan = std::move(plan);
  return {};
}

Status openFolded(const ReportOptions& options, const service::RunRules& rules, Facts& facts, const Task& task) {
  service::Service other;
  other.setRules(rules.beside());
  ASSIGN_OR_RETURN(const auto info, other.open(options.folded, task));
  RETURN_IF_ERROR(checkWrittenBeside("the report", options.output, other.model()->facts().files(), {}));
  ASSIGN_OR_RETURN(auto choice, options.inputs.choice());
  other.setInputs(std::move(choice));
  const auto analysis = other.analyze(task);
  if (!analysis) return tl::unexpected(inFile(options.folded, analysis.error()));
  facts.file =
      FoldedFile{options.folded, analysis->totals.layer_norms, run::divergenceLimit(other.model()->facts().dtype)};
  return {};
}

Status measure(service::Service& service, const ReportOptions& options, Facts& facts, const Task& task) {
  protocol::BenchParams params;
  params.a = "original";
  params.b = facts.file ? facts.file->path : "folded";
  params.device = options.device;
  params.rounds = options.rounds;
  auto bench = service.bench(
      params, [](int, int, const protocol::BenchPoint&) {}, task);
  if (!bench && bench.error().code == ErrorCode::Cancelled) return tl::unexpected(bench.error());
  if (!bench) {
    facts.benchError = bench.error().message;
    return {};
  }
  if (bench->cancelled) return fail(ErrorCode::Cancelled, "stopped on request");
  facts.bench = std::move(*bench);
  return {};
}

}  // namespace

Facts named(const std::string& model) {
  Facts facts;
  facts.model = model;
  facts.version = kVersion;
  facts.date = today();
  return facts;
}

Status compare(service::Service& service, Facts& facts, const Task& task) {
  protocol::DiffParams params;
  params.against = facts.file ? facts.file->path : std::string();
  const auto ask = [&](const char* dtype, std::optional<protocol::DiffResult>& into) -> Status {
    params.dtype = dtype;
    auto diff = service.diff(params, task);
    if (!diff && diff.error().code == ErrorCode::Cancelled) return tl::unexpected(diff.error());
    if (!diff) {
      into.emplace();
      into->dtype = dtype;
      into->error = diff.error().message;
      return {};
    }
    into = std::move(*diff);
    return {};
  };
  RETURN_IF_ERROR(ask("", facts.inType));
  if (facts.inType->dtype == "float64") return {};
  return ask("float64", facts.exact);
}

Result<Facts> gather(service::Service& service, const OpenedModel& opened, const ReportOptions& options,
                     const service::RunRules& rules, const Task& task) {
  Facts facts = named(options.model);
  facts.info = opened.info;
  facts.analysis = opened.analysis;
  facts.norm = options.norm.name;
  nameWords(options, facts);
  const Status folded =
      options.folded.empty() ? foldInMemory(service, options, facts, task) : openFolded(options, rules, facts, task);
  if (!folded) return tl::unexpected(inFile(options.model, folded.error()));
  facts.sha256 = service.sourceSha256();
  if (!facts.file && facts.plan.empty()) return facts;
  RETURN_IF_ERROR(compare(service, facts, task));
  if (!options.bench) return facts;
  RETURN_IF_ERROR(measure(service, options, facts, task));
  return facts;
}

}  // namespace normlens::engine::report

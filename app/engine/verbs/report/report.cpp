#include <algorithm>
#include <array>
#include <filesystem>

#include "app/engine/verbs.h"
#include "app/engine/verbs/model_options.h"
#include "app/engine/verbs/report/compose.h"
#include "app/engine/verbs/report/gather.h"
#include "core/formats/file/whole_file.h"
#include "core/protocol/json.h"

namespace normlens::engine {
namespace {

using report::Facts;
using report::ReportOptions;

struct Writer {
  std::string_view suffix, name;
  std::string (*write)(const report::Document& document);
};
constexpr std::array kWriters = {Writer{".html", "html", report::asHtml},
                                 Writer{".md", "markdown", report::asMarkdown}};

Result<const Writer*> writerFor(const std::string& output) {
  const std::string suffix = std::filesystem::path(output).extension().string();
  const auto* found = std::ranges::find(kWriters, suffix, &Writer::suffix);
  if (found != kWriters.end()) return found;
  return fail(ErrorCode::Usage, "-o " + output + ": a report is HTML or Markdown", "name it .html or .md");
}

nlohmann::json summary(const Facts& facts, const std::string& output, const Writer& writer, size_t bytes) {
  return {{"output", output},
          {"format", writer.name},
          {"bytes", bytes},
          {"layer_norms", facts.analysis.totals.layer_norms},
          {"folded", report::foldedNorms(facts)},
          {"exact", protocol::toJson(report::isEqual(facts))},
          {"measured", facts.bench.has_value()}};
}

Result<Exit> run(ReportOptions options, const Call& call) {
  Console& console = call.console;
  const Task task = console.task(call.stop());
  ASSIGN_OR_RETURN(const auto writer, writerFor(options.output));
  service::Service service;
  ASSIGN_OR_RETURN(const auto opened, openModel(service, options.model, options.inputs, call, task));
  RETURN_IF_ERROR(checkWrittenBeside("the report", options.output, service.model()->facts().files(),
                                     {options.folded, options.planFile, options.inputs.npz}));
  RETURN_IF_ERROR(options.norm.chooseFor(opened.info.format));
  noteAssumedInputs(opened.analysis, console);
  ASSIGN_OR_RETURN(const auto facts, report::gather(service, opened, options, call.rules, task));
  const report::Document document = report::composed(facts);
  const std::string page = writer->write(document);
  RETURN_IF_ERROR(formats::writeWhole(options.output, page));
  const report::Banner& banner = document.banner;
  std::string line = options.model + ": " + banner.title + ". ";
  if (!banner.figures.empty()) line += banner.figures.front().first + " " + banner.figures.front().second + ". ";
  console.print(line + banner.text);
  console.print("  written to " + options.output);
  return console.finish([&] { return summary(facts, options.output, *writer, page.size()); }, Exit::Done);
}

NamedFiles filesOf(const ReportOptions& options) {
  NamedFiles files = namedFiles({options.model, options.folded}, options.inputs);
  files.grants.toRead(options.planFile);
  files.grants.toWrite(options.output);
  files.gpu = options.bench && options.device.starts_with("cuda");
  return files;
}

void declareFold(CLI::App& app, ReportOptions& options) {
  addChoice(app, "--policy", options.policy, "What may be done to fold, where no FOLDED is given");
  addMaxGrowth(app, options.maxGrowth);
  options.norm.addTo(app, "What replaces LayerNorm");
  app.add_option("--plan", options.planFile, "Use the edits of this file")->type_name("PLAN.json");
}

void declareBench(CLI::App& app, ReportOptions& options) {
  app.add_flag("--bench", options.bench, "Also measure the latency of both");
  app.add_option("--device", options.device, "Where --bench runs: cpu, cuda, or cuda:1")->capture_default_str();
  app.add_option("--rounds", options.rounds, "Rounds of --bench, each A B B A")
      ->check(wholeFrom(1))
      ->capture_default_str();
}

}  // namespace

Declared declareReport(CLI::App& app, const confine::Limits&) {
  const auto options = std::make_shared<ReportOptions>();
  app.add_option("model", options->model, "The model file")->required()->type_name("MODEL");
  app.add_option("folded", options->folded, "Its fold; without it, the model is folded in memory and proved")
      ->type_name("FOLDED");
  app.add_option("-o,--output", options->output, "Where to write the report: .html or .md")
      ->required()
      ->type_name("REPORT");
  options->inputs.addTo(app);
  options->inputs.addSizesTo(app);
  declareFold(app, *options);
  declareBench(app, *options);
  return {[options](const Call& call) { return run(*options, call); }, [options] { return filesOf(*options); }, {}};
}

}  // namespace normlens::engine

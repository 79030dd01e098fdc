#include "app/engine/verbs/report/compose.h"

#include <algorithm>
#include <array>
#include <boost/algorithm/string/join.hpp>
#include <cmath>
#include <filesystem>
#include <map>

#include "app/engine/verbs/report/figures.h"
#include "app/engine/verbs/reports.h"
#include "app/engine/verbs/shell_words.h"
#include "core/base/formatted.h"
#include "core/base/plural.h"

namespace normlens::engine::report {
namespace {

using protocol::DiffResult;
using protocol::DiffRow;

std::string formatTitle(const std::string& format) {
  if (format == "torchscript") return "TorchScript";
  if (format == "pt2") return "torch.export";
  return format == "onnx" ? "ONNX" : format;
}

std::string parametersText(int64_t parameters) {
  constexpr int64_t kMillion = 1'000'000;
  if (parameters < kMillion) return plural(parameters, "parameter");
  return formatted("%.3g M parameters", static_cast<double>(parameters) / static_cast<double>(kMillion));
}

std::string subtitleOf(const Facts& facts) {
  constexpr size_t kShown = 12;
  std::string text = formatTitle(facts.info.format) + " · " + parametersText(facts.info.parameters) + " · " +
                     bytesText(facts.info.file_bytes);
  if (!facts.sha256.empty()) text += " · SHA-256 " + facts.sha256.substr(0, kShown) + "…";
  return text + " · NormLens " + facts.version + " · " + facts.date;
}

bool applied(const Facts& facts) { return facts.fold && !facts.plan.empty(); }

std::string foldedText(const Facts& facts, const std::string& where, bool accepted = true) {
  const bool one = foldedNorms(facts) == 1;
  const char* became = accepted ? (one ? " is now an RMSNorm" : " are now RMSNorms")
                                : (one ? " would be an RMSNorm" : " would be RMSNorms");
  return std::to_string(foldedNorms(facts)) + " of " + plural(facts.analysis.totals.layer_norms, "LayerNorm") + became +
         where + ".";
}

std::string foldTitle(std::optional<bool> equal, const protocol::VerifyResult* verify) {
  if (!equal) return "It was not decided whether an output changed";
  if (!*equal) return "The fold changes an output";
  if (verify == nullptr) return "No output changed beyond rounding";
  const size_t count = verify->not_run.size();
  const std::string notRun = count == 0 ? "" : "; " + plural(count, "folded LayerNorm") + " did not run";
  if (!verify->beyond_rounding) return "No output changed beyond rounding" + notRun;
  const std::string where =
      (verify->algebra_done ? "No output changed in float64, but in " : "In ") + verify->file_dtype;
  return where +
         (verify->errors ? formatted(" the fold is off by %.2g, the original by %.2g", verify->errors->folded,
                                     verify->errors->original)
                         : formatted(" outputs differ by %.2g", verify->file.max_rel)) +
         notRun;
}

std::string proofText(const protocol::VerifyResult& verify) {
  if (verify.exact != true) return {};
  if (!verify.file_done || verify.file_dtype == "float64" || verify.beyond_rounding) return " Proved in float64.";
  return " Proved in float64 and in the file's own type, " + verify.file_dtype + ".";
}

Banner ofFold(const Facts& facts) {
  const protocol::FoldResult& fold = *facts.fold;
  if (!applied(facts)) return {Tone::Neutral, "Nothing was folded", fold.reason + ".", {}};
  const std::optional<bool> equal = isEqual(facts);
  const bool accepted = equal == true || fold.reason.empty();
  const auto* verify = fold.verify ? &*fold.verify : nullptr;
  const bool beyond = verify != nullptr && verify->beyond_rounding;
  Banner banner{equal != true ? Tone::Bad
                : beyond      ? Tone::Neutral
                              : Tone::Good,
                foldTitle(equal, verify),
                foldedText(facts, "", accepted),
                {}};
  if (fold.verify) banner.text += proofText(*fold.verify);
  if (!accepted) banner.text += " It was not accepted: " + fold.reason + ".";
  return banner;
}

// A comparison on some inputs is no proof, and is not called one.
Banner ofFile(const Facts& facts) {
  const std::optional<bool> equal = isEqual(facts);
  Banner banner{equal == true ? Tone::Good : Tone::Bad,
                foldTitle(equal, nullptr),
                foldedText(facts, " in " + std::filesystem::path(facts.file->path).filename().string()),
                {}};
  if (!equal) {
    banner.text += " The two could not be compared" +
                   (facts.inType && !facts.inType->error.empty() ? ": " + facts.inType->error : std::string()) + ".";
    return banner;
  }
  banner.text +=
      " The two files were compared on the inputs below, in their own type. This is a comparison, not a proof.";
  if (!facts.inType->first_diverging.empty())
    banner.text += " The first norm that differs is " + facts.inType->first_diverging + ".";
  return banner;
}

double largest(const DiffResult& diff) {
  double most = 0;
  for (const DiffRow& row : diff.rows) {
    if (row.kind == SiteKind::Output) most = std::isnan(row.max_rel) ? row.max_rel : std::max(most, row.max_rel);
  }
  return most;
}

void addFigures(const Facts& facts, Banner& banner) {
  const bool folded = facts.file || applied(facts);
  if (folded) {
    banner.figures.emplace_back(
        std::to_string(foldedNorms(facts)) + " / " + std::to_string(facts.analysis.totals.layer_norms), "norms folded");
  }
  if (applied(facts)) {
    banner.figures.emplace_back(std::to_string(facts.fold->plan.tensors_centered), "tensors centered");
    const auto* verify = facts.fold->verify ? &*facts.fold->verify : nullptr;
    if (verify && verify->algebra_done)
      banner.figures.emplace_back(formatted("%.1g", verify->algebra.max_rel), "float64 difference");
    if (verify && verify->file_done && verify->file_dtype != "float64")
      banner.figures.emplace_back(formatted("%.1g", verify->file.max_rel), verify->file_dtype + " difference");
  } else if (facts.inType && facts.inType->error.empty()) {
    banner.figures.emplace_back(formatted("%.1g", largest(*facts.inType)), facts.inType->dtype + " difference");
  }
  const protocol::BenchPoint* measured = facts.bench ? firstMeasured(*facts.bench) : nullptr;
  if (measured == nullptr || !measured->b) return;
  const std::string where = measured->device == "cpu" ? "CPU" : "GPU";
  const bool wrong = measured->outputs && measured->outputs->beyond;
  const bool doubtful = measured->crowded || !measured->warmed_up;
  banner.figures.emplace_back(formatted("%.2f×", measured->speedup), "speed on " + where +
                                                                         (wrong             ? ": of wrong outputs"
                                                                          : measured->noise ? ": noise"
                                                                          : doubtful        ? ": treat with caution"
                                                                                            : ""));
}

// The parts of the page below its verdict follow. nullopt: there is nothing to report.

constexpr size_t kNamed = 4;  // as many examples as fit beside a number

std::string withDigits(double value) { return formatted("%.3g", value); }

// Lists the first ones, and how many more.
std::string some(const std::vector<std::string>& all, const char* between) {
  const std::vector<std::string> first(all.begin(),
                                       all.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, all.size())));
  const std::string text = boost::algorithm::join(first, between);
  return all.size() > kNamed ? text + between + "and " + std::to_string(all.size() - kNamed) + " more" : text;
}

// These titles describe the edits of one kind, in the order in which a plan carries them out.
constexpr std::pair<EditKind, const char*> kEditKinds[] = {
    {EditKind::AbsorbScale, "Scales moved into weights"},
    {EditKind::CenterConstant, "Weights and embeddings centered"},
    {EditKind::InsertCentering, "Centerings at run time"},
    {EditKind::DropAddend, "Addends dropped"},
    {EditKind::AbsorbShift, "β moved into the next biases"},
    {EditKind::AbsorbGain, "γ moved into the next weights"},
    {EditKind::RestoreMean, "Means carried next to a stream"},
    {EditKind::ReplaceNorm, "LayerNorms replaced"}};

Table editsTable(const protocol::PlanInfo& plan) {
  Table table;
  for (const auto& [kind, title] : kEditKinds) {
    std::vector<std::string> texts;
    for (const auto& edit : plan.edits) {
      if (edit.kind == kind) texts.push_back(edit.text);
    }
    if (!texts.empty()) table.rows.push_back({title, some(texts, "; "), std::to_string(texts.size())});
  }
  return table;
}

std::string leftText(const protocol::PlanInfo& plan) {
  const int left = plan.layer_norms - static_cast<int>(plan.folded.size());
  std::string text =
      plan.centerings == 0 ? "No centering at run time. " : plural(plan.centerings, "centering") + " at run time. ";
  return text + (left == 0 ? "No LayerNorms remain." : plural(left, "LayerNorm") + " stay" + (left == 1 ? "s." : "."));
}

// Charts the norms' outputs and the limits of the proof.
ProofChart chartOf(const Facts& facts) {
  ProofChart chart;
  std::map<std::pair<int, int>, size_t> place;  // by step, then norm: execution order
  for (const auto* diff : {&facts.exact, &facts.inType}) {
    if (!*diff) continue;
    for (const DiffRow& row : (*diff)->rows) {
      if (row.kind == SiteKind::NormOutput) place.emplace(std::pair(row.step, row.norm), 0);
    }
  }
  for (auto& [key, index] : place) {
    index = chart.norms.size();
    const auto norm = static_cast<size_t>(std::max(0, key.second));
    chart.norms.push_back(norm < facts.analysis.norms.size() ? facts.analysis.norms[norm].title : std::string());
  }
  const auto fill = [&](const std::optional<DiffResult>& diff, std::vector<std::optional<double>>& figures) {
    figures.resize(chart.norms.size());
    if (!diff) return;
    for (const DiffRow& row : diff->rows) {
      if (row.kind == SiteKind::NormOutput) figures[place.at({row.step, row.norm})] = row.max_rel;
    }
  };
  fill(facts.exact, chart.exact);
  fill(facts.inType, chart.file);
  if (facts.inType) chart.fileType = facts.inType->dtype;
  return chart;
}

Figure normsFigure(const Facts& facts) {
  ProofChart chart = chartOf(facts);
  const auto* verify = facts.fold && facts.fold->verify ? &*facts.fold->verify : nullptr;
  if (verify && verify->algebra_done) chart.exactLimit = verify->algebra.limit;
  if (verify && verify->file_done) chart.fileLimit = verify->file.limit;
  if (facts.file) chart.fileLimit = facts.file->limit;
  return proofFigure(chart);
}

std::string inputsText(const Facts& facts) {
  std::vector<std::string> all;
  for (const auto& input : facts.analysis.inputs) {
    std::string text = input.name + " " + input.dtype + "[";
    for (size_t i = 0; i < input.shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(input.shape[i]);
    all.push_back(text + "]");
  }
  return all.empty() ? "no inputs" : "inputs: " + some(all, ", ");
}

void addOutputs(const std::optional<DiffResult>& diff, Table& table) {
  if (!diff) return;
  for (const DiffRow& row : diff->rows) {
    if (row.kind != SiteKind::Output) continue;
    table.rows.push_back({row.name, diff->dtype, withDigits(row.max_rel), withDigits(row.max_abs),
                          withDigits(row.mean_abs), formatted("%.9g", row.cosine)});
  }
}

void addWhyNot(const std::optional<DiffResult>& diff, Section& section) {
  if (!diff) return;
  for (const std::string& why : {diff->error, diff->norms_reason}) {
    if (!why.empty()) section.blocks.emplace_back(Paragraph{diff->dtype + ": " + why});
  }
}

std::string speedText(const protocol::BenchPoint& point) {
  return formatted("%.3f×", point.speedup) + (point.noise ? " (noise)" : "");
}

std::vector<std::string> command(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string lineOf(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(shellWord(word));
  return boost::algorithm::join(quoted, " ");
}

std::string stateOf(const Facts& facts, size_t norm) {
  if (!facts.fold || norm >= facts.fold->plan.norms.size()) return {};
  protocol::NormState state = facts.fold->plan.norms[norm];
  if (!folds(facts.analysis.norms[norm].verdict)) state.because.clear();
  const auto& verify = facts.fold->verify;
  const bool ran =
      !verify || std::ranges::find(verify->not_run, facts.analysis.norms[norm].name) == verify->not_run.end();
  return stateText(state, !facts.plan.empty()) + (ran ? "" : ", not run by the proof");
}

// Returns the path to which the commands write the fold; for a given fold, its own.
std::string foldedPath(const Facts& facts) {
  if (facts.file) return facts.file->path;
  std::filesystem::path path = facts.model;
  return path.replace_filename(path.stem().string() + "-rms" + path.extension().string()).string();
}

std::string limitWord(const Facts& facts) {
  const auto* verify = facts.fold && facts.fold->verify ? &*facts.fold->verify : nullptr;
  return formatted("%.2g", facts.file ? facts.file->limit : verify && verify->file_done ? verify->file.limit : 0);
}

// Empty: there is no fold to draw.
std::vector<Section> graphSections(const Facts& facts) {
  std::vector<Section> sections;
  for (const auto& [title, figure] : facts.pictures) sections.push_back({title, "of the graph", true, {figure}});
  if (sections.empty() && (facts.file || !facts.plan.empty())) {
    sections.push_back({"The graph",
                        "not drawn",
                        false,
                        {Paragraph{"Pictures of the graph before and after the fold are in the .html report that the "
                                   "window writes: File, Export report."}}});
  }
  return sections;
}

std::optional<Section> planSection(const Facts& facts) {
  if (facts.plan.empty()) return std::nullopt;
  const protocol::PlanInfo& plan = facts.fold->plan;
  Section section{
      "The plan",
      "policy " + nameOf(plan.policy) + " · norms " + facts.norm + " · copies add " + bytesText(plan.bytes_grown),
      true,
      {}};
  section.blocks.emplace_back(editsTable(plan));
  section.blocks.emplace_back(Paragraph{leftText(plan)});
  for (const auto& condition : facts.fold->holds_if) {
    section.blocks.emplace_back(
        Paragraph{"Holds if " + condition.text + (condition.tested.empty() ? "." : " (" + condition.tested + ").")});
  }
  return section;
}

std::optional<Section> proofSection(const Facts& facts) {
  if (facts.plan.empty() && !facts.file) return std::nullopt;
  Section section{facts.file ? "The comparison" : "The proof", inputsText(facts), true, {}};
  if (facts.fold && facts.fold->verify) {
    for (const std::string& line : verifyLines(*facts.fold->verify)) section.blocks.emplace_back(Paragraph{line + "."});
  }
  const Figure figure = normsFigure(facts);
  const bool any = facts.exact || facts.inType;
  if (any && !chartOf(facts).norms.empty()) {
    section.blocks.emplace_back(Paragraph{"The largest relative difference after each norm: ◆ float64, □ " +
                                          (facts.inType ? facts.inType->dtype : std::string("the file's type")) + "."});
    section.blocks.emplace_back(figure);
  }
  addWhyNot(facts.exact, section);
  addWhyNot(facts.inType, section);
  return section;
}

// Norms with the same verdict, state and reason share a row.
std::optional<Section> normsSection(const Facts& facts) {
  const auto& norms = facts.analysis.norms;
  if (norms.empty() && facts.analysis.other_norms.empty()) return std::nullopt;
  std::vector<std::array<std::string, 3>> said;
  std::vector<std::vector<std::string>> names;
  const auto say = [&](std::optional<Verdict> verdict, const std::string& state, const std::string& reason,
                       const std::string& name) {
    const std::string words = !verdict ? "–" : *verdict == Verdict::WithCentering ? "with centering" : nameOf(*verdict);
    const std::array key{words, state, reason};
    const auto found = std::ranges::find(said, key);
    if (found == said.end()) names.emplace_back();
    const auto row = static_cast<size_t>(found - said.begin());
    if (found == said.end()) said.push_back(key);
    names[row].push_back(name);
  };
  for (size_t i = 0; i < norms.size(); ++i) say(norms[i].verdict, stateOf(facts, i), norms[i].reason, norms[i].title);
  for (const auto& other : facts.analysis.other_norms)
    say(other.verdict, "stays as it is", other.reason, other.name + " (" + other.kind + ")");
  Table table{{"can be folded", "in this fold", "count", "norms", "why"}, {}};
  if (!facts.fold) table.heads.erase(table.heads.begin() + 1);
  for (size_t row = 0; row < said.size(); ++row) {
    const auto& [verdict, state, reason] = said[row];
    std::vector<std::string> cells{verdict};
    if (facts.fold) cells.push_back(state);
    cells.insert(cells.end(), {std::to_string(names[row].size()), boost::algorithm::join(names[row], ", "), reason});
    table.rows.push_back(std::move(cells));
  }
  const auto& totals = facts.analysis.totals;
  return Section{"The norms",
                 std::to_string(totals.free) + " free · " + std::to_string(totals.with_centering) +
                     " with centering · " + std::to_string(totals.blocked) + " blocked" +
                     (totals.unknown > 0 ? " · " + std::to_string(totals.unknown) + " unknown" : ""),
                 false,
                 {std::move(table)}};
}

std::optional<Section> differencesSection(const Facts& facts) {
  Table table{{"output", "type", "largest relative", "largest", "mean", "cosine"}, {}};
  addOutputs(facts.exact, table);
  addOutputs(facts.inType, table);
  if (table.rows.empty()) return std::nullopt;
  return Section{
      "Differences of the outputs", "the original against the fold, on the same inputs", false, {std::move(table)}};
}

std::optional<Section> latencySection(const Facts& facts) {
  if (!facts.bench) {
    if (facts.benchError.empty()) return std::nullopt;
    return Section{"Latency", "not measured", true, {Paragraph{facts.benchError + "."}}};
  }
  const protocol::BenchPoint* point = firstMeasured(*facts.bench);
  if (point == nullptr || !point->b) return std::nullopt;
  const auto& machine = facts.bench->machine;
  Section section{"Latency",
                  (point->device == "cpu" ? machine.cpu : machine.gpu) + ", " + plural(point->threads, "thread") +
                      " · batch " + std::to_string(point->batch) + " · " + point->dtype,
                  true,
                  {}};
  section.blocks.emplace_back(
      Paragraph{"Milliseconds per run: medians of " + plural(point->rounds.size(), "alternating round") +
                " (A B B A), after a warm-up. " + facts.bench->versions + "; clock: " + point->clock + "."});
  section.blocks.emplace_back(latencyFigure(point->rounds));
  section.blocks.emplace_back(Table{{},
                                    {{"original", formatted("%.4g ms", point->a.latency.median_ms)},
                                     {"folded", formatted("%.4g ms", point->b->latency.median_ms)},
                                     {"speed-up", speedText(*point)},
                                     {"95% interval", formatted("%.3f to %.3f", point->ci_low, point->ci_high)}}});
  if (!point->warmed_up)
    section.blocks.emplace_back(Paragraph{"Clock speed kept changing; treat these figures with caution."});
  if (point->crowded)
    section.blocks.emplace_back(Paragraph{"Other programs used cores; treat these figures with caution."});
  return section;
}

Section commandsSection(const Facts& facts) {
  const std::string folded = foldedPath(facts);
  Commands commands;
  if (!facts.file && facts.plan.empty()) {
    commands.lines.push_back(lineOf(command({"normlens", "analyze", facts.model}, facts.inputWords)));
    return {"Reproduce", "needs NormLens and the model", true, {std::move(commands)}};
  }
  if (!facts.file) {
    commands.lines.push_back(
        lineOf(command(command({"normlens", "fold", facts.model, "-o", folded}, facts.policyWords), facts.inputWords)));
  }
  commands.lines.push_back(
      lineOf(command({"normlens", "diff", facts.model, folded, "--fail-above", limitWord(facts)}, facts.inputWords)));
  if (const auto* point = facts.bench ? firstMeasured(*facts.bench) : nullptr) {
    commands.lines.push_back(lineOf(command({"normlens", "bench", facts.model, folded, "--device", point->device,
                                             "--rounds", std::to_string(point->rounds.size())},
                                            facts.inputWords)));
  }
  return {"Reproduce",
          facts.file ? "needs NormLens and the two files" : "needs NormLens and the model",
          true,
          {std::move(commands)}};
}

template <class... Sections>
std::vector<Section> withoutEmpty(Sections&&... sections) {
  std::vector<Section> all;
  for (std::optional<Section>* section : {&sections...}) {
    if (*section) all.push_back(std::move(**section));
  }
  return all;
}

}  // namespace

std::string planName(const Facts& facts) { return std::filesystem::path(facts.model).stem().string() + ".plan.json"; }

int foldedNorms(const Facts& facts) {
  if (facts.file) return std::max(0, facts.analysis.totals.layer_norms - facts.file->layerNorms);
  return facts.fold ? static_cast<int>(facts.fold->plan.folded.size()) : 0;
}

std::optional<bool> isEqual(const Facts& facts) {
  if (!facts.file) return facts.fold && facts.fold->verify ? facts.fold->verify->exact : std::nullopt;
  if (!facts.inType || !facts.inType->error.empty()) return std::nullopt;
  return largest(*facts.inType) <= facts.file->limit;
}

Document composed(const Facts& facts) {
  const std::string name = std::filesystem::path(facts.model).filename().string();
  Document document;
  document.title = "Fold report: " + name;
  document.subtitle = subtitleOf(facts);
  document.banner = facts.file ? ofFile(facts) : ofFold(facts);
  addFigures(facts, document.banner);
  document.sections = graphSections(facts);
  for (Section& section :
       withoutEmpty(planSection(facts), proofSection(facts), normsSection(facts), differencesSection(facts),
                    latencySection(facts), std::optional<Section>(commandsSection(facts)))) {
    document.sections.push_back(std::move(section));
  }
  document.plan = facts.plan;
  document.planName = planName(facts);
  document.footer = "Made by NormLens " + facts.version + ": one self-contained file.";
  return document;
}

}  // namespace normlens::engine::report

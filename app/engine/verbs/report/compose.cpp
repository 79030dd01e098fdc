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
#include "core/protocol/figure_text.h"
#include "core/protocol/proof_text.h"

namespace normlens::engine::report {
namespace {

using protocol::DiffResult;
using protocol::DiffRow;
using protocol::errorText, protocol::intervalText, protocol::ratioText, protocol::touchesOne;

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

// verify: null of a comparison.
std::string foldTitle(std::optional<bool> equal, const protocol::VerifyResult* verify) {
  if (!equal) return "It was not decided whether an output changed";
  if (!*equal) return "The fold changes an output";
  if (verify == nullptr || !verify->beyond_rounding) return "No output changed beyond rounding";
  return verify->algebra_done ? "No output changed in float64" : protocol::proofTitle(*verify);
}

std::string proofText(const protocol::VerifyResult& verify) {
  if (verify.exact != true) return {};
  const std::string caution = protocol::proofCaution(verify);
  return protocol::proofTitle(verify) + (caution.empty() ? "." : ". " + caution);
}

bool isAccepted(const Facts& facts) { return isEqual(facts) == true || facts.fold->reason.empty(); }

Banner ofFold(const Facts& facts) {
  const protocol::FoldResult& fold = *facts.fold;
  if (!applied(facts)) return {Tone::Neutral, "Nothing was folded", fold.reason + ".", {}};
  const std::optional<bool> equal = isEqual(facts);
  const auto* verify = fold.verify ? &*fold.verify : nullptr;
  const bool beyond = verify != nullptr && verify->beyond_rounding;
  Banner banner{equal != true ? Tone::Bad
                : beyond      ? Tone::Neutral
                              : Tone::Good,
                foldTitle(equal, verify),
                verify != nullptr ? proofText(*verify) : std::string(),
                {}};
  if (!isAccepted(facts)) banner.text = "The fold was not accepted: " + fold.reason + ".";
  return banner;
}

// A comparison on some inputs is no proof, and is not called one.
Banner ofFile(const Facts& facts) {
  const std::optional<bool> equal = isEqual(facts);
  Banner banner{equal == true ? Tone::Good : Tone::Bad,
                foldTitle(equal, nullptr),
                "The fold is " + std::filesystem::path(facts.file->path).filename().string() + ".",
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

// The figure that a window would show of a measurement: none where the figure means nothing.
std::pair<std::string, std::string> speedFigure(const protocol::BenchPoint& point) {
  const std::string where = point.device == "cpu" ? " on CPU" : " on GPU";
  if (point.outputs && point.outputs->beyond) return {"wrong outputs", "measured" + where};
  const std::string ratio = ratioText(point.speedup), range = "(" + intervalText(point.ci_low, point.ci_high) + ")";
  if (point.crowded) return {"not reliable", "speed on a busy" + where.substr(3) + ", " + ratio + " " + range};
  if (touchesOne(point.ci_low, point.ci_high)) return {"no clear gain", "speed" + where + ", " + ratio + " " + range};
  return {ratio, "speed" + where + " " + range};
}

void addFigures(const Facts& facts, Banner& banner) {
  if (facts.file || applied(facts)) {
    banner.figures.emplace_back(
        std::to_string(foldedNorms(facts)) + " of " + std::to_string(facts.analysis.totals.layer_norms),
        facts.file || isAccepted(facts) ? "LayerNorms folded" : "LayerNorms would fold");
  }
  const auto add = [&](const std::string& type, double difference, double limit) {
    banner.figures.emplace_back(errorText(difference), type + " difference, allowed " + errorText(limit));
  };
  if (applied(facts)) {
    const auto* verify = facts.fold->verify ? &*facts.fold->verify : nullptr;
    if (verify && verify->algebra_done) add("float64", verify->algebra.max_rel, verify->algebra.limit);
    if (verify && verify->file_done && verify->file_dtype != "float64")
      add(verify->file_dtype, verify->file.max_rel, verify->file.limit);
  } else if (facts.file && facts.inType && facts.inType->error.empty()) {
    add(facts.inType->dtype, largest(*facts.inType), facts.file->limit);
  }
  const protocol::BenchPoint* measured = facts.bench ? firstMeasured(*facts.bench) : nullptr;
  if (measured != nullptr && measured->b) banner.figures.push_back(speedFigure(*measured));
}

// The parts of the page below its verdict follow. nullopt: there is nothing to report.

constexpr size_t kNamed = 4;  // as many examples as fit beside a number

// Lists the first ones, and how many more.
std::string some(const std::vector<std::string>& all, const char* between) {
  const std::vector<std::string> first(all.begin(),
                                       all.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, all.size())));
  const std::string text = boost::algorithm::join(first, between);
  return all.size() > kNamed ? text + between + "and " + std::to_string(all.size() - kNamed) + " more" : text;
}

// These titles describe the edits of one kind, in the order in which a plan carries them out. The norms have a section
// of their own.
constexpr std::pair<EditKind, const char*> kEditKinds[] = {
    {EditKind::AbsorbScale, "Scales moved into weights"},
    {EditKind::CenterConstant, "Weights and embeddings centered"},
    {EditKind::InsertCentering, "Centerings at run time"},
    {EditKind::DropAddend, "Addends dropped"},
    {EditKind::AbsorbShift, "β moved into the next biases"},
    {EditKind::AbsorbGain, "γ moved into the next weights"},
    {EditKind::RestoreMean, "Means carried next to a stream"}};

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
  if (verify && verify->file_done && verify->file_dtype != "float64") chart.fileLimit = verify->file.limit;
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
    table.rows.push_back({row.name, diff->dtype, errorText(row.max_rel), errorText(row.max_abs),
                          errorText(row.mean_abs), formatted("%.9g", row.cosine)});
  }
}

void addWhyNot(const std::optional<DiffResult>& diff, Section& section) {
  if (!diff) return;
  for (const std::string& why : {diff->error, diff->norms_reason}) {
    if (!why.empty()) section.blocks.emplace_back(Paragraph{diff->dtype + ": " + why});
  }
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

std::string normId(int norm) { return "norm-" + std::to_string(norm); }

std::string verdictText(Verdict verdict) {
  return verdict == Verdict::WithCentering ? "with centering" : nameOf(verdict);
}

std::string rangeText(double low, double high) { return formatted("%.3g … %.3g", low, high); }

Card cardOf(const Facts& facts, size_t index) {
  const protocol::NormInfo& norm = facts.analysis.norms[index];
  Card card{normId(norm.index),          norm.title,    norm.name == norm.title ? std::string() : norm.name,
            {verdictText(norm.verdict)}, {norm.reason}, {}};
  // With a cause it is a sentence, else a mark.
  std::string state = stateOf(facts, index);
  if (state.find(" because ") != std::string::npos) {
    state.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(state.front())));
    card.texts.push_back(state + ".");
  } else if (!state.empty()) {
    card.marks.push_back(state);
  }
  for (const auto* diff : {&facts.exact, &facts.inType}) {
    if (!*diff) continue;
    const auto& rows = (*diff)->rows;
    const auto row = std::ranges::find_if(
        rows, [&](const DiffRow& each) { return each.kind == SiteKind::NormOutput && each.norm == norm.index; });
    if (row != rows.end()) card.figures.emplace_back("difference after it, " + (*diff)->dtype, errorText(row->max_rel));
  }
  if (norm.has_gamma) card.figures.emplace_back("γ", rangeText(norm.gamma_min, norm.gamma_max));
  if (norm.has_beta) card.figures.emplace_back("β", rangeText(norm.beta_min, norm.beta_max));
  card.figures.emplace_back("ε", errorText(norm.eps));
  return card;
}

Cards cardsOf(const Facts& facts) {
  Cards all;
  for (size_t i = 0; i < facts.analysis.norms.size(); ++i) all.cards.push_back(cardOf(facts, i));
  if (!facts.graph) return all;
  for (size_t i = 0; i < facts.graph->places.size(); ++i) {
    const protocol::ReportPlace& place = facts.graph->places[i];
    if (place.norms.size() < 2) continue;
    Card card;
    card.id = "group-" + std::to_string(i);
    card.title = place.title;
    card.marks.push_back(plural(place.norms.size(), "LayerNorm"));
    for (const int norm : place.norms)
      card.links.push_back({facts.analysis.norms[static_cast<size_t>(norm)].title, normId(norm)});
    all.cards.push_back(std::move(card));
  }
  return all;
}

Graph graphOf(const Facts& facts) {
  if (!facts.graph) {
    const std::string name = std::filesystem::path(facts.model).filename().string();
    return {{},
            {},
            "The graph is in the report that the window writes: " + lineOf({"normlens", name, "--report"}) +
                " FILE.html, or File, Export report."};
  }
  Graph graph{*facts.graph, {}, {}};
  for (size_t i = 0; i < facts.graph->places.size(); ++i) {
    const protocol::ReportPlace& place = facts.graph->places[i];
    const protocol::NormInfo& first = facts.analysis.norms[static_cast<size_t>(place.norms.front())];
    graph.links.push_back(
        place.norms.size() == 1
            ? Link{first.title + ", " + verdictText(first.verdict), normId(first.index)}
            : Link{place.title + ", " + plural(place.norms.size(), "LayerNorm"), "group-" + std::to_string(i)});
  }
  return graph;
}

// nullopt: there is no fold to draw.
std::optional<Section> graphSection(const Facts& facts) {
  if (!facts.graph && !facts.file && facts.plan.empty()) return std::nullopt;
  Section section{"The graph", "", false, {graphOf(facts)}};
  if (facts.graph) section.blocks.emplace_back(cardsOf(facts));
  return section;
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
    const protocol::VerifyResult& verify = *facts.fold->verify;
    if (const std::string basis = protocol::limitBasis(verify); verify.file_done && !basis.empty())
      section.blocks.emplace_back(Paragraph{"Allowed in " + verify.file_dtype + ": " + basis + "."});
    for (const std::string& detail : protocol::proofDetails(verify)) section.blocks.emplace_back(Paragraph{detail});
  }
  if ((facts.exact || facts.inType) && !chartOf(facts).norms.empty()) section.blocks.emplace_back(normsFigure(facts));
  addWhyNot(facts.exact, section);
  addWhyNot(facts.inType, section);
  return section;
}

// Norms with the same verdict, state and reason share a row.
std::optional<Section> normsSection(const Facts& facts) {
  const auto& norms = facts.analysis.norms;
  if (norms.empty() && facts.analysis.other_norms.empty()) return std::nullopt;
  std::vector<std::array<std::string, 3>> said;
  std::vector<std::vector<Link>> names;
  const auto say = [&](std::optional<Verdict> verdict, const std::string& state, const std::string& reason, Link norm) {
    const std::array key{verdict ? verdictText(*verdict) : "–", state, reason};
    const auto found = std::ranges::find(said, key);
    if (found == said.end()) names.emplace_back();
    const auto row = static_cast<size_t>(found - said.begin());
    if (found == said.end()) said.push_back(key);
    names[row].push_back(std::move(norm));
  };
  for (size_t i = 0; i < norms.size(); ++i)
    say(norms[i].verdict, stateOf(facts, i), norms[i].reason, {norms[i].title, normId(norms[i].index)});
  for (const auto& other : facts.analysis.other_norms)
    say(other.verdict, "stays as it is", other.reason, {other.name + " (" + other.kind + ")", ""});
  Table table{{"can be folded", "in this fold", "count", "norms", "why"}, {}, facts.fold ? 3 : 2, names};
  if (!facts.fold) table.heads.erase(table.heads.begin() + 1);
  for (size_t row = 0; row < said.size(); ++row) {
    const auto& [verdict, state, reason] = said[row];
    std::vector<std::string> cells{verdict}, all;
    if (facts.fold) cells.push_back(state);
    for (const Link& norm : names[row]) all.push_back(norm.text);
    cells.insert(cells.end(), {std::to_string(names[row].size()), boost::algorithm::join(all, ", "), reason});
    table.rows.push_back(std::move(cells));
  }
  Section section{"The norms", "", false, {std::move(table)}};
  if (!facts.graph) section.blocks.emplace_back(cardsOf(facts));
  return section;
}

std::optional<Section> differencesSection(const Facts& facts) {
  Table table{{"output", "type", "largest relative", "largest", "mean", "cosine"}, {}};
  addOutputs(facts.exact, table);
  addOutputs(facts.inType, table);
  if (table.rows.empty()) return std::nullopt;
  // The figure on top is the largest relative difference, where there is one output.
  if (std::ranges::all_of(table.rows, [&](const auto& row) { return row.front() == table.rows.front().front(); })) {
    table.heads.erase(table.heads.begin() + 2);
    for (auto& row : table.rows) row.erase(row.begin() + 2);
  }
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
                                     {"folded", formatted("%.4g ms", point->b->latency.median_ms)}}});
  for (const std::string& caution : protocol::cautions(*point)) section.blocks.emplace_back(Paragraph{caution});
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
  document.sections =
      withoutEmpty(graphSection(facts), normsSection(facts), planSection(facts), proofSection(facts),
                   differencesSection(facts), latencySection(facts), std::optional<Section>(commandsSection(facts)));
  document.plan = facts.plan;
  document.planName = planName(facts);
  document.footer = "Made by NormLens " + facts.version + ": one self-contained file.";
  return document;
}

}  // namespace normlens::engine::report

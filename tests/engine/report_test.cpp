// The page about a fold: what it claims, that nothing of a model's file is more than text in it, that it is whole.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "app/engine/verbs/report/compose.h"
#include "app/engine/verbs/report/document.h"
#include "app/engine/verbs/report/figures.h"
#include "app/engine/verbs/report/last_fold.h"
#include "core/base/bytes/base64.h"
#include "tests/support/must.h"

namespace normlens::engine::report {
namespace {

constexpr const char* kHostile = "<script>alert(1)</script>\"'><img src=x onerror=y>|`**b** [l](http://e) &lt;";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

protocol::DiffRow row(SiteKind kind, const std::string& name, double maxRel) {
  protocol::DiffRow made;
  made.kind = kind;
  made.name = name;
  made.norm = 0;
  made.max_rel = maxRel;
  return made;
}

protocol::EditInfo edit(EditKind kind, const std::string& text) {
  protocol::EditInfo made;
  made.kind = kind;
  made.text = text;
  return made;
}

protocol::NormState folded(int norm, const std::string& because) {
  protocol::NormState made;
  made.norm = norm;
  made.state = NormOutcome::Folded;
  made.because = because;
  return made;
}

// A fold of two LayerNorms of two, proved; every text that a file decides is `name`.
Facts someFacts(const std::string& name = "ln") {
  Facts facts;
  facts.model = name + ".pt";
  facts.version = "0.1.0";
  facts.date = "2030-01-02";
  facts.sha256 = std::string(64, 'a');
  facts.norm = "portable";
  facts.info.format = "torchscript";
  facts.info.parameters = 1'500'000;
  facts.analysis.totals.layer_norms = 2;
  facts.analysis.totals.free = 2;
  facts.analysis.inputs.emplace_back();
  facts.analysis.inputs.front().name = name;
  for (int i = 0; i < 2; ++i) {
    protocol::NormInfo norm;
    norm.index = i;
    norm.title = name + std::to_string(i);
    norm.verdict = Verdict::Free;
    norm.reason = "reason of " + name;
    facts.analysis.norms.push_back(norm);
  }
  protocol::FoldResult fold;
  fold.ok = true;
  fold.plan.policy = Policy::Balanced;
  fold.plan.layer_norms = 2;
  fold.plan.folded = {0, 1};
  fold.plan.tensors_centered = 3;
  fold.plan.norms = {folded(0, name), folded(1, name)};
  fold.plan.edits = {edit(EditKind::CenterConstant, "center " + name), edit(EditKind::ReplaceNorm, name),
                     edit(EditKind::ReplaceNorm, name)};
  fold.verify.emplace();
  fold.verify->algebra_done = fold.verify->file_done = true;
  fold.verify->algebra = {1e-16, 4e-16, 1e-10};
  fold.verify->file = {1e-7, 3e-7, 2e-6};
  fold.verify->file_dtype = "float32";
  fold.verify->exact = true;
  facts.fold = fold;
  facts.plan = "{\"plan\": true}";
  protocol::DiffResult diff;
  diff.dtype = "float32";
  diff.rows = {row(SiteKind::NormOutput, name, 2e-7), row(SiteKind::Output, name, 3e-7)};
  facts.inType = diff;
  diff.dtype = "float64";
  facts.exact = diff;
  return facts;
}

size_t countOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

protocol::BenchResult someBench(bool noise) {
  protocol::BenchPoint point;
  point.device = "cpu";
  point.dtype = "float32";
  point.threads = 2;
  point.rounds = {{2, 1}, {2.1, 1.1}, {2, 1}};
  point.b.emplace();
  point.speedup = 1.98;
  point.ci_low = noise ? 0.9 : 1.9;
  point.ci_high = 2.05;
  point.noise = noise;
  protocol::BenchResult result;
  result.points = {point};
  result.machine.cpu = "Some CPU";
  return result;
}

protocol::ReportGraph someGraph() {
  protocol::ReportGraph graph;
  graph.width = graph.height = 90;
  const std::string svg = "<svg><rect fill=\"var(--g0)\"/><text>ln &lt;b&gt;</text></svg>";
  graph.pictures = {{"Before", "before", svg}, {"After", "after", svg}};
  graph.colors = {{"#ffffff", "#121418"}};
  graph.places = {{"", {0}, 1, 1, 2, 2}};
  return graph;
}

TEST(Report, AProvedFoldSaysSo) {
  const Document document = composed(someFacts());
  EXPECT_EQ(document.banner.tone, Tone::Good);
  EXPECT_EQ(document.banner.title, "No output changed beyond rounding");
  EXPECT_EQ(document.banner.text, "Exact in float64 and float32.");
  using Figure = std::pair<std::string, std::string>;
  const std::vector<Figure> figures{{"2 of 2", "LayerNorms folded"},
                                    {"4e-16", "float64 difference, allowed 1e-10"},
                                    {"3e-7", "float32 difference, allowed 2e-6"}};
  EXPECT_EQ(document.banner.figures, figures) << "no latency: it was not measured";
}

TEST(Report, ItsTitleHasBothErrorsAndTheNormsThatDidNotRun) {
  Facts facts = someFacts();
  facts.analysis.norms[1].name = "second";
  facts.fold->verify->not_run = {"second"};
  EXPECT_EQ(composed(facts).banner.title, "No output changed beyond rounding");
  EXPECT_EQ(composed(facts).banner.text, "Exact in float64 and float32 · 1 not run.");
  EXPECT_TRUE(has(asMarkdown(composed(facts)), "folded because ln, not run by the proof | 1 | ln1"));
  facts.fold->verify->not_run.clear();
  facts.fold->verify->beyond_rounding = true;
  facts.fold->verify->errors = {0.0018, 0.063};
  EXPECT_EQ(composed(facts).banner.title, "No output changed in float64");
  EXPECT_EQ(composed(facts).banner.tone, Tone::Neutral);
  EXPECT_EQ(
      composed(facts).banner.text,
      "Exact in float64 · float32 off by 0.063. In float32, the fold is off by 0.063 and the original by 2e-3: more "
      "than rounding.");
}

TEST(Report, AProofByTheFilesAloneSaysNothingOfFloat64) {
  Facts facts = someFacts();
  facts.fold->verify->algebra_done = false;
  facts.fold->verify->beyond_rounding = true;
  facts.fold->verify->errors = {0.05, 0.063};
  EXPECT_EQ(composed(facts).banner.title, "float32 as near as the original");
}

// Its own type is float64: there is one comparison, and one limit.
TEST(Report, AFloat64FileIsComparedOnce) {
  Facts facts = someFacts();
  facts.fold->verify->file_dtype = "float64";
  facts.inType->dtype = "float64";
  facts.exact.reset();
  const Document document = composed(facts);
  EXPECT_EQ(document.banner.text, "Exact in float64.");
  const auto proof = std::ranges::find(document.sections, "The proof", &Section::title);
  ASSERT_NE(proof, document.sections.end());
  const auto figure =
      std::ranges::find_if(proof->blocks, [](const Block& block) { return std::holds_alternative<Figure>(block); });
  ASSERT_NE(figure, proof->blocks.end());
  const auto& [svg, alt, legend] = std::get<Figure>(*figure);
  EXPECT_EQ(alt, "Largest relative difference after each of 1 norms: at most 2e-7 in float64");
  EXPECT_EQ(legend, "The largest relative difference after each norm: \u25a1 float64.");
  EXPECT_EQ(countOf(svg, "allowed in float64"), 1U);
}

TEST(Report, WhatIsNotProvedIsNotCalledSo) {
  Facts facts = someFacts();
  facts.fold->verify->exact = false;
  facts.fold->reason = "the folded model gives outputs that differ; the first LayerNorm to differ is ln0";
  Document document = composed(facts);
  EXPECT_EQ(document.banner.tone, Tone::Bad);
  EXPECT_EQ(document.banner.title, "The fold changes an output");
  EXPECT_FALSE(has(document.banner.text, "Proved"));
  EXPECT_TRUE(has(document.banner.text, "ln0"));
  EXPECT_EQ(document.banner.figures.front().second, "LayerNorms would fold");
  facts.fold->verify->exact.reset();
  document = composed(facts);
  EXPECT_EQ(document.banner.tone, Tone::Bad);
  EXPECT_FALSE(has(document.banner.title, "No output changed"));
}

TEST(Report, NothingFoldedIsNeitherGoodNorBad) {
  Facts facts = someFacts();
  facts.plan.clear();
  facts.fold = protocol::FoldResult{};
  facts.fold->reason = "no LayerNorm of this model can be folded under this policy";
  facts.exact = facts.inType = std::nullopt;
  const Document document = composed(facts);
  EXPECT_EQ(document.banner.tone, Tone::Neutral);
  EXPECT_TRUE(document.banner.figures.empty());
  EXPECT_FALSE(has(asHtml(document), "download="));
}

TEST(Report, AFileIsComparedAndNotProved) {
  Facts facts = someFacts();
  facts.fold.reset();
  facts.plan.clear();
  facts.file = FoldedFile{"folded.pt", 0, 1e-6};
  EXPECT_EQ(isEqual(facts), true);
  EXPECT_TRUE(has(composed(facts).banner.text, "a comparison, not a proof"));
  facts.file->limit = 1e-7;
  EXPECT_EQ(isEqual(facts), false);
  EXPECT_EQ(composed(facts).banner.tone, Tone::Bad);
  facts.inType->error = "other shapes";
  EXPECT_EQ(isEqual(facts), std::nullopt);
  facts.inType.reset();
  facts.exact.reset();
  EXPECT_EQ(isEqual(facts), std::nullopt);
  EXPECT_EQ(composed(facts).banner.tone, Tone::Bad);
}

// The window's words.
TEST(Report, ASpeedThatIsNotSureIsNoBoldFigure) {
  Facts facts = someFacts();
  const auto speed = [&] { return composed(facts).banner.figures.back(); };
  using Figure = std::pair<std::string, std::string>;
  facts.bench = someBench(false);
  EXPECT_EQ(speed(), Figure("1.98×", "speed on CPU (1.90–2.05)"));
  EXPECT_TRUE(has(asHtml(composed(facts)), "Some CPU, 2 threads"));
  EXPECT_TRUE(has(asHtml(composed(facts)), "--rounds 3"));
  facts.bench = someBench(true);
  EXPECT_EQ(speed(), Figure("no clear gain", "speed on CPU, 1.98× (0.90–2.05)"));
  protocol::BenchPoint& point = facts.bench->points.front();
  point.crowded = true;
  point.other_cores = 1.5;
  EXPECT_EQ(speed(), Figure("not reliable", "speed on a busy CPU, 1.98× (0.90–2.05)"));
  EXPECT_TRUE(has(asMarkdown(composed(facts)), "Other programs used 1.5 cores; treat these figures with caution."));
  point.outputs = {.max_rel = 0.25, .noise_floor = 3e-5, .beyond = true};
  EXPECT_EQ(speed(), Figure("wrong outputs", "measured on CPU"));
  EXPECT_TRUE(has(asMarkdown(composed(facts)), "The speed of a wrong result means nothing."));
}

// One figure per fact.
TEST(Report, EachFigureStandsOnce) {
  Facts facts = someFacts();
  facts.fold->verify->algebra = {1.23e-16, 4.56e-16, 7.89e-11};
  facts.fold->verify->file = {1.21e-7, 3.43e-7, 2.65e-6};
  facts.bench = someBench(false);
  facts.bench->points.front().speedup = 1.37;
  facts.bench->points.front().a.latency.median_ms = 2.468;
  const std::string page = asMarkdown(composed(facts));
  for (const char* figure : {"5e-16", "8e-11", "3e-7", "3e-6", "1.37×", "2.468 ms", "2 of 2"}) {
    const size_t at = page.find(figure);
    ASSERT_NE(at, std::string::npos) << figure << page;
    EXPECT_EQ(page.find(figure, at + 1), std::string::npos) << figure << page;
  }
}

TEST(Report, NormsOfWhichTheSameIsSaidAreOneRow) {
  Facts facts = someFacts();
  EXPECT_TRUE(has(asMarkdown(composed(facts)), "| free | folded because ln | 2 | ln0, ln1 | reason of ln |"));
  facts.analysis.norms[1].verdict = Verdict::Blocked;
  EXPECT_TRUE(has(asMarkdown(composed(facts)), "| blocked | folded | 1 | ln1 | reason of ln |"));
  EXPECT_FALSE(has(asMarkdown(composed(facts)), "unknown"));
  facts.analysis.norms[1].verdict = Verdict::Unknown;
  facts.analysis.totals.unknown = 1;
  EXPECT_TRUE(has(asMarkdown(composed(facts)), "| unknown | folded | 1 | ln1 | reason of ln |"));
}

TEST(Report, OtherNormsSayWhyTheyStay) {
  Facts facts = someFacts();
  protocol::OtherNormInfo other;
  other.name = "gn";
  other.kind = "GroupNorm";
  other.verdict = Verdict::Blocked;
  other.reason = "it is over space";
  protocol::OtherNormInfo meanless;
  meanless.name = "bn";
  meanless.kind = "BatchNorm";
  meanless.reason = "it takes no mean";
  facts.analysis.other_norms = {other, meanless};
  const std::string page = asMarkdown(composed(facts));
  EXPECT_TRUE(has(page, "| blocked | stays as it is | 1 | gn (GroupNorm) | it is over space |"));
  EXPECT_TRUE(has(page, "| – | stays as it is | 1 | bn (BatchNorm) | it takes no mean |"));
}

// Nothing that a model's file says is markup, in no place.
TEST(Report, AHostileNameIsText) {
  Facts facts = someFacts(kHostile);
  facts.bench = someBench(true);
  facts.bench->machine.cpu = kHostile;
  facts.fold->holds_if = {{"x", -1, kHostile, kHostile}};
  facts.fold->verify->first_diverging = kHostile;
  facts.fold->reason = kHostile;
  facts.inType->norms_reason = kHostile;
  facts.graph = someGraph();
  facts.graph->places.push_back({kHostile, {0, 1}, 1, 1, 2, 2});
  for (const std::optional<bool> exact : {std::optional(true), std::optional(false)}) {
    facts.fold->verify->exact = exact;
    const std::string html = asHtml(composed(facts));
    for (const char* markup : {"<script>alert", "<img", "onerror=y>"}) EXPECT_FALSE(has(html, markup)) << markup;
    EXPECT_EQ(html.find("<script"), html.rfind("<script")) << "the page's own";
    EXPECT_TRUE(has(html, "&lt;script&gt;"));
    const std::string markdown = asMarkdown(composed(facts));
    const std::string outside = markdown.substr(0, markdown.find("```"));  // commands are fenced
    for (const char* markup : {"<script", "<img", "**b", "[l", "`"}) {
      for (size_t at = outside.find(markup); at != std::string::npos; at = outside.find(markup, at + 1)) {
        EXPECT_EQ(outside[at - 1], '\\') << markup << " in " << outside.substr(at - 1, 60);
      }
    }
  }
}

TEST(Report, ControlCharactersAreGone) {
  EXPECT_EQ(escaped("a\nb\x1b[2J\xE2\x80\xAE"), "a?b?[2J???");  // NOLINT(misc-misleading-bidirectional)
  EXPECT_EQ(escaped("<a href=\"x\" id='y'>&"), "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;");
  EXPECT_EQ(markdownText("a|b\n`c`"), "a\\|b?\\`c\\`");
}

TEST(Report, AFenceIsLongerThanWhatItHolds) {
  Document document;
  document.sections.push_back({"t", "", false, {Commands{{"normlens '```` x'"}}}});
  const std::string markdown = asMarkdown(document);
  EXPECT_TRUE(has(markdown, "\n`````sh\n"));
  EXPECT_TRUE(has(markdown, "\n`````\n"));
}

TEST(Report, ThePageIsWholeAndAsksForNothing) {
  Facts facts = someFacts();
  facts.bench = someBench(false);
  const std::string html = asHtml(composed(facts));
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
  const std::string script = html.substr(html.find("<script>") + 8, html.find("</script>") - html.find("<script>") - 8);
  EXPECT_TRUE(has(html, "default-src 'none'; script-src 'sha256-"));
  EXPECT_TRUE(has(html, "='; style-src 'unsafe-inline'; img-src data:\">"));
  EXPECT_TRUE(has(script, "addEventListener"));
  EXPECT_TRUE(has(html, "prefers-color-scheme: dark"));
  for (const char* outside : {"http://", "https://", "<link", "@import", "url(", " src="})
    EXPECT_FALSE(has(html, outside));
  EXPECT_TRUE(has(html, "download=\"ln.plan.json\" href=\"data:application/json;base64," + base64(facts.plan) + "\""));
  EXPECT_TRUE(has(html, "normlens fold ln.pt -o ln-rms.pt"));
}

TEST(Report, PicturesOfTheGraphStandInThePageAndNotInMarkdown) {
  Facts facts = someFacts();
  facts.graph = someGraph();
  facts.graph->pictures.front().alt = kHostile;
  const std::string html = asHtml(composed(facts));
  EXPECT_TRUE(has(html, "<figure class=\"picture\" id=\"picture-0\"><figcaption>Before</figcaption>")) << html;
  EXPECT_TRUE(has(html, "<g id=\"drawing-1\" aria-hidden=\"true\">" + facts.graph->pictures.back().svg + "</g>"));
  EXPECT_TRUE(has(html, ".graph{--g0:#ffffff;}@media screen and (prefers-color-scheme: dark){.graph{--g0:#121418;}}"));
  EXPECT_TRUE(has(html, "id=\"show-1\" checked><label for=\"show-1\">After</label>"));
  EXPECT_TRUE(has(html, "<use href=\"#drawing-1\"/>")) << "for paper";
  EXPECT_FALSE(has(html, "File, Export report"));
  const std::string markdown = asMarkdown(composed(facts));
  for (const char* never : {"<svg", "The graph", "After"}) EXPECT_FALSE(has(markdown, never)) << never;
}

TEST(Report, APlaceOfTheGraphLeadsToItsNorms) {
  Facts facts = someFacts();
  facts.analysis.norms[1].name = "/block.1/norm";
  facts.analysis.norms[1].has_gamma = true;
  facts.analysis.norms[1].gamma_min = 0.5;
  facts.analysis.norms[1].gamma_max = 1.25;
  facts.graph = someGraph();
  facts.graph->places = {{"", {1}, 10, 20, 30, 8}, {"h <b>", {0, 1}, 10, 40, 30, 8}};
  const std::string html = asHtml(composed(facts));
  const std::string spot =
      "<a class=\"spot\" href=\"#norm-1\" aria-label=\"ln1, free\"><title>ln1, free</title>"
      "<rect x=\"8.0\" y=\"18.0\" width=\"34.0\" height=\"12.0\" rx=\"6\"/></a>";
  EXPECT_NE(html.find(spot), html.rfind(spot)) << "in both pictures";
  EXPECT_TRUE(has(html, "href=\"#group-1\" aria-label=\"h &lt;b&gt;, 2 LayerNorms\""));
  const size_t card = html.find("<article class=\"card\" id=\"norm-1\"");
  ASSERT_NE(card, std::string::npos);
  const std::string shown = html.substr(card, html.find("</article>", card) - card);
  for (const char* part : {">ln1</h3>", "<p class=\"name\">/block.1/norm</p>", "<span>free</span>",
                           "Folded because ln.", "reason of ln", "<dt>γ</dt><dd>0.5 … 1.25</dd>"})
    EXPECT_TRUE(has(shown, part)) << part << shown;
  EXPECT_TRUE(has(html, "id=\"group-1\"")) << "and the group lists both";
  EXPECT_TRUE(has(html, "<a href=\"#norm-0\">ln0</a>, <a href=\"#norm-1\">ln1</a>"));
}

TEST(Report, ATallGraphIsCutIntoColumnsOnPaper) {
  Facts facts = someFacts();
  facts.graph = someGraph();
  const auto columns = [&] {
    const std::string html = asHtml(composed(facts));
    size_t count = 0;
    for (size_t at = html.find("<use "); at != std::string::npos; at = html.find("<use ", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(columns(), 1U);
  facts.graph->height = 2000;
  EXPECT_EQ(columns(), 3U);
}

TEST(Report, WithoutPicturesItSaysHowToGetThemAndHasTheCards) {
  const std::string html = asHtml(composed(someFacts()));
  EXPECT_TRUE(has(html, "normlens ln.pt --report FILE.html, or File, Export report."));
  EXPECT_TRUE(has(html, "id=\"norm-1\""));
  Facts nothing = someFacts();
  nothing.plan.clear();
  EXPECT_FALSE(has(asHtml(composed(nothing)), "Export report")) << "there is no fold to draw";
}

TEST(GraphPicture, OnlyColorsAndPlacesOfNormsAreTaken) {
  EXPECT_TRUE(checkedGraph(someGraph(), 2));
  const auto refused = [](auto change) {
    protocol::ReportGraph graph = someGraph();
    change(graph);
    return !checkedGraph(std::move(graph), 2);
  };
  EXPECT_TRUE(refused([](auto& graph) { graph.width = std::nan(""); }));
  EXPECT_TRUE(refused([](auto& graph) { graph.height = 0; }));
  EXPECT_TRUE(refused([](auto& graph) { graph.colors.front().dark = "red"; }));
  EXPECT_TRUE(refused([](auto& graph) { graph.colors.front().light = "#fff;}*"; }));
  EXPECT_TRUE(refused([](auto& graph) { graph.places.front().norms = {2}; }));
  EXPECT_TRUE(refused([](auto& graph) { graph.places.front().norms = {-1}; }));
  EXPECT_TRUE(refused([](auto& graph) { graph.places.front().norms.clear(); }));
  EXPECT_TRUE(refused([](auto& graph) { graph.places.front().width = -1; }));
  EXPECT_TRUE(refused([](auto& graph) { graph.pictures.front().svg = "<svg><script/></svg>"; }));
}

TEST(GraphPicture, IsTakenAsItIs) {
  const std::string svg =
      "<svg width=\"9mm\" viewBox=\"0 0 9 9\" xmlns=\"http://www.w3.org/2000/svg\">\n<title>g</title>"
      "<g fill='url(#gradient1)' ><path d=\"M0 0\"/></g><text x=\"1\">a &lt;script&gt; &amp; href=\"b\"</text></svg>";
  const auto taken = must(drawingOnly("<?xml version=\"1.0\"?>\n<!DOCTYPE svg>\n" + svg + "\n"));
  EXPECT_EQ(taken, svg) << "text is no markup";
}

TEST(GraphPicture, WhatRunsOrIsFetchedOrEndsItEarlyIsRefused) {
  for (const char* inside : {"<script>alert(1)</script>",
                             "<SCRIPT/>",
                             "<image href=\"http://e/x.png\"/>",
                             "<a href=\"x\"/>",
                             "<foreignObject><p/></foreignObject>",
                             "<rect onclick=\"x()\"/>",
                             "<rect ONload='x()'/>",
                             "<rect style=\"background:url(http://e)\"/>",
                             "<rect fill=\"url(http://e)\"/>",
                             "<rect fill=\"URL(//e)\"/>",
                             "<rect fill=\"url(#a) url(//e)\"/>",
                             "<rect fill=\"\\75rl(//e)\"/>",
                             "<rect fill=\"&#117;rl(//e)\"/>",
                             "<rect fill=\"url&lpar;//e)\"/>",
                             "<rect class=\"banner\"/>",
                             "<use xlink:href=\"#a\"/>",
                             "<!-- x -->",
                             "<![CDATA[x]]>",
                             "</svg><p>",
                             "<g>",
                             "</g>",
                             "<rect fill=red/>",
                             "<rect fill=\"red/>",
                             "<rect"}) {
    EXPECT_FALSE(drawingOnly("<svg>" + std::string(inside) + "</svg>")) << inside;
  }
  for (const char* whole : {"", "<p/>", "<svg>", "<svg></svg><p/>", "<svg", "text"})
    EXPECT_FALSE(drawingOnly(whole)) << whole;
}

// The window's way, with a model.
TEST(ReportOfLastFold, TellsTheFoldThatWasMade) {
  service::Service service;
  const auto path = std::filesystem::path(NORMLENS_DEMO_MODELS) / "gpt2.pt";
  ASSERT_TRUE(service.open(path, Task{}));
  ASSERT_TRUE(service.analyze(Task{}));
  protocol::ReportParams params;
  params.model = "gpt2.pt";
  EXPECT_FALSE(reportOfLastFold(service, params, Task{})) << "nothing is folded";
  const auto fold = service.fold({}, Task{});
  ASSERT_TRUE(fold && fold->ok);
  params.graph = someGraph();
  params.graph->pictures.front().svg = "<?xml?><svg><rect/></svg>";
  params.bench.emplace().points.emplace_back().a.model = "elsewhere.pt";
  const auto page = must(reportOfLastFold(service, params, Task{}));
  EXPECT_TRUE(has(page.text, "No output changed beyond rounding"));
  EXPECT_TRUE(has(page.text, "<svg><rect/></svg>"));
  EXPECT_TRUE(has(page.text, "normlens fold gpt2.pt -o gpt2-rms.pt --plan gpt2.plan.json")) << "the page has that plan";
  EXPECT_FALSE(has(page.text, "Latency")) << "that was no measurement of this fold";
  params.format = protocol::ReportFormat::Markdown;
  EXPECT_TRUE(has(reportOfLastFold(service, params, Task{})->text, "# Fold report: gpt2.pt"));
  params.graph->pictures.front().svg = "<svg><script/></svg>";
  EXPECT_FALSE(reportOfLastFold(service, params, Task{}));
}

TEST(Figures, StayInsideTheirFrameWhateverTheNumbers) {
  ProofChart chart;
  chart.norms = {"a", "b", "c"};
  chart.exact = {0.0, 1e-300, std::nullopt};
  chart.file = {1e-7, std::numeric_limits<double>::infinity(), std::nan("")};
  chart.exactLimit = 1e-10;
  chart.fileType = "float32";
  for (const std::string& svg : {proofFigure(chart).svg, latencyFigure({{1, 1}}).svg,
                                 latencyFigure({{0, 0}, {0, 0}}).svg, proofFigure(ProofChart{}).svg}) {
    EXPECT_FALSE(has(svg, "\"nan")) << svg;
    EXPECT_FALSE(has(svg, "\"inf")) << svg;
    EXPECT_FALSE(has(svg, "\"-")) << svg;
    EXPECT_TRUE(svg.ends_with("</svg>"));
  }
}

}  // namespace
}  // namespace normlens::engine::report

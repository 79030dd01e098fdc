// The page about a fold: what it claims, that nothing of a model's file is more than text in it, that it is whole.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "app/engine/verbs/report/compose.h"
#include "app/engine/verbs/report/document.h"
#include "app/engine/verbs/report/figures.h"
#include "app/engine/verbs/report/last_fold.h"
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

TEST(Report, AProvedFoldSaysSo) {
  const Document document = composed(someFacts());
  EXPECT_EQ(document.banner.tone, Tone::Good);
  EXPECT_EQ(document.banner.title, "No output changed beyond rounding");
  EXPECT_TRUE(
      has(document.banner.text, "2 of 2 LayerNorms are now RMSNorms. Proved in float64 and in the file's own type"));
  ASSERT_EQ(document.banner.figures.size(), 4U) << "no latency: it was not measured";
  EXPECT_EQ(document.banner.figures[0].first, "2 / 2");
  EXPECT_EQ(document.banner.figures[2].first, "4e-16");
  EXPECT_EQ(document.banner.figures[3], (std::pair<std::string, std::string>("3e-07", "float32 difference")));
}

TEST(Report, ItsTitleHasBothErrorsAndTheNormsThatDidNotRun) {
  Facts facts = someFacts();
  facts.analysis.norms[1].name = "second";
  facts.fold->verify->not_run = {"second"};
  EXPECT_EQ(composed(facts).banner.title, "No output changed beyond rounding; 1 folded LayerNorm did not run");
  EXPECT_TRUE(has(asMarkdown(composed(facts)), "folded because ln, not run by the proof | 1 | ln1"));
  facts.fold->verify->not_run.clear();
  facts.fold->verify->beyond_rounding = true;
  facts.fold->verify->errors = {0.0018, 0.063};
  EXPECT_EQ(composed(facts).banner.title,
            "No output changed in float64, but in float32 the fold is off by 0.063, the original by 0.0018");
  EXPECT_EQ(composed(facts).banner.tone, Tone::Neutral);
  EXPECT_TRUE(has(composed(facts).banner.text, "Proved in float64.")) << "and not in float32";
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

TEST(Report, ASpeedUpInsideItsNoiseIsCalledNoise) {
  Facts facts = someFacts();
  for (const bool noise : {false, true}) {
    facts.bench = someBench(noise);
    const std::string html = asHtml(composed(facts));
    EXPECT_EQ(has(html, "(noise)"), noise);
    EXPECT_TRUE(has(html, "1.98×"));
    EXPECT_TRUE(has(html, "Some CPU"));
    EXPECT_TRUE(has(html, "3 rounds"));
    EXPECT_TRUE(has(html, "--rounds 3"));
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
  EXPECT_TRUE(has(asHtml(composed(facts)), " · 1 unknown"));
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
  for (const std::optional<bool> exact : {std::optional(true), std::optional(false)}) {
    facts.fold->verify->exact = exact;
    const std::string html = asHtml(composed(facts));
    for (const char* markup : {"<script", "<img", "onerror=y>"}) EXPECT_FALSE(has(html, markup)) << markup;
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
  EXPECT_TRUE(has(html, "default-src 'none'"));
  EXPECT_TRUE(has(html, "prefers-color-scheme: dark"));
  for (const char* outside : {"http://", "https://", "<script", "<link", "@import", "url("})
    EXPECT_FALSE(has(html, outside));
  EXPECT_TRUE(has(html, "download=\"ln.plan.json\" href=\"data:application/json;base64," + base64(facts.plan) + "\""));
  EXPECT_TRUE(has(html, "normlens fold ln.pt -o ln-rms.pt"));
}

TEST(Report, PicturesOfTheGraphStandInThePageAndAreToldInMarkdown) {
  Facts facts = someFacts();
  const std::string svg = "<svg viewBox=\"0 0 9 9\"><text>ln &lt;b&gt;</text></svg>";
  facts.pictures = {{"Before", {svg, kHostile, true}}, {"After", {svg, "after", true}}};
  const std::string html = asHtml(composed(facts));
  EXPECT_TRUE(has(html, "<figure class=\"graph\"")) << html;
  EXPECT_TRUE(has(html, svg));
  EXPECT_FALSE(has(html, "<script"));
  EXPECT_FALSE(has(html, "not drawn"));
  EXPECT_TRUE(has(asMarkdown(composed(facts)), "## After\n"));
  EXPECT_FALSE(has(asMarkdown(composed(facts)), "<svg"));
}

TEST(Report, WithoutPicturesItSaysHowToGetThem) {
  EXPECT_TRUE(has(asHtml(composed(someFacts())), "in the .html report that the window writes: File, Export report."));
  Facts nothing = someFacts();
  nothing.plan.clear();
  EXPECT_FALSE(has(asHtml(composed(nothing)), "Export report")) << "there is no fold to draw";
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
  params.pictures = {{"Before", "the graph", "<?xml?><svg><rect/></svg>"}};
  params.bench.emplace().points.emplace_back().a.model = "elsewhere.pt";
  const auto page = must(reportOfLastFold(service, params, Task{}));
  EXPECT_TRUE(has(page.text, "No output changed beyond rounding"));
  EXPECT_TRUE(has(page.text, "<svg><rect/></svg>"));
  EXPECT_TRUE(has(page.text, "normlens fold gpt2.pt -o gpt2-rms.pt --plan gpt2.plan.json")) << "the page has that plan";
  EXPECT_FALSE(has(page.text, "Latency")) << "that was no measurement of this fold";
  params.format = protocol::ReportFormat::Markdown;
  EXPECT_TRUE(has(reportOfLastFold(service, params, Task{})->text, "# Fold report: gpt2.pt"));
  params.pictures.front().svg = "<svg><script/></svg>";
  EXPECT_FALSE(reportOfLastFold(service, params, Task{}));
}

TEST(Report, Base64IsThatOfTheStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe\xfd\xfc"), "//79/A==");
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

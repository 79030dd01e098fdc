#include "app/engine/verbs/report/last_fold.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>
#include <vector>

#include "app/engine/verbs/model_options.h"
#include "app/engine/verbs/report/compose.h"
#include "app/engine/verbs/report/gather.h"

namespace normlens::engine::report {

namespace {

constexpr std::array<std::string_view, 17> kElements = {
    "svg",  "title",   "desc",   "defs", "g",     "path",           "polyline",       "polygon", "line",
    "rect", "ellipse", "circle", "text", "tspan", "linearGradient", "radialGradient", "stop"};

bool isSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool isName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '-' || c == '_'; }

tl::unexpected<Error> refused(const std::string& what) {
  return fail(ErrorCode::BadInput, "the picture of the graph holds " + what);
}

std::string lowered(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

class Reader {
 public:
  explicit Reader(std::string_view svg) : text_(svg) {}

  // Returns the end of the last element.
  Result<size_t> read() {
    std::vector<std::string_view> open;
    do {
      at_ = text_.find('<', at_);
      if (at_ == std::string_view::npos) return refused("elements without an end");
      ++at_;
      const bool ends = take('/');
      const std::string_view name = takeName();
      if (std::ranges::find(kElements, name) == kElements.end()) return refused("<" + std::string(name) + ">");
      RETURN_IF_ERROR(takeAttributes());
      const bool alone = take('/');
      if (!take('>')) return refused("a broken element");
      if (ends && (open.empty() || open.back() != name)) return refused("elements that are not nested");
      if (ends) open.pop_back();
      if (!ends && !alone) open.push_back(name);
    } while (!open.empty());
    return at_;
  }

 private:
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skipSpace() {
    while (at_ < text_.size() && isSpace(text_[at_])) ++at_;
  }
  std::string_view takeName() {
    const size_t begin = at_;
    while (at_ < text_.size() && isName(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Status takeAttributes() {
    for (skipSpace(); at_ < text_.size() && isName(text_[at_]); skipSpace()) {
      const std::string name = lowered(takeName());
      if (!take('=') || at_ >= text_.size()) return refused("a broken attribute");
      const char quote = text_[at_];
      const size_t end = quote == '"' || quote == '\'' ? text_.find(quote, at_ + 1) : std::string_view::npos;
      if (end == std::string_view::npos) return refused("a broken attribute");
      const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      if (!isHarmless(name, value)) return refused("the attribute " + name);
    }
    return {};
  }

  // Nothing that runs, none of the page's own classes, and no address but one within the drawing.
  static bool isHarmless(const std::string& name, std::string_view value) {
    const bool runs = name.starts_with("on") || name == "style" || name == "class" || name == "src";
    // An address can be written with CSS's escapes, or with HTML's.
    if (runs || name.ends_with("href") || value.find_first_of("<\\&") != std::string_view::npos) return false;
    const std::string lower = lowered(value);
    for (size_t url = lower.find("url("); url != std::string::npos; url = lower.find("url(", url + 1)) {
      if (lower.compare(url, 5, "url(#") != 0) return false;
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

bool isColor(std::string_view text) {
  return (text.size() == 7 || text.size() == 9) && text.front() == '#' &&
         text.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

// Only these points are reported as the latency of the fold.
std::optional<protocol::BenchResult> ofFold(std::optional<protocol::BenchResult> bench) {
  if (!bench) return bench;
  std::erase_if(bench->points, [](const protocol::BenchPoint& point) {
    return point.a.model != "original" || !point.b || !protocol::flavourOfFold(point.b->model);
  });
  return bench->points.empty() ? std::nullopt : std::move(bench);
}

}  // namespace

Result<std::string> drawingOnly(std::string_view svg) {
  const size_t begin = svg.find("<svg");
  if (begin == std::string_view::npos) return refused("no drawing");
  svg.remove_prefix(begin);
  ASSIGN_OR_RETURN(const auto end, Reader(svg).read());
  if (!std::ranges::all_of(svg.substr(end), isSpace)) return refused("more than a drawing");
  return std::string(svg.substr(0, end));
}

Result<protocol::ReportGraph> checkedGraph(protocol::ReportGraph graph, size_t norms) {
  const auto isSize = [](double value) { return std::isfinite(value) && value > 0; };
  if (!isSize(graph.width) || !isSize(graph.height)) return refused("no size");
  for (protocol::ReportPicture& picture : graph.pictures) {
    ASSIGN_OR_RETURN(picture.svg, drawingOnly(picture.svg));
  }
  for (const protocol::ReportColor& color : graph.colors) {
    if (!isColor(color.light) || !isColor(color.dark)) return refused("a color that is none");
  }
  for (const protocol::ReportPlace& place : graph.places) {
    const bool known =
        std::ranges::all_of(place.norms, [&](int norm) { return norm >= 0 && std::cmp_less(norm, norms); });
    if (!known || place.norms.empty() || !std::isfinite(place.x) || !std::isfinite(place.y) || !isSize(place.width) ||
        !isSize(place.height))
      return refused("a place of no norm");
  }
  return graph;
}

Result<protocol::Report> reportOfLastFold(service::Service& service, protocol::ReportParams params, const Task& task) {
  auto fold = service.lastFold();
  if (!fold) return tl::unexpected(fold.error());
  Facts facts = named(params.model);
  facts.info = std::move(fold->info);
  facts.analysis = std::move(fold->analysis);
  addAdvice(facts.analysis);
  if (params.graph) {
    ASSIGN_OR_RETURN(facts.graph, checkedGraph(std::move(*params.graph), facts.analysis.norms.size()));
  }
  facts.fold = std::move(fold->fold);
  facts.norm = fold->norm;
  if (!fold->inputs.npz.empty()) facts.inputWords = {"--inputs", fold->inputs.npz.string()};
  for (const std::string& spec : fold->inputs.specs) facts.inputWords.insert(facts.inputWords.end(), {"--input", spec});
  if (!facts.info.model.empty() && facts.info.models.size() > 1)
    facts.inputWords.insert(facts.inputWords.end(), {"--model", facts.info.model});
  ASSIGN_OR_RETURN(auto plan, service.planText());
  facts.plan = std::move(plan);
  facts.sha256 = service.sourceSha256();
  facts.bench = ofFold(std::move(params.bench));
  // The window's plan may be no policy's: the commands take it from the page.
  facts.policyWords = {"--plan", planName(facts)};
  if (facts.norm != NormChoice().name) facts.policyWords.insert(facts.policyWords.end(), {"--norm", facts.norm});
  for (const std::string& size : fold->inputs.sizes.assume)
    facts.policyWords.insert(facts.policyWords.end(), {"--assume", size});
  if (fold->inputs.sizes.strict) facts.policyWords.emplace_back("--strict");
  RETURN_IF_ERROR(compare(service, facts, task));
  const Document document = composed(facts);
  return protocol::Report{params.format == protocol::ReportFormat::Html ? asHtml(document) : asMarkdown(document)};
}

}  // namespace normlens::engine::report

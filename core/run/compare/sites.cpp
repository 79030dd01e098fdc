#include "core/run/compare/sites.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/run/compare/norm_order.h"
#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::OpKind;
using graph::TensorView;
using graph::ValueId;

// An alignment counts only where it brings the tensors closer by this factor: else rounding would choose.
constexpr double kMuchCloser = 8;
constexpr double kSame = 1e-13;  // in float64

struct NormPlace {
  NodeId node = graph::kNone;
  ValueId input = graph::kNoValue, output = graph::kNoValue;
};

std::vector<NormPlace> normPlaces(const Graph& graph, const std::vector<analysis::LayerNorm>& layerNorms,
                                  const std::vector<analysis::OtherNorm>& others) {
  std::vector<NormPlace> places;
  for (const EitherNorm& norm : normsInOrder(graph, layerNorms, others)) {
    places.push_back({norm.parts().node, norm.parts().input, norm.parts().output});
  }
  return places;
}

// "x" of "x#1", which the reader calls so where several values of the file are called x, and of "x.1", which LibTorch
// does: it counts anew once ops were added.
std::string_view withoutCount(std::string_view name) {
  name = name.substr(0, name.rfind('#'));
  const size_t last = name.find_last_not_of("0123456789");
  const bool isCounted = last != std::string_view::npos && last > 0 && last + 1 < name.size() && name[last] == '.';
  return isCounted ? name.substr(0, last) : name;
}

// "13", "block/13": not a name of the file but a number, and another one once ops were added.
bool isNumber(std::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

void addWithSum(const Graph& graph, ValueId value, std::vector<ValueId>& candidates) {
  candidates.push_back(value);
  for (const graph::Use& use : graph.value(value).uses) {
    if (use.node == graph::kNone || graph.node(use.node).kind != OpKind::Add) continue;
    candidates.push_back(graph.node(use.node).outputs.front());
  }
}

void makeUnique(std::vector<ValueId>& values) {
  std::erase(values, graph::kNoValue);
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
}

// Steps and depths of a graph's values.
class Order {
 public:
  explicit Order(const Graph& graph) : graph_(graph), steps_(graph.nodes.size()), depths_(graph.nodes.size()) {
    int step = 0;
    for (const NodeId id : graph.executionOrder()) {
      int depth = 0;
      for (const ValueId operand : graph.node(id).operands) {
        if (operand != graph::kNoValue) depth = std::max(depth, depthOf(operand));
      }
      steps_[static_cast<size_t>(id)] = ++step;
      depths_[static_cast<size_t>(id)] = depth + 1;
    }
  }
  [[nodiscard]] int depthOf(ValueId value) const { return of(value, depths_); }
  void place(Site& site) const {
    site.step = of(site.value, steps_);
    site.depth = of(site.value, depths_);
  }

 private:
  [[nodiscard]] int of(ValueId value, const std::vector<int>& figures) const {
    const NodeId producer = graph_.value(value).producer;
    return producer == graph::kNone ? 0 : figures[static_cast<size_t>(producer)];
  }

  const Graph& graph_;
  std::vector<int> steps_, depths_;
};

class Matcher {
 public:
  Matcher(const Graph& a, const Graph& b) : a_(a), b_(b), order_(a) {
    for (size_t id = 0; id < b.values.size(); ++id) byName_.emplace(b.values[id].name, static_cast<ValueId>(id));
    for (const Graph* graph : {&a, &b}) {
      for (const graph::Value& value : graph->values) {
        const auto name = withoutCount(value.name);
        if (name != value.name) shared_.insert(name);
      }
    }
  }
  Matcher(const Graph& a, const std::vector<analysis::LayerNorm>& normsOfA, const Graph& b) : Matcher(a, b) {
    const analysis::Norms normsOfB = analysis::findNorms(b);
    placesOfA_ = normPlaces(a, normsOfA, analysis::findNorms(a).others);
    placesOfB_ = normPlaces(b, normsOfB.layerNorms, normsOfB.others);
  }

  [[nodiscard]] Site input(const analysis::LayerNorm& norm) const {
    Site site = start(SiteKind::NormInput, norm, norm.input);
    site.axes = norm.axes;
    site.groups = norm.groups;
    if (const ValueId same = named(norm.input); same != graph::kNoValue) site.partners.push_back(same);
    if (const NormPlace* partner = ofSameRank(norm.node)) site.partners.push_back(partner->input);
    makeUnique(site.partners);
    return site;
  }

  [[nodiscard]] Site output(const analysis::LayerNorm& norm) const {
    const NormPlace* partner = ofSameRank(norm.node);
    const auto isPartners = [&](ValueId value) {
      return partner != nullptr && a_.value(value).name == b_.value(partner->output).name;
    };
    Site site = start(SiteKind::NormOutput, norm, comparableOutput(norm.output, isPartners));
    site.gamma = held(norm.gamma);
    site.beta = held(norm.beta);
    if (const ValueId same = named(site.value); same != graph::kNoValue) addWithSum(b_, same, site.partners);
    const bool ownOutput = site.value == norm.output;
    if (partner != nullptr && (ownOutput || isPartners(site.value))) addWithSum(b_, partner->output, site.partners);
    // A GroupNorm's gamma and beta, by channel, become ops of their own behind what replaces it.
    if (partner != nullptr && norm.type != NormType::LayerNorm) {
      for (ValueId behind = partner->output; behind != graph::kNoValue; behind = scaledOrShifted(b_, behind))
        site.partners.push_back(behind);
    }
    if (const ValueId same = sameName(site.value); site.partners.empty() && same != graph::kNoValue)
      addWithSum(b_, same, site.partners);
    makeUnique(site.partners);
    return site;
  }

  [[nodiscard]] Site value(ValueId id) const {
    Site site;
    site.name = a_.value(id).name;
    site.value = id;
    site.axes = {-1};
    order_.place(site);
    if (const ValueId same = named(id); same != graph::kNoValue) site.partners.push_back(same);
    return site;
  }

 private:
  // The tensor of the file that a norm reads; without data where it reads none.
  [[nodiscard]] TensorView held(ValueId vector) const {
    const auto constant = vector == graph::kNoValue ? graph::kNone : a_.value(vector).constant;
    return constant == graph::kNone ? TensorView() : a_.constant(constant).view;
  }
  [[nodiscard]] Site start(SiteKind kind, const analysis::LayerNorm& norm, ValueId value) const {
    Site site;
    site.kind = kind;
    site.name = norm.name;
    site.norm = norm.index;
    site.value = value;
    order_.place(site);
    return site;
  }
  // A fold takes a gamma that is a multiplication behind a written-out norm into the norm's op: the first value behind
  // the norm that both models have is that op's, whatever made it in the original.
  template <class IsPartners>
  [[nodiscard]] ValueId comparableOutput(ValueId output, IsPartners isPartners) const {
    for (ValueId value = output; value != graph::kNoValue; value = scaledOrShifted(a_, value)) {
      if (named(value) != graph::kNoValue || isPartners(value)) return value;
    }
    return output;
  }
  // Returns what the only reader makes of the value with a tensor of the file, gamma or beta; else kNoValue. A residual
  // sum changes where its other addend is centered.
  [[nodiscard]] static ValueId scaledOrShifted(const Graph& graph, ValueId value) {
    const auto& uses = graph.value(value).uses;
    if (uses.size() != 1 || uses.front().node == graph::kNone) return graph::kNoValue;
    const graph::Node& reader = graph.node(uses.front().node);
    const auto producer = [&](ValueId of) { return of == graph::kNoValue ? graph::kNone : graph.value(of).producer; };
    const auto isHeld = [&](ValueId other) {
      // A number for each channel is given to each of its positions.
      for (auto at = producer(other); at != graph::kNone && graph.node(at).kind == OpKind::Reshape;
           at = producer(other))
        other = graph.node(at).operands[0];
      return other == value || (other != graph::kNoValue && graph.value(other).constant != graph::kNone);
    };
    const bool scales = reader.kind == OpKind::Mul || reader.kind == OpKind::Add;
    return scales && std::ranges::all_of(reader.operands, isHeld) ? reader.outputs.front() : graph::kNoValue;
  }
  [[nodiscard]] ValueId named(ValueId ofA) const {
    if (ofA == graph::kNoValue) return graph::kNoValue;
    const std::string& name = a_.value(ofA).name;
    const auto same = byName_.find(name);
    if (same == byName_.end() || (isDoubtful(name) && !areMadeAlike(ofA, same->second))) return graph::kNoValue;
    return same->second;
  }
  // A fold gives the op that replaces a norm its output's name. Other ops may have it: it serves where nothing else
  // does.
  [[nodiscard]] ValueId sameName(ValueId ofA) const {
    const std::string& name = a_.value(ofA).name;
    const auto same = byName_.find(name);
    return same == byName_.end() || isNumber(withoutCount(name)) ? graph::kNoValue : same->second;
  }
  // Another value may have the name once ops were added.
  [[nodiscard]] bool isDoubtful(std::string_view name) const {
    return isNumber(withoutCount(name)) || shared_.contains(withoutCount(name));
  }
  [[nodiscard]] bool areMadeAlike(ValueId ofA, ValueId ofB) const {
    const NodeId makerOfA = a_.value(ofA).producer, makerOfB = b_.value(ofB).producer;
    if (makerOfA == graph::kNone || makerOfB == graph::kNone) return makerOfA == makerOfB;
    const graph::Node &one = a_.node(makerOfA), &other = b_.node(makerOfB);
    return one.op == other.op && a_.scope(one.scope).path == b_.scope(other.scope).path;
  }
  [[nodiscard]] const NormPlace* ofSameRank(NodeId nodeOfA) const {
    const auto place = std::ranges::find(placesOfA_, nodeOfA, &NormPlace::node);
    if (placesOfA_.size() != placesOfB_.size() || place == placesOfA_.end()) return nullptr;
    return &placesOfB_[static_cast<size_t>(place - placesOfA_.begin())];
  }

  const Graph& a_;
  const Graph& b_;
  Order order_;
  std::vector<NormPlace> placesOfA_, placesOfB_;
  std::unordered_map<std::string, ValueId> byName_;
  std::unordered_set<std::string_view> shared_;  // names that several values have
};

// ---- alignments, in float64; nullopt where they are not possible

// Returns x * factor + addend along the last axis; a vector without data stands for ones or zeros.
std::optional<TensorView> scaledAndShifted(const TensorView& x, const TensorView& factor, const TensorView& addend) {
  auto numbers = graph::toDoubles(x);
  if (!numbers || x.shape.empty()) return std::nullopt;
  const auto width = static_cast<size_t>(x.shape.back());
  for (const bool adds : {false, true}) {
    const TensorView& view = adds ? addend : factor;
    if (view.data == nullptr) continue;
    const auto vector = graph::toDoubles(view);
    if (!vector || vector->size() != width) return std::nullopt;
    for (size_t i = 0; i < numbers->size(); ++i) {
      double& number = (*numbers)[i];
      number = adds ? number + (*vector)[i % width] : number * (*vector)[i % width];
    }
  }
  return fromDoubles(graph::DType::Float64, x.shape, *numbers);
}

// Returns x without its mean over axes that follow one another, or over each of the groups that they are cut into.
std::optional<TensorView> withoutMean(const TensorView& x, const Site& site) {
  const std::vector<int64_t>& axes = site.axes;
  auto numbers = graph::toDoubles(x);
  if (!numbers || axes.empty() || axes.size() > x.shape.size()) return std::nullopt;
  const auto rank = static_cast<int64_t>(x.shape.size());
  const auto last = static_cast<size_t>(axes.back() < 0 ? axes.back() + rank : axes.back());
  if (last >= x.shape.size() || last + 1 < axes.size()) return std::nullopt;
  size_t width = 1, stride = 1;
  for (size_t i = last + 1 - axes.size(); i <= last; ++i) width *= static_cast<size_t>(x.shape[i]);
  for (size_t i = last + 1; i < x.shape.size(); ++i) stride *= static_cast<size_t>(x.shape[i]);
  if (width * stride == 0) return std::nullopt;
  width /= static_cast<size_t>(site.groups);
  for (size_t group = 0; group < numbers->size() / width; ++group) {
    const size_t start = group / stride * width * stride + group % stride;
    double mean = 0;
    for (size_t i = 0; i < width; ++i) mean += (*numbers)[start + i * stride] / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i) (*numbers)[start + i * stride] -= mean;
  }
  return fromDoubles(graph::DType::Float64, x.shape, *numbers);
}

class Best {
 public:
  explicit Best(const std::string& name) : name_(name) {}

  void consider(const TensorView& a, const TensorView& b, Alignment alignment) {
    const auto diff = compareTensors(name_, a, b);
    if (!diff) return;
    const double handicap = alignment == Alignment::None ? 1 : kMuchCloser;
    if (pair_ && !(diff->maxRel * handicap < score_)) return;
    score_ = diff->maxRel * handicap;
    pair_ = SitePair{a, b, alignment, *diff};
  }
  // Returns whether nothing brings them much closer.
  [[nodiscard]] bool isSame() const { return pair_ && score_ <= kSame; }
  [[nodiscard]] std::optional<SitePair> take() { return std::move(pair_); }

 private:
  const std::string& name_;
  std::optional<SitePair> pair_;
  double score_ = 0;
};

}  // namespace

std::vector<Site> normSites(const Graph& a, const std::vector<analysis::LayerNorm>& norms, const Graph& b) {
  const Matcher matcher(a, norms, b);
  std::vector<Site> sites;
  for (const analysis::LayerNorm& norm : norms) {
    for (Site& site : std::array{matcher.input(norm), matcher.output(norm)}) {
      if (!site.partners.empty() && site.value != graph::kNoValue) sites.push_back(std::move(site));
    }
  }
  return sites;
}

std::vector<Site> valueSites(const Graph& a, const std::vector<ValueId>& values, const Graph& b) {
  const Matcher matcher(a, b);
  std::vector<Site> sites;
  for (const ValueId id : values) {
    Site site = matcher.value(id);
    if (!site.partners.empty()) sites.push_back(std::move(site));
  }
  std::ranges::stable_sort(sites, {}, &Site::step);
  return sites;
}

std::vector<Site> sitesOf(const Graph& a, const std::vector<analysis::LayerNorm>& norms,
                          const std::vector<ValueId>& values, const Graph& b) {
  const auto isWanted = [&](ValueId value) { return std::ranges::find(values, value) != values.end(); };
  std::vector<Site> sites = normSites(a, norms, b);
  std::erase_if(sites, [&](const Site& site) {
    const auto norm = std::ranges::find(norms, site.norm, &analysis::LayerNorm::index);
    return site.kind != SiteKind::NormOutput || !isWanted(norm->output);
  });
  std::vector<ValueId> others = values;
  for (const analysis::LayerNorm& norm : norms) std::erase(others, norm.output);
  std::ranges::move(valueSites(a, others, b), std::back_inserter(sites));
  return sites;
}

std::optional<TensorView> comparable(const Site& site, const Captured& ofA, Alignment alignment) {
  const auto value = ofA.find(site.value);
  if (value == ofA.end() || !value->second.data) return std::nullopt;
  return alignment == Alignment::Mean ? withoutMean(value->second, site) : value->second;
}

std::optional<SitePair> bestPair(const Site& site, const Captured& ofA, const Captured& ofB) {
  const auto expected = ofA.find(site.value);
  if (expected == ofA.end() || !expected->second.data) return std::nullopt;
  const TensorView& a = expected->second;
  const auto reached = [&](ValueId partner) -> const TensorView* {
    const auto got = ofB.find(partner);
    return got == ofB.end() || !got->second.data ? nullptr : &got->second;
  };
  Best best(site.name);
  for (const ValueId partner : site.partners) {
    if (const TensorView* got = reached(partner)) best.consider(a, *got, Alignment::None);
    if (best.isSame()) return best.take();
  }
  const auto centered = withoutMean(a, site);
  for (const ValueId partner : site.partners) {
    const TensorView* got = reached(partner);
    if (got == nullptr) continue;
    for (const auto alignment : {Alignment::Beta, Alignment::GammaAndBeta}) {
      const bool scales = alignment == Alignment::GammaAndBeta;
      if ((scales ? site.gamma : site.beta).data == nullptr) continue;
      if (const auto full = scaledAndShifted(*got, scales ? site.gamma : TensorView(), site.beta))
        best.consider(a, *full, alignment);
    }
    if (!centered) continue;
    if (const auto other = withoutMean(*got, site)) {
      best.consider(*centered, *other, Alignment::Mean);
    }
  }
  return best.take();
}

}  // namespace normlens::run

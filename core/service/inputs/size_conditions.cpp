#include "core/service/inputs/size_conditions.h"

#include <algorithm>
#include <future>
#include <regex>

#include "core/graph/queries.h"
#include "core/run/inputs/draw.h"
#include "core/run/inputs/other_sizes.h"
#include "core/service/inputs/model_inputs.h"

namespace normlens::service {
namespace {

using analysis::Analysis;
using analysis::Verdict;
using graph::Shape;
using graph::SizeOfOne;
using Sizes = std::vector<SizeOfOne>;
using Verdicts = std::vector<Verdict>;

constexpr uint64_t kSeed = 1;
constexpr size_t kMostWidths = 4;

// Runs on a thread of its own for the memory it then gets: its many small pieces lie side by side instead of in the
// holes that reading and running the model have left (measured with 50,000 nodes: 0.11 instead of 0.28 s).
Result<std::unique_ptr<Analysis>> analyzed(const formats::Model& model, analysis::FiniteWeights& weights,
                                           const Task& task) {
  return std::async(std::launch::async, [&] { return analysis::analyze(model.graph(), weights, task); }).get();
}

// A norm that became known, and is blocked, gets no condition.
Verdicts verdictsOf(const Analysis& analysis) {
  Verdicts out;
  for (const auto& verdict : analysis.verdicts) out.push_back(std::min(verdict.verdict, Verdict::Blocked));
  return out;
}

// Returns norms that fold, or fold more cheaply, under `better` alone.
std::vector<size_t> gained(const Verdicts& worse, const Verdicts& better) {
  std::vector<size_t> norms;
  for (size_t n = 0; n < better.size(); ++n) {
    if (n >= worse.size() || better[n] < worse[n]) norms.push_back(n);
  }
  return norms;
}

Sizes without(Sizes sizes, const Sizes& gone) {
  std::erase_if(sizes, [&](const SizeOfOne& size) { return std::ranges::find(gone, size) != gone.end(); });
  return sizes;
}

struct NamedSize {
  std::string input;
  int fromLast = 1;
};
Result<NamedSize> parsed(const std::string& text) {
  static const std::regex kForm(R"(([^\[\]]+)\[-([1-9][0-9]?)\]=1)");
  std::smatch parts;
  if (std::regex_match(text, parts, kForm)) return NamedSize{parts[1], std::stoi(parts[2])};
  return fail(ErrorCode::Usage, "'" + text + "' is not the size of an input's axis", "write it as 'gate[-1]=1'");
}
tl::unexpected<Error> noSuchInput(const std::string& text) {
  return fail(ErrorCode::Usage, "'" + text + "': the model has no input of this name");
}

// The inputs of the graph that are one array each, as they were in the probe.
class Inputs {
 public:
  Inputs(const graph::Graph& graph, const formats::Tensors& tensors) : graph_(graph), tensors_(tensors) {
    const auto& ids = graph.inputs();
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto& value = graph.value(ids[i]);
      const auto named = std::ranges::find(tensors, value.name, &formats::NamedTensor::name);
      const auto at = ids.size() == tensors.size() ? i : static_cast<size_t>(named - tensors.begin());
      if (value.shape && at < tensors.size()) {
        inputs_.push_back({ids[i], at, *value.shape, graph::isFloat(value.dtype)});
      }
    }
  }

  // nullopt: none has this name.
  [[nodiscard]] std::optional<graph::ValueId> named(const std::string& name) const {
    const auto found = std::ranges::find_if(inputs_, [&](const Input& input) { return nameOf(input) == name; });
    return found == inputs_.end() ? std::nullopt : std::optional(found->id);
  }

  // Returns sizes of 1, and missing axes, that the file leaves open.
  [[nodiscard]] Sizes open(bool ranksToo) const {
    Sizes out;
    for (const Input& input : inputs_) {
      const size_t rank = input.shape.size();
      for (size_t axis = 0; axis < rank; ++axis) {
        const bool open = input.shape[axis] == 1 && !graph::isSizeDeclared(graph_.value(input.id), axis);
        if (open) out.push_back({input.id, static_cast<int>(rank - axis)});
      }
      const bool openRank = !graph_.value(input.id).declared;
      if (ranksToo && openRank && input.scales) out.push_back({input.id, static_cast<int>(rank) + 1});
    }
    return out;
  }

  // Returns the sample's size where it is not one element as assumed, or the lack of such an axis; empty if it is.
  [[nodiscard]] std::string sizeInstead(const SizeOfOne& size) const {
    const Shape& shape = find(size.input).shape;
    const auto fromLast = static_cast<size_t>(size.fromLast);
    if (fromLast > shape.size() + 1) return "no such axis";
    const int64_t elements = fromLast > shape.size() ? 1 : shape[shape.size() - fromLast];
    return elements == 1 ? "" : "size " + std::to_string(elements) + " there";
  }

  // Draws inputs like the sample, with this many elements there.
  [[nodiscard]] Result<formats::Tensors> with(const Sizes& sizes, int64_t elements) const {
    std::vector<Shape> shapes = run::shapesOf(tensors_);
    for (const Input& input : inputs_) shapes[input.at] = input.shape;
    for (const SizeOfOne& size : sizes) {
      Shape& shape = shapes[find(size.input).at];
      const auto fromLast = static_cast<size_t>(size.fromLast);
      if (fromLast > shape.size()) {
        shape.insert(shape.begin(), elements);
      } else {
        shape[shape.size() - fromLast] = elements;
      }
    }
    return run::drawLike(tensors_, shapes, kSeed);
  }

  [[nodiscard]] protocol::SizeCondition describe(const SizeOfOne& size, std::string tested) const {
    const Input& input = find(size.input);
    const auto rank = static_cast<int>(input.shape.size());
    std::string text = nameOf(input);
    if (size.fromLast > rank) {
      text += rank == 0   ? " is a single number"
              : rank == 1 ? " has no second axis"
                          : " has no more than " + std::to_string(rank) + " axes";
    } else {
      text += " has size 1 in " + (size.fromLast == 1 ? "its last axis" : "axis -" + std::to_string(size.fromLast));
    }
    return {nameOf(input), -size.fromLast, std::move(text), std::move(tested)};
  }

 private:
  struct Input {
    graph::ValueId id = graph::kNoValue;
    size_t at = 0;  // among the tensors
    Shape shape;
    bool scales = false;  // it is of real numbers: few ids or masks come as a single one
  };
  [[nodiscard]] const Input& find(graph::ValueId id) const { return *std::ranges::find(inputs_, id, &Input::id); }
  [[nodiscard]] const std::string& nameOf(const Input& input) const { return tensors_[input.at].name; }

  const graph::Graph& graph_;
  const formats::Tensors& tensors_;
  std::vector<Input> inputs_;
};

class Conditions {
 public:
  Conditions(formats::Model& model, const formats::Tensors& tensors, const SizeChoice& choice,
             analysis::FiniteWeights& weights, const Task& task)
      : model_(model),
        tensors_(tensors),
        choice_(choice),
        task_(task),
        inputs_(model.graph(), tensors),
        weights_(weights) {}

  Result<ConditionalAnalysis> run() {
    ASSIGN_OR_RETURN(const auto given, namedByUser());
    ASSIGN_OR_RETURN(auto unconditional, under({}));
    const Sizes open = inputs_.open(run::canTryOtherRanks(model_));
    const Verdicts least = verdictsOf(*unconditional);
    const bool all = std::ranges::all_of(least, [](Verdict verdict) { return verdict == Verdict::Free; });
    if (all || open.empty()) return finish(std::move(unconditional), {}, {});
    ASSIGN_OR_RETURN(const auto best, under(open));
    if (gained(least, verdictsOf(*best)).empty()) return finish(std::move(unconditional), {}, {});
    ASSIGN_OR_RETURN(const auto decisive, decisiveOf(open, verdictsOf(*best)));
    Sizes withdrawn = without(decisive, given);
    if (!choice_.strict) {
      ASSIGN_OR_RETURN(auto refuted, tryOut(withdrawn, decisive, *best));
      withdrawn = std::move(refuted);
    }
    const Sizes relied = without(decisive, withdrawn);
    ASSIGN_OR_RETURN(auto analysis, under(relied));
    return finish(std::move(analysis), relied, withdrawn);
  }

 private:
  Result<std::unique_ptr<Analysis>> under(const Sizes& sizes) {
    model_.assume(sizes);
    return analyzed(model_, weights_, task_);
  }
  Result<Verdicts> verdictsUnder(const Sizes& sizes) {
    ASSIGN_OR_RETURN(const auto analysis, under(sizes));
    return verdictsOf(*analysis);
  }

  [[nodiscard]] Result<Sizes> namedByUser() const {
    Sizes sizes;
    for (const std::string& text : choice_.assume) {
      ASSIGN_OR_RETURN(const auto named, parsed(text));
      const auto input = inputs_.named(named.input);
      if (!input) return noSuchInput(text);
      sizes.push_back({*input, named.fromLast});
      if (const std::string other = inputs_.sizeInstead(sizes.back()); !other.empty())
        return fail(ErrorCode::Usage, "'" + text + "' cannot be relied on: " + named.input + " has " + other,
                    {"give inputs of that size", HintKey::Inputs});
    }
    return sizes;
  }

  // Returns as few as give the same verdicts.
  Result<Sizes> decisiveOf(Sizes sizes, const Verdicts& best) {
    for (const SizeOfOne& size : Sizes(sizes)) {
      const Sizes fewer = without(sizes, {size});
      ASSIGN_OR_RETURN(const auto verdicts, verdictsUnder(fewer));
      if (verdicts == best) sizes = fewer;
    }
    return sizes;
  }

  // Returns the norms' widths, and the sizes that values behind a verdict have there.
  [[nodiscard]] std::vector<int64_t> widths(const Analysis& best, int fromLast) const {
    std::vector<int64_t> sizes;
    const auto add = [&](int64_t size) {
      if (size > 1 && sizes.size() < kMostWidths && std::ranges::find(sizes, size) == sizes.end())
        sizes.push_back(size);
    };
    for (const auto& norm : best.norms.layerNorms) {
      if (!norm.normalizedShape.empty()) add(norm.normalizedShape.back());
    }
    for (const auto& claim : best.claims.all()) {
      const auto& shape = model_.graph().value(claim.value).shape;
      const auto at = static_cast<size_t>(fromLast);
      if (shape && at <= shape->size()) add((*shape)[shape->size() - at]);
    }
    return sizes;
  }

  struct Tested {
    SizeOfOne size;
    bool ran = false;
    std::string text;
  };
  struct Trial {
    Sizes sizes;
    std::vector<int64_t> elements;
  };
  // Returns trials of each alone, those that lie at one place together, and all of them.
  [[nodiscard]] std::vector<Trial> trialsOf(const Sizes& sizes, const Analysis& best) const {
    std::vector<Sizes> sets;
    for (const SizeOfOne& size : sizes) sets.push_back({size});
    for (const SizeOfOne& size : sizes) {
      Sizes together = sizes;
      std::erase_if(together, [&](const SizeOfOne& other) { return other.fromLast != size.fromLast; });
      sets.push_back(std::move(together));
    }
    sets.push_back(sizes);
    std::vector<Trial> trials;
    for (Sizes& set : sets) {
      if (set.empty() || std::ranges::find(trials, set, &Trial::sizes) != trials.end()) continue;
      auto elements = widths(best, set.front().fromLast);
      trials.push_back({std::move(set), std::move(elements)});
    }
    return trials;
  }

  // Returns the sizes that a run refutes. The model has the sample's probe again afterwards.
  Result<Sizes> tryOut(const Sizes& sizes, const Sizes& decisive, const Analysis& best) {
    const Verdicts wanted = verdictsOf(best);
    Sizes refuted;
    for (const Trial& trial : trialsOf(sizes, best)) {
      if (without(trial.sizes, refuted).size() < trial.sizes.size()) continue;
      ASSIGN_OR_RETURN(const auto isSo, isRefuted(trial, decisive, wanted));
      if (isSo) refuted.insert(refuted.end(), trial.sizes.begin(), trial.sizes.end());
    }
    RETURN_IF_ERROR(probeModel(model_, tensors_, task_));
    return refuted;
  }

  // Returns whether the model runs with more elements there and what folded does no longer.
  Result<bool> isRefuted(const Trial& trial, const Sizes& decisive, const Verdicts& wanted) {
    for (const int64_t size : trial.elements) {
      task_.report("trying other sizes of the inputs");
      const auto inputs = inputs_.with(trial.sizes, size);
      const bool ran = inputs && model_.probe(*inputs, task_).has_value();
      RETURN_IF_ERROR(task_.check());
      for (const SizeOfOne& each : trial.sizes) noteTrial(each, size, ran);
      if (!ran) continue;
      ASSIGN_OR_RETURN(const auto verdicts, verdictsUnder(without(decisive, trial.sizes)));
      if (!gained(verdicts, wanted).empty()) return true;
    }
    return false;
  }

  // A width that ran shows more than one that did not.
  void noteTrial(const SizeOfOne& size, int64_t elements, bool ran) {
    const std::string with = "with " + std::to_string(elements) + " there";
    const auto known = std::ranges::find(tested_, size, &Tested::size);
    if (known == tested_.end()) {
      tested_.push_back({size, ran, ran ? "it was run " + with : "the model does not run " + with});
    } else if (ran && !known->ran) {
      *known = {size, true, "it was run " + with};
    }
  }
  [[nodiscard]] std::string testedOf(const SizeOfOne& size) const {
    const auto found = std::ranges::find(tested_, size, &Tested::size);
    return found == tested_.end() ? "" : found->text;
  }

  using ByNorm = std::vector<std::vector<protocol::SizeCondition>>;
  // Fills in, by norm, the sizes that give it its verdict: each alone, or all together.
  template <typename GainedBy>
  Status fillIn(const Sizes& sizes, ByNorm& conditions, const GainedBy& gainedBy) {
    for (const SizeOfOne& size : sizes) {
      ASSIGN_OR_RETURN(const auto norms, gainedBy(Sizes{size}));
      for (const size_t norm : norms) conditions[norm].push_back(inputs_.describe(size, testedOf(size)));
    }
    if (sizes.size() < 2) return {};
    ASSIGN_OR_RETURN(const auto norms, gainedBy(sizes));
    for (const size_t norm : norms) {
      if (!conditions[norm].empty()) continue;
      for (const SizeOfOne& size : sizes) conditions[norm].push_back(inputs_.describe(size, testedOf(size)));
    }
    return {};
  }

  Result<ConditionalAnalysis> finish(std::unique_ptr<Analysis> analysis, const Sizes& relied, const Sizes& withdrawn) {
    const Verdicts verdicts = verdictsOf(*analysis);
    ConditionalAnalysis out{std::move(analysis), ByNorm(verdicts.size()), ByNorm(verdicts.size())};
    RETURN_IF_ERROR(fillIn(relied, out.holdsIf, [&](const Sizes& gone) {
      return verdictsUnder(without(relied, gone)).map([&](const Verdicts& fewer) { return gained(fewer, verdicts); });
    }));
    RETURN_IF_ERROR(fillIn(withdrawn, out.wouldFoldIf, [&](const Sizes& sizes) {
      Sizes more = relied;
      more.insert(more.end(), sizes.begin(), sizes.end());
      return verdictsUnder(more).map([&](const Verdicts& better) { return gained(verdicts, better); });
    }));
    model_.assume(relied);
    return out;
  }

  formats::Model& model_;
  const formats::Tensors& tensors_;
  const SizeChoice& choice_;
  const Task& task_;
  const Inputs inputs_;
  std::vector<Tested> tested_;
  analysis::FiniteWeights& weights_;
};

}  // namespace

Status checkSizes(const SizeChoice& choice, const std::vector<std::string>& inputs) {
  for (const std::string& text : choice.assume) {
    ASSIGN_OR_RETURN(const auto named, parsed(text));
    if (std::ranges::find(inputs, named.input) == inputs.end()) return noSuchInput(text);
  }
  return {};
}

std::vector<protocol::SizeCondition> sameRanks(const formats::Tensors& inputs, const std::string& tested) {
  std::vector<protocol::SizeCondition> conditions;
  for (const auto& input : inputs) {
    const auto rank = static_cast<int>(input.view.shape.size());
    if (rank == 0) continue;
    conditions.push_back({input.name, -rank - 1,
                          input.name + " has " + (rank == 1 ? "one axis" : std::to_string(rank) + " axes"), tested});
  }
  return conditions;
}

Result<ConditionalAnalysis> analyzeUnderConditions(formats::Model& model, const formats::Tensors& inputs,
                                                   const SizeChoice& choice, analysis::FiniteWeights& weights,
                                                   const Task& task) {
  return Conditions(model, inputs, choice, weights, task).run();
}

}  // namespace normlens::service

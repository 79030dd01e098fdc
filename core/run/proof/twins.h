// The float64 copy of an original, and the change made to it, run side by side and compared: their outputs, what
// decides outputs that hold no floating-point number, and the outputs of norms that a change keeps. Private to
// core/run. Thread: one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/run/compare/sites.h"
#include "core/run/proof/verify.h"

namespace normlens::run {

struct ComparedPair {
  graph::TensorView a, b;
  TensorDiff diff;
  size_t output = 0;
  const Site* site = nullptr;  // of a value on the way
  Alignment alignment = Alignment::None;
  bool counts = true;  // false: a norm that decides nothing; it may refute, and proves nothing
  std::vector<FarRow> farRows{};
};

struct TwinRun {
  std::string refused;  // by the original itself: nothing was compared
  std::string failed;   // in the changed one alone; a plain sentence
  std::vector<ComparedPair> pairs;
  std::optional<std::string> narrowOp{};  // of the changed one; nullopt: such a run does not tell
};

class Twins {
 public:
  // `change` must outlive it. Error: why there are none.
  [[nodiscard]] static Result<Twins> make(const ChangeUnderTest& change, const Task& task);

  // Errors: cancelled, want of memory.
  [[nodiscard]] Result<TwinRun> run(const formats::Tensors& inputs, const Task& task) const;
  // Of the far rows of pairs that a run on these inputs gave. Errors: those of run().
  [[nodiscard]] Status measureNoise(std::vector<ComparedPair>& pairs, const formats::Tensors& inputs,
                                    const VerifyOptions& options, const Task& task) const;

  [[nodiscard]] bool looksInside() const { return !sites_.empty(); }
  void lookAtOutputsOnly();

  [[nodiscard]] const formats::Model& original() const { return *original_; }
  [[nodiscard]] const formats::Model& changed() const { return *changed_; }

 private:
  explicit Twins(const ChangeUnderTest& change) : change_(&change) {}
  void chooseSites();
  [[nodiscard]] Result<std::vector<ComparedPair>> compare(const formats::Model::SeenRun& a,
                                                          const formats::Model::SeenRun& b) const;
  [[nodiscard]] bool counts(const Site& site) const;

  const ChangeUnderTest* change_;
  std::unique_ptr<formats::Model> original_, changed_;
  std::vector<graph::ValueId> deciding_, seenOfOriginal_, seenOfChanged_;
  std::vector<Site> sites_;
};

}  // namespace normlens::run

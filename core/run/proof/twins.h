// The float64 copy of an original, and the change made to it, run side by side and compared: their outputs, and what
// inner_sites.h adds. Private to core/run. Thread: one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/run/proof/inner_sites.h"

namespace normlens::run {

struct TwinRun {
  std::string refused;  // by the original itself: nothing was compared
  std::string failed;   // in the changed one alone; a plain sentence
  std::vector<ComparedPair> pairs;
  std::string unseen;                     // a norm, see InnerSites
  std::optional<std::string> narrowOp{};  // of the changed one; nullopt: such a run does not record it
};

class Twins {
 public:
  // inner: of the change. Error: why there are none.
  [[nodiscard]] static Result<Twins> make(const ChangeUnderTest& change, const InnerSites& inner, const Task& task);

  // Errors: cancelled, want of memory.
  [[nodiscard]] Result<TwinRun> run(const formats::Tensors& inputs, const Task& task) const;
  // Measures the noise of the far rows of pairs that a run on these inputs gave. Errors: those of run().
  [[nodiscard]] Status measureNoise(std::vector<ComparedPair>& pairs, const formats::Tensors& inputs,
                                    const VerifyOptions& options, const Task& task) const;

  [[nodiscard]] bool looksInside() const { return !inner_.ofA().empty(); }
  void lookAtOutputsOnly() { inner_.dropSites(); }

  [[nodiscard]] const formats::Model& original() const { return *original_; }
  [[nodiscard]] const formats::Model& changed() const { return *changed_; }

 private:
  [[nodiscard]] Result<std::vector<ComparedPair>> compare(const formats::Model::SeenRun& a,
                                                          const formats::Model::SeenRun& b) const;

  std::unique_ptr<formats::Model> original_, changed_;
  InnerSites inner_;
};

}  // namespace normlens::run

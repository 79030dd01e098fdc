// The values of two models that are compared beside their outputs: those that decide outputs without floating-point
// numbers, the outputs of norms that a change keeps, and those that show norms hidden by the outputs (hidden_norms.h).
// Private to core/run. Thread: one thread.
#pragma once

#include <string>
#include <vector>

#include "core/run/compare/sites.h"
#include "core/run/proof/verify.h"

namespace normlens::run {

struct ComparedPair {
  graph::TensorView a, b;
  TensorDiff diff;
  size_t output = 0;
  const Site* site = nullptr;  // A value on the way.
  Alignment alignment = Alignment::None;
  bool counts = true;  // false: a norm that decides nothing; it may refute, and proves nothing
  bool shows = false;  // It shows a change that the outputs do not.
  std::vector<FarRow> farRows{};
};

class InnerSites {
 public:
  enum class Which : uint8_t { All, OfHidden };
  // Finds the values to look for. Nothing is captured yet.
  explicit InnerSites(const ChangeUnderTest& change);
  InnerSites() = default;
  // The same values in two models with these graphs; ids of `a` are those of change.original.
  [[nodiscard]] InnerSites between(const ChangeUnderTest& change, const graph::Graph& a, const graph::Graph& b,
                                   Which which) const;

  // Runs of the two capture these values.
  [[nodiscard]] const std::vector<graph::ValueId>& ofA() const { return ofA_; }
  [[nodiscard]] const std::vector<graph::ValueId>& ofB() const { return ofB_; }

  [[nodiscard]] std::vector<ComparedPair> compare(const formats::Tensors& a, const formats::Tensors& b) const;
  // Adds to the outputs of another run of `a` what it made of the pairs.
  void append(const std::vector<ComparedPair>& pairs, formats::Model::SeenRun& a) const;
  // The name of a norm that the outputs hide and no pair shows though a run of `a` reached it; empty where there is
  // none. values: what that run gave.
  [[nodiscard]] std::string unseen(const std::vector<ComparedPair>& pairs, const formats::Tensors& values) const;
  // Call it where the models cannot be looked into.
  void dropSites();

 private:
  struct Hidden {
    std::string name;
    int index = -1;                       // The LayerNorm's.
    std::vector<graph::ValueId> shownBy;  // empty: its own output shows it
    [[nodiscard]] bool isShownBy(const Site& site) const;
  };

  std::vector<Hidden> hidden_;
  std::vector<int> deciding_;  // indices of norms whose own outputs count
  // Values of the original that Which::All adds; those that show hidden norms or decide outputs without floats.
  std::vector<graph::ValueId> besides_, ofHidden_;
  std::vector<graph::ValueId> ofA_, ofB_;
  std::vector<Site> sites_;
};

}  // namespace normlens::run

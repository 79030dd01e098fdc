// Checks whether two models would choose the same: the largest entries along the last axis of an output like logits.
//
// A row is what lies along the last axis. Its top k are the k largest entries, of equal ones those that come first; NaN
// counts as the smallest. Thread: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/types.h"

namespace normlens::run {

inline constexpr int64_t kTopMany = 5;

struct TopAgreement {
  int64_t rows = 0;
  int64_t sameFirst = 0;   // rows whose largest entry is at the same place
  int64_t sharedMany = 0;  // over all rows, how many of the top 5 of one are among the top 5 of the other
  bool hasMany = false;    // rows are longer than 5; else sharedMany means nothing

  [[nodiscard]] double first() const { return share(sameFirst, rows); }             // top-1 agreement, 0 to 1
  [[nodiscard]] double many() const { return share(sharedMany, rows * kTopMany); }  // top-5 agreement, 0 to 1
  void add(const TopAgreement& other);

 private:
  [[nodiscard]] static double share(int64_t part, int64_t all) {
    return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 1;
  }
};

// nullopt: not like logits (no real floating type, no axis, rows of one entry, no rows), or the shapes differ.
[[nodiscard]] std::optional<TopAgreement> topAgreement(const graph::TensorView& a, const graph::TensorView& b);

}  // namespace normlens::run

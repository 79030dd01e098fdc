// The second half of Planner: from a solution of the cut to the edits, and which norms need each.
#include <algorithm>
#include <bit>
#include <map>
#include <queue>
#include <set>

#include "core/analysis/planner.h"

namespace normlens::analysis {

using fold::AbsorbScale;
using fold::CenterConstant;
using fold::InsertCentering;
using fold::ReplaceNorm;
using graph::kNone;

namespace {

// Which norms, one bit each, for every claim.
class NormSets {
 public:
  NormSets(size_t claims, size_t norms) : words_((norms + kBits - 1) / kBits), bits_(claims * words_, 0) {}

  void add(ClaimId claim, int norm) {
    bits_[at(claim) + static_cast<size_t>(norm) / kBits] |= uint64_t{1} << (static_cast<size_t>(norm) % kBits);
  }
  // Adds all of `from` to `to`; whether that was news.
  bool merge(ClaimId from, ClaimId to) {
    bool news = false;
    for (size_t w = 0; w < words_; ++w) {
      uint64_t& word = bits_[at(to) + w];
      const uint64_t both = word | bits_[at(from) + w];
      news = news || both != word;
      word = both;
    }
    return news;
  }
  [[nodiscard]] std::vector<int> listOf(ClaimId claim) const {
    std::vector<int> out;
    for (size_t w = 0; w < words_; ++w) {
      for (uint64_t rest = bits_[at(claim) + w]; rest != 0; rest &= rest - 1) {
        out.push_back(static_cast<int>(w * kBits) + std::countr_zero(rest));
      }
    }
    return out;
  }

 private:
  static constexpr size_t kBits = 64;
  [[nodiscard]] size_t at(ClaimId claim) const { return static_cast<size_t>(claim) * words_; }

  size_t words_;
  std::vector<uint64_t> bits_;
};

}  // namespace

// For each claim that stands for an edit: the norms whose proof goes through it.
std::vector<std::vector<int>> Planner::neededBy(const Solution& solution) const {
  const size_t count = claims_.all().size();
  NormSets sets(count, norms_.size());
  std::vector<bool> reached(count, false), waiting(count, false);
  // What is made last comes first: outside of loops every claim is then visited once, with all its norms.
  std::priority_queue<std::pair<graph::NodeId, ClaimId>> queue;
  const auto enqueue = [&](ClaimId id) {
    reached[static_cast<size_t>(id)] = true;
    if (waiting[static_cast<size_t>(id)]) return;
    waiting[static_cast<size_t>(id)] = true;
    queue.emplace(graph_.value(claims_[id].value).producer, id);
  };
  for (int n = 0; n < static_cast<int>(norms_.size()); ++n) {
    if (!solution.folded[static_cast<size_t>(n)]) continue;
    sets.add(claims_.root(n), n);
    enqueue(claims_.root(n));
  }
  while (!queue.empty()) {
    const ClaimId id = queue.top().second;
    queue.pop();
    waiting[static_cast<size_t>(id)] = false;
    if (!solution.good[static_cast<size_t>(id)]) continue;  // its cut serves the reader
    for (const Need& need : claims_[id].needs) {
      const bool first = !reached[static_cast<size_t>(need.claim)];
      if (sets.merge(id, need.claim) || first) enqueue(need.claim);
    }
  }
  std::vector<std::vector<int>> out(count);
  for (size_t c = 0; c < count; ++c) {
    const Claim::Kind kind = claims_.all()[c].kind;
    const bool edit = kind == Claim::Kind::Constant || kind == Claim::Kind::Joint || !solution.good[c];
    if (reached[c] && edit) out[c] = sets.listOf(static_cast<ClaimId>(c));
  }
  return out;
}

namespace {

// Joint claims come one per constant; the edit is made once, from the first.
bool firstOfJoint(const Claims& claims, ClaimId id) {
  const Claim& claim = claims[id];
  return claim.joint.front().value == claim.value && claim.joint.front().pattern == claim.pattern;
}

CenterConstant centerEdit(const graph::Graph& graph, const Claim& claim) {
  CenterConstant edit;
  if (claim.kind == Claim::Kind::Joint) {
    for (const auto& member : claim.joint) {
      edit.parts.push_back({graph.value(member.value).constant, member.pattern});
      const auto& uses = graph.value(member.value).uses;
      edit.uses.insert(edit.uses.end(), uses.begin(), uses.end());
    }
    return edit;
  }
  edit.parts.push_back({graph.value(claim.value).constant, claim.pattern});
  edit.uses = claim.tolerantUses;
  edit.split = !claim.tolerated();
  return edit;
}

// Order of application: scales first, then constants from coarse to fine, centerings, norms.
int rank(const fold::Edit& edit) { return static_cast<int>(edit.index()); }

int64_t coarseness(const fold::Edit& edit) {
  if (const auto* insert = std::get_if<InsertCentering>(&edit)) return insert->pattern.groupSize();
  const auto* center = std::get_if<CenterConstant>(&edit);
  return center == nullptr ? 0 : center->parts.front().pattern.groupSize();
}

}  // namespace

Plan Planner::assemble(const Solution& solution) const {
  Plan plan;
  const auto needed = neededBy(solution);
  std::map<graph::ConstantId, std::vector<int>> centered;
  for (ClaimId id = 0; id < static_cast<ClaimId>(needed.size()); ++id) {
    const auto& frees = needed[static_cast<size_t>(id)];
    const Claim& claim = claims_[id];
    if (frees.empty() || claim.kind == Claim::Kind::Proven) continue;
    const bool good = solution.good[static_cast<size_t>(id)];
    PlannedEdit planned;
    planned.claim = id;
    planned.frees = frees;
    if (claim.kind == Claim::Kind::Constant || (claim.kind == Claim::Kind::Joint && firstOfJoint(claims_, id))) {
      CenterConstant edit = centerEdit(graph_, claim);
      for (const auto& part : edit.parts) {
        planned.bytes += graph::byteCount(graph_.constant(part.constant).view);
        auto& users = centered[part.constant];
        users.insert(users.end(), frees.begin(), frees.end());
      }
      planned.bytesGrown = edit.split ? planned.bytes : 0;
      planned.edit = std::move(edit);
    } else if (!good && solution.cuts[static_cast<size_t>(id)] == CutKind::Centering) {
      planned.edit = InsertCentering{claim.value, claim.pattern, claim.tolerantUses};
      ++plan.centerings;
    } else {
      continue;
    }
    plan.bytesGrown += planned.bytesGrown;
    plan.edits.push_back(std::move(planned));
  }
  for (const AbsorbScale& scale : scales_) {
    std::set<int> frees;
    PlannedEdit planned{scale, kNone, {}, 0, 0};
    for (const auto& part : scale.parts) {
      const auto at = centered.find(part.constant);
      if (at != centered.end()) frees.insert(at->second.begin(), at->second.end());
      planned.bytes += graph::byteCount(graph_.constant(part.constant).view);
    }
    if (frees.empty()) continue;
    planned.frees.assign(frees.begin(), frees.end());
    plan.edits.push_back(std::move(planned));
  }
  for (int n = 0; n < static_cast<int>(norms_.size()); ++n) {
    if (!solution.folded[static_cast<size_t>(n)]) continue;
    plan.folded.push_back(n);
    plan.edits.push_back({ReplaceNorm{n}, claims_.root(n), {n}, 0, 0});
  }
  std::stable_sort(plan.edits.begin(), plan.edits.end(), [](const PlannedEdit& a, const PlannedEdit& b) {
    if (rank(a.edit) != rank(b.edit)) return rank(a.edit) < rank(b.edit);
    return coarseness(a.edit) > coarseness(b.edit);
  });
  return plan;
}

}  // namespace normlens::analysis

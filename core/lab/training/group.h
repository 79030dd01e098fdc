// The networks of one depth, optimizer and seed, side by side: in each precision the same first weights, the same
// batches. Thread: one at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/lab/training/member.h"

namespace normlens::lab {

// Returns the members of each group, in the order in which the groups are trained.
[[nodiscard]] std::vector<std::vector<RunMember>> groupsOf(const RunSettings& settings);

class Group {
 public:
  using Sources = std::map<Precision, Batches>;
  Group(const RunSettings& settings, const std::vector<RunMember>& members, const Sources& sources);

  using Report = std::function<void(RunRecord record)>;
  // Reports each network before its first step.
  void start(const Report& report);
  // One more epoch of all. False: stopped, and all are as they were after the epoch before.
  [[nodiscard]] bool trainEpoch(const Member::GoOn& goOn, const Report& report);

  [[nodiscard]] int epoch() const { return epoch_; }
  [[nodiscard]] std::vector<KeptMember> kept() const;
  [[nodiscard]] Status restore(const std::vector<KeptMember>& kept, int epoch);
  [[nodiscard]] const std::vector<std::unique_ptr<Member>>& members() const { return members_; }

 private:
  [[nodiscard]] const Member* referenceOf(const Member& member) const;
  [[nodiscard]] RunRecord recordOf(RunEvent event) const;
  void handOver(const Report& report);
  [[nodiscard]] RunRecord fullRecord(const Member& member, RunRecord record) const;
  [[nodiscard]] RunRecord firstRecord(const Member& member) const;

  const RunSettings& settings_;
  std::vector<std::unique_ptr<Member>> members_;
  int epoch_ = 0;
};

}  // namespace normlens::lab

#include "core/lab/training/group.h"

#include <algorithm>
#include <cmath>

namespace normlens::lab {

std::vector<std::vector<RunMember>> groupsOf(const RunSettings& settings) {
  const std::vector<RunMember> all = membersOf(settings);
  const size_t each = settings.precisions.size() * settings.networks.size();
  std::vector<std::vector<RunMember>> groups;
  for (size_t i = 0; i < all.size(); i += each) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(i);
    groups.emplace_back(first, first + static_cast<std::ptrdiff_t>(each));
  }
  return groups;
}

Group::Group(const RunSettings& settings, const std::vector<RunMember>& members, const Sources& sources)
    : settings_(settings) {
  for (const RunMember& which : members)
    members_.push_back(std::make_unique<Member>(settings, which, sources.at(which.precision)));
}

const Member* Group::referenceOf(const Member& member) const {
  const auto found = std::ranges::find_if(members_, [&](const auto& other) {
    return other->which().network == NormUse::LayerNorm && other->which().precision == member.which().precision;
  });
  return found == members_.end() ? nullptr : found->get();
}

RunRecord Group::recordOf(RunEvent event) const {
  RunRecord record;
  record.event = event;
  record.epochs = settings_.epochs;
  return record;
}

RunRecord Group::fullRecord(const Member& member, RunRecord record) const {
  const Member* reference = referenceOf(member);
  const bool comparable = reference != nullptr && reference->trains();
  member.fill(comparable ? reference : nullptr, record);
  return record;
}

RunRecord Group::firstRecord(const Member& member) const {
  RunRecord record = fullRecord(member, recordOf(RunEvent::Epoch));
  record.layer_names = member.network().linears();
  return record;
}

void Group::start(const Report& report) {
  const bool continued = settings_.experiment == Experiment::Continued;
  for (const auto& member : members_) {
    if (!continued || member->which().network == NormUse::LayerNorm) member->begin(0);
    member->keep();
    if (member->begun()) report(firstRecord(*member));
  }
}

void Group::handOver(const Report& report) {
  for (const auto& member : members_) {
    if (member->begun()) continue;
    member->takeOver(*referenceOf(*member), settings_.handover_centered);
    member->begin(epoch_);
    member->keep();
    report(firstRecord(*member));
  }
}

bool Group::trainEpoch(const Member::GoOn& goOn, const Report& report) {
  std::vector<std::pair<Member*, RunRecord>> trained;
  for (const auto& member : members_) {
    if (!member->trains()) continue;
    RunRecord record = recordOf(RunEvent::Epoch);
    const Member::Went went = member->trainEpoch(goOn, record);
    if (went == Member::Went::Stopped) {
      for (const auto& [other, unused] : trained) (void)other->restore(other->kept());
      return false;
    }
    trained.emplace_back(member.get(), std::move(record));
  }
  ++epoch_;
  for (auto& [member, record] : trained) {
    record = fullRecord(*member, std::move(record));
    if (!std::isfinite(record.test_loss))
      member->diverge("the test loss was not finite after epoch " + std::to_string(epoch_));
    if (!member->trains()) {
      record = recordOf(RunEvent::Diverged);
      record.text = member->diverged();
      record = fullRecord(*member, std::move(record));
    }
    member->keep();
    report(std::move(record));
  }
  if (settings_.experiment == Experiment::Continued && epoch_ == settings_.handover_epoch) handOver(report);
  return true;
}

std::vector<KeptMember> Group::kept() const {
  std::vector<KeptMember> kept;
  for (const auto& member : members_) kept.push_back(member->kept());
  return kept;
}

Status Group::restore(const std::vector<KeptMember>& kept, int epoch) {
  if (kept.size() != members_.size()) return fail(ErrorCode::Unreadable, "the checkpoint is of other networks");
  for (size_t i = 0; i < kept.size(); ++i) {
    RETURN_IF_ERROR(members_[i]->restore(kept[i]));
    members_[i]->keep();
  }
  epoch_ = epoch;
  return {};
}

}  // namespace normlens::lab

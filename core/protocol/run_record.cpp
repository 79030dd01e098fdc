#include "core/protocol/run_record.h"

#include <algorithm>

#include "core/protocol/json.h"

namespace normlens::lab {
namespace {

template <class T>
Result<T> readObject(std::string_view text, const std::string& what) {
  const auto json = protocol::parseJson(text);
  if (!json) return fail(ErrorCode::BadInput, what + " " + json.error().message);
  auto object = protocol::decode<T>(*json);
  if (!object) return fail(ErrorCode::BadInput, what + ": " + object.error().message);
  return object;
}

}  // namespace

std::string writeRunRecord(const RunRecord& record) { return protocol::dumpJson(protocol::toJson(record)); }
std::string writeRunResult(const RunResult& result) { return protocol::dumpJson(protocol::toJson(result)); }

Result<RunRecord> readRunRecord(std::string_view line) { return readObject<RunRecord>(line, "a record of a run"); }
Result<RunResult> readRunResult(std::string_view json) { return readObject<RunResult>(json, "the result of a run"); }

std::vector<RunRecord> lastOfEach(const std::vector<RunRecord>& records) {
  std::vector<RunRecord> last;
  for (const RunRecord& record : records) {
    if (record.event != RunEvent::Epoch) continue;
    const auto before = std::ranges::find(last, record.member, &RunRecord::member);
    if (before == last.end()) {
      last.push_back(record);
    } else {
      *before = record;
    }
  }
  return last;
}

std::vector<Finding> decidedFindings(const RunResult& result) {
  std::vector<Finding> findings = result.findings;
  if (result.end != RunEnd::Stopped) return findings;
  const auto last = lastOfEach(result.records);
  std::string when = "before its end";
  if (!last.empty() && last.size() == membersOf(result.settings).size()) {  // all have begun
    const auto least = std::ranges::min_element(last, {}, &RunRecord::epoch);
    when = "after " + std::to_string(least->epoch) + " of " + std::to_string(least->epochs) + " epochs";
  }
  for (Finding& finding : findings) {
    finding.holds.reset();
    finding.text = "the run was stopped " + when;
  }
  return findings;
}

std::vector<RunMember> membersOf(const RunSettings& settings) {
  std::vector<RunMember> members;
  for (const int64_t seed : settings.seeds) {
    for (const int layers : settings.layers) {
      for (size_t i = 0; i < settings.optimizers.size(); ++i) {
        for (const Precision precision : settings.precisions) {
          for (const NormUse network : settings.networks)
            members.push_back({network, layers, static_cast<int>(i), seed, precision});
        }
      }
    }
  }
  return members;
}

std::string memberName(const RunMember& member, const RunSettings& settings) {
  std::string name =
      nameOf(member.network) + "_" + std::to_string(member.layers) + "x" + std::to_string(settings.width);
  if (settings.optimizers.size() > 1) name += "_optimizer" + std::to_string(member.optimizer + 1);
  return name + "_seed" + std::to_string(member.seed) + "_" + nameOf(member.precision);
}

}  // namespace normlens::lab

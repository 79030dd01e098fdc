#include "core/service/describe/certificate.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/formats/file/file_hash.h"

namespace normlens::service {
namespace {

using analysis::Claim;
using analysis::ClaimId;
using graph::Graph;
using nlohmann::json;

Result<json> hashOf(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const auto file, formats::MappedFile::open(path));
  return json{{"name", path.filename().string()}, {"sha256", formats::sha256Hex(file->bytes())}};
}

json patternOf(const ops::Pattern& pattern) {
  json factors = json::array();
  for (const ops::Factor& factor : pattern.factors)
    factors.push_back({factor.size, factor.begin, factor.end, factor.summed});
  return factors;
}

const char* kindOf(const Claim& claim) {
  switch (claim.kind) {
    case Claim::Kind::Proven:
      return "proven";
    case Claim::Kind::Constant:
      return "constant";
    case Claim::Kind::Joint:
      return "joint";
    default:
      return "derived";
  }
}

// Numbers the claims that are reached, those that are asked for first.
class Listed {
 public:
  Listed(const Graph& graph, const analysis::Claims& claims) : graph_(graph), claims_(claims) {}

  int add(ClaimId id) {
    const auto [found, fresh] = numbers_.emplace(id, static_cast<int>(order_.size()));
    if (fresh) order_.push_back(id);
    return found->second;
  }
  json take() {
    json all = json::array();
    for (size_t i = 0; i < order_.size(); ++i) all.push_back(entryOf(claims_[order_[i]]));  // which adds to the order
    return all;
  }

 private:
  json entryOf(const Claim& claim) {
    const auto& value = graph_.value(claim.value);
    json needs = json::array();
    for (const analysis::Need& need : claim.needs) needs.push_back(add(need.claim));
    json entry{{"value", value.name}, {"pattern", patternOf(claim.pattern)}, {"kind", kindOf(claim)}, {"needs", needs}};
    if (value.constant != graph::kNone) entry["tensor"] = graph_.constant(value.constant).name;
    return entry;
  }

  const Graph& graph_;
  const analysis::Claims& claims_;
  std::unordered_map<ClaimId, int> numbers_;
  std::vector<ClaimId> order_;
};

}  // namespace

Result<std::string> certificateOf(const formats::Model& folded, const std::vector<CertifiedNorm>& norms,
                                  const analysis::Claims& claims) {
  const formats::ModelFacts& facts = folded.facts();
  const Graph& graph = folded.graph();
  Listed listed(graph, claims);
  json rows = json::array(), data = json::array();
  for (const CertifiedNorm& certified : norms) {
    const auto& input = graph.value(certified.norm->input);
    rows.push_back({{"name", certified.name},
                    {"input", input.name},
                    {"axes", certified.norm->axes},
                    {"shape", input.shape ? json(*input.shape) : json(nullptr)},
                    {"claim", listed.add(certified.claim)}});
  }
  ASSIGN_OR_RETURN(const auto own, hashOf(facts.path));
  for (const auto& path : facts.dataFiles) {
    ASSIGN_OR_RETURN(auto hash, hashOf(path));
    data.push_back(std::move(hash));
  }
  const json all{{"certificate", 1},        {"file", own["name"]},    {"sha256", own["sha256"]},
                 {"data", std::move(data)}, {"format", facts.format}, {"norms", std::move(rows)},
                 {"claims", listed.take()}};
  return all.dump(1) + "\n";
}

}  // namespace normlens::service

#include "core/formats/safetensors/tied_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/formats/safetensors/match.h"

namespace normlens::formats::safetensors {

std::optional<size_t> nearestModules(const std::vector<std::vector<std::string>>& modules, const std::string& tensor) {
  const size_t dot = tensor.rfind('.');
  const std::string own = dot == std::string::npos ? std::string() : tensor.substr(0, dot);
  std::optional<size_t> best;
  size_t most = 0;
  for (size_t i = 0; i < modules.size(); ++i) {
    size_t common = 0;
    for (const auto& module : modules[i]) common = std::max(common, commonEnd(module, own));
    if (common == most) best.reset();
    if (common > most) best = i;
    most = std::max(most, common);
  }
  return best;
}

std::optional<Fronts> commonFronts(const std::vector<std::string>& inModel,
                                   const std::vector<std::string>& inCheckpoint) {
  const std::set<std::string> model(inModel.begin(), inModel.end()), held(inCheckpoint.begin(), inCheckpoint.end());
  std::map<std::pair<std::string, std::string>, size_t> counts;
  // The longest end of a name that is one on the other side; what is left of it there is its front.
  const auto count = [&](const std::set<std::string>& names, const std::set<std::string>& ends, bool ofModel) {
    for (const auto& name : names) {
      for (size_t at = 0; at != std::string::npos; at = name.find('.', at), at += at == std::string::npos ? 0 : 1) {
        if (!ends.contains(name.substr(at))) continue;
        const std::string front = name.substr(0, at);
        ++counts[ofModel ? std::pair(front, std::string()) : std::pair(std::string(), front)];
        break;
      }
    }
  };
  count(model, held, true);
  count(held, model, false);
  const auto most = std::ranges::max_element(counts, {}, [](const auto& item) { return item.second; });
  if (most == counts.end()) return std::nullopt;
  return Fronts{most->first.first, most->first.second};
}

std::string asCheckpointTells(const std::string& name, const Fronts& fronts) {
  // Part by part: of "m.transformer." only "m." stands before a head.
  size_t taken = 0;
  const std::string& front = fronts.ofModel;
  for (size_t dot = front.find('.'); dot != std::string::npos; dot = front.find('.', dot + 1)) {
    if (name.compare(0, dot + 1, front, 0, dot + 1) != 0) break;
    taken = dot + 1;
  }
  return fronts.ofCheckpoint + name.substr(taken);
}

}  // namespace normlens::formats::safetensors

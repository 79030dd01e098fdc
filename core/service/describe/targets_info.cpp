#include "core/service/describe/targets_info.h"

#include <algorithm>

#include "core/formats/targets.h"

namespace normlens::service {

protocol::Targets describeTargets(std::string_view format) {
  protocol::Targets out;
  for (const formats::Target& target : formats::targets()) {
    const auto form = formats::formFor(target.name, format);
    if (!form) continue;
    out.targets.push_back(
        {std::string(target.name), std::string(target.title), std::string(formats::normFlavourName(form->flavour)),
         std::string(formats::operatorsOf(form->flavour, format)), std::string(target.speed), std::string(target.range),
         std::string(target.limits), std::string(target.source), target.squaresInFloat16, target.ran});
  }
  constexpr auto kUsual = formats::NormFlavour::Portable;
  const std::string usual(formats::normFlavourName(kUsual));
  if (std::ranges::find(out.targets, usual, &protocol::TargetInfo::norm) == out.targets.end()) {
    protocol::TargetInfo any;
    any.title = "Any runtime";
    any.norm = usual;
    any.operators = formats::operatorsOf(kUsual, format);
    any.limits = "none known: it loads in " + std::string(formats::loadedBy(kUsual, format));
    for (const protocol::TargetInfo& target : out.targets) {
      if (target.ran) any.source += (any.source.empty() ? "" : "; ") + target.source;
    }
    any.ran = true;
    out.targets.insert(out.targets.begin(), std::move(any));
  }
  return out;
}

}  // namespace normlens::service

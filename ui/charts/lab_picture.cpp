// Selects the networks that are drawn, and names them.
#include <algorithm>

#include "ui/charts/lab_charts.h"
#include "ui/session/words/lab_words.h"

namespace normlens::ui {
namespace {

using lab::RunMember;

bool isBeside(const RunMember& member, const RunMember& shown, bool anyPrecision) {
  return member.layers == shown.layers && member.optimizer == shown.optimizer && member.seed == shown.seed &&
         (anyPrecision || member.precision == shown.precision);
}

const KeptRun* runOf(const std::vector<KeptRun>& runs, int number) {
  const auto found = std::ranges::find(runs, number, &KeptRun::number);
  return found == runs.end() ? nullptr : &*found;
}

std::vector<LabCurve> curvesBeside(const KeptRun& run, const RunMember& shown, bool anyPrecision) {
  std::vector<LabCurve> curves;
  for (const RunMember& member : lab::membersOf(run.settings)) {
    if (isBeside(member, shown, anyPrecision)) curves.push_back({&run, member, {}, 0, {}});
  }
  return curves;
}

template <class Field>
bool differ(const std::vector<LabCurve>& curves, Field field) {
  return std::ranges::any_of(curves, [&](const LabCurve& curve) { return field(curve) != field(curves.front()); });
}

// The network's name, and what else differs among those that are drawn.
void nameCurves(std::vector<LabCurve>& curves) {
  if (curves.empty()) return;
  const bool runs = differ(curves, [](const LabCurve& curve) { return curve.run->number; });
  const bool layers = differ(curves, [](const LabCurve& curve) { return curve.member.layers; });
  const bool optimizers = differ(curves, [](const LabCurve& curve) { return curve.member.optimizer; });
  const bool seeds = differ(curves, [](const LabCurve& curve) { return curve.member.seed; });
  const bool precisions = differ(curves, [](const LabCurve& curve) { return curve.member.precision; });
  std::vector<LabPlace> groups;  // a member without its network
  for (LabCurve& curve : curves) {
    const RunMember& member = curve.member;
    QStringList words{networkWord(member.network).name};
    if (layers) words << labMemberWord("layers", curve.run->settings, member);
    if (optimizers) words << labMemberWord("optimizer", curve.run->settings, member);
    if (seeds) words << labMemberWord("seed", curve.run->settings, member);
    if (precisions) words << labMemberWord("precision", curve.run->settings, member);
    if (runs) words << labRunWord(curve.run->number);
    curve.name = words.join(QStringLiteral(", "));
    curve.groupName = words.mid(1).join(QStringLiteral(", "));
    LabPlace group{curve.run->number, member};
    group.member.network.clear();
    const auto known = std::ranges::find(groups, group);
    curve.group = static_cast<int>(known - groups.begin());
    if (known == groups.end()) groups.push_back(group);
  }
}

}  // namespace

int LabPicture::epochs() const {
  int most = 1;
  for (const LabCurve& curve : curves) most = std::max(most, curve.run->settings.epochs);
  return most;
}

LabPicture labPicture(const std::vector<KeptRun>& runs, const LabPlace& shown, const std::vector<LabPlace>& ticked) {
  LabPicture picture;
  for (const LabPlace& place : ticked) {
    if (const KeptRun* run = runOf(runs, place.run)) picture.curves.push_back({run, place.member, {}, 0, {}});
  }
  picture.differences = picture.curves;
  const KeptRun* run = runOf(runs, shown.run);
  if (picture.curves.empty() && run != nullptr) {
    picture.curves = curvesBeside(*run, shown.member, false);
    picture.differences = curvesBeside(*run, shown.member, true);
  }
  nameCurves(picture.curves);
  nameCurves(picture.differences);
  return picture;
}

}  // namespace normlens::ui

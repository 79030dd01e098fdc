#include "core/formats/torchscript/edit/place_weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/torchscript/edit/sum_way.h"
#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::torchscript {
namespace {

struct Version {
  const WeightVersion* weight;
  at::Tensor tensor;
};

// Records where one read gets its constant from.
struct PlacedRead {
  size_t version = 0;
  OperandSite site;
  int constantSite = kNone;  // index in ConstantTensor::sites; kNone: not known
};

// The container with the element at this path replaced.
c10::IValue withElement(const c10::IValue& container, std::span<const int64_t> path, const at::Tensor& tensor) {
  if (path.empty()) return tensor;
  const auto index = static_cast<size_t>(path[0]);
  if (container.isTuple()) {
    auto elements = container.toTupleRef().elements().vec();
    elements.at(index) = withElement(elements.at(index), path.subspan(1), tensor);
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  if (container.isTensorList() && path.size() == 1) {
    std::vector<at::Tensor> elements = container.toTensorVector();
    elements.at(index) = tensor;
    return {std::move(elements)};
  }
  throw EditRefused("a weight is held in a container that cannot be rebuilt");
}

size_t versionAtSite(const std::vector<WeightVersion>& versions, const std::vector<PlacedRead>& reads, int site,
                     bool readElsewhere) {
  const auto kept = std::ranges::find(versions, true, &WeightVersion::keptForOthers);
  if (readElsewhere && kept != versions.end()) return static_cast<size_t>(kept - versions.begin());
  std::vector<size_t> wanted(versions.size(), 0);
  for (const auto& read : reads) {
    if (read.constantSite == site || read.constantSite == kNone) ++wanted[read.version];
  }
  // A place that forward does not read follows the others.
  if (std::ranges::all_of(wanted, [](size_t count) { return count == 0; })) {
    for (const auto& read : reads) ++wanted[read.version];
  }
  return versionToHold(versions, wanted);
}

class WeightPlacement {
 public:
  WeightPlacement(const LoweredModel& model, FrameEdits& frames, EditsByInstance& instances)
      : model_(model), frames_(frames), instances_(instances) {}

  void place(graph::ConstantId constant, const std::vector<WeightVersion>& weights) {
    const ConstantTensor& held = model_.constantTensor(constant);
    const auto versions = tensorsOf(held.tensor, weights);
    const auto reads = readsOf(weights);
    for (size_t s = 0; s < held.sites.size(); ++s) {
      const auto& site = held.sites[s];
      const size_t here = versionAtSite(weights, reads, static_cast<int>(s), model_.program.isReadElsewhere(site));
      if (versions[here].weight->changed()) setSite(site, versions[here].tensor);
      for (const auto& read : reads) {
        if (read.constantSite == static_cast<int>(s) && read.version != here)
          redirect(read, reads, site, versions[read.version].tensor);
      }
    }
    // A read whose place is not known is served only where all places hold what it needs.
    const bool oneVersion =
        std::ranges::all_of(reads, [&](const PlacedRead& read) { return read.version == reads.front().version; });
    const bool unknown = std::ranges::any_of(reads, [](const PlacedRead& read) { return read.constantSite == kNone; });
    if (unknown && (!oneVersion || versions.size() > 1)) {
      throw EditRefused("'" + held.sites.front().path +
                        "' is read out of a list, and only some of its reads may change");
    }
  }

 private:
  static std::vector<Version> tensorsOf(const at::Tensor& original, const std::vector<WeightVersion>& versions) {
    std::vector<Version> out;
    for (const auto& version : versions) {
      out.push_back({&version, version.changed() ? tensorOf(version.view) : original});
      if (version.changed()) out.back().tensor.set_requires_grad(original.requires_grad());
    }
    return out;
  }

  [[nodiscard]] std::vector<PlacedRead> readsOf(const std::vector<WeightVersion>& versions) const {
    std::vector<PlacedRead> reads;
    for (size_t v = 0; v < versions.size(); ++v) {
      for (const auto& use : versions[v].uses) {
        const OperandSite& site = model_.lowered.siteOf(use);
        const ProgramValue* value = site.node == nullptr ? nullptr : &model_.program.value(site.value);
        reads.push_back({v, site, value != nullptr && value->constant != kNone ? value->site : kNone});
      }
    }
    return reads;
  }

  void setSite(const TensorSite& site, const at::Tensor& tensor) {
    if (site.owner) {
      auto& values = instances_[site.owner.get()].values;
      const auto known = values.find(site.attribute);
      const c10::IValue held = known == values.end() ? site.owner->getAttr(site.attribute) : known->second;
      values.insert_or_assign(site.attribute, withElement(held, site.elements, tensor));
      return;
    }
    if (!site.elements.empty()) throw EditRefused("'" + site.path + "' is part of a list that is written in the code");
    for (size_t f = 0; f < frames_.size(); ++f) {
      if (model_.program.frames[f].graph == site.graph) frames_[f].push_back(setConstant(site.node, tensor));
    }
  }

  // Upwards from a read: where its value is handed on as an argument, by the calls around it.
  [[nodiscard]] std::vector<OperandSite> chainOf(OperandSite site) const {
    std::vector<OperandSite> chain{site};
    for (;;) {
      const auto* value = site.node->input(static_cast<size_t>(site.input));
      const Frame& frame = model_.program.frame(site.frame);
      if (value->node() != frame.graph->param_node() || frame.parent == kNone) return chain;
      site = argumentFor(frame, *value);
      chain.push_back(site);
    }
  }

  void redirect(const PlacedRead& read, const std::vector<PlacedRead>& all, const TensorSite& site,
                const at::Tensor& tensor) {
    for (const auto& at : chainOf(read.site)) {
      const Frame& frame = model_.program.frame(at.frame);
      // A function gets no attributes, nor does an object that is no module: its caller hands in another tensor.
      if (site.owner && !(frame.self && frame.self->type()->is_module())) continue;
      for (const auto& other : all) {
        if (other.version == read.version || other.site.node == nullptr) continue;
        if (std::ranges::any_of(chainOf(other.site), [&](const OperandSite& link) { return link == at; }))
          throw EditRefused("'" + site.path + "' is handed to a function that reads it in two ways");
      }
      if (!redirected_.insert(at).second) return;
      frames_[static_cast<size_t>(at.frame)].push_back(
          site.owner ? readAttribute({at, tensor, attributeFor(frame.self, site, tensor), site.path})
                     : readConstant(at, tensor));
      return;
    }
    throw EditRefused("'" + site.path + "' is read by a function that cannot be given another tensor");
  }

  std::string attributeFor(const ObjectPtr& self, const TensorSite& site, const at::Tensor& tensor) {
    auto& name = newAttributes_[{self.get(), tensor.unsafeGetTensorImpl()}];
    if (!name.empty()) return name;
    name = addAttribute(instances_, self, site.attribute + "_centered", tensor, isParameter(site));
    return name;
  }

  const LoweredModel& model_;
  FrameEdits& frames_;
  EditsByInstance& instances_;
  std::set<OperandSite> redirected_;
  std::map<std::pair<const c10::ivalue::Object*, const at::TensorImpl*>, std::string> newAttributes_;
};

}  // namespace

std::string addAttribute(EditsByInstance& instances, const ObjectPtr& self, const std::string& wanted,
                         const at::Tensor& tensor, bool parameter) {
  auto& added = instances[self.get()].added;
  const auto taken = [&](const std::string& name) {
    return self->type()->hasAttribute(name) || self->type()->findMethod(name) != nullptr ||
           std::ranges::find(added, name, &NewAttribute::name) != added.end();
  };
  std::string name = wanted;
  for (int i = 2; taken(name); ++i) name = wanted + "_" + std::to_string(i);
  added.push_back({name, tensor, parameter});
  return name;
}

bool isParameter(const TensorSite& site) {
  const auto type = site.owner ? site.owner->type() : nullptr;
  return type && type->is_module() && type->is_parameter(type->getAttributeSlot(site.attribute));
}

void placeWeights(const LoweredModel& model, const WeightVersions& weights, FrameEdits& frames,
                  EditsByInstance& instances) {
  WeightPlacement placement(model, frames, instances);
  for (const auto& [constant, versions] : weights.changed()) placement.place(constant, versions);
}

}  // namespace normlens::formats::torchscript

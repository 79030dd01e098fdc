#include "core/formats/torchscript/edit/place_weights.h"

#include <algorithm>

#include "core/formats/edit/edit_refused.h"

namespace normlens::formats::torchscript {

OperandSite WeightPlacement::siteOf(const graph::Use& use) const {
  const auto& lowered = model_.lowered();
  const auto operand = static_cast<size_t>(use.operand);
  return use.node != graph::kNone ? lowered.operandSites[static_cast<size_t>(use.node)][operand]
                                  : lowered.returnSites[static_cast<size_t>(use.block)][operand];
}

int WeightPlacement::programValueAt(const graph::Use& use, const OperandSite& site) const {
  if (site.node == nullptr) return kNone;
  const auto& program = model_.program();
  if (use.node != graph::kNone) {
    const auto& node = program.nodes[static_cast<size_t>(model_.lowered().programNode[static_cast<size_t>(use.node)])];
    if (node.node == site.node && node.frame == site.frame) return node.inputs[static_cast<size_t>(site.input)];
  }
  const auto found = programNodes_.find({site.node, site.frame});
  if (found != programNodes_.end()) {
    return program.nodes[static_cast<size_t>(found->second)].inputs[static_cast<size_t>(site.input)];
  }
  for (const auto& block : program.blocks) {
    if (block.block->return_node() != site.node || block.frame != site.frame) continue;
    const auto input = static_cast<size_t>(site.input);
    return input < block.returns.size() ? block.returns[input] : kNone;
  }
  return kNone;
}

std::vector<WeightPlacement::Read> WeightPlacement::readsOf(const std::vector<Version>& versions) {
  const auto& program = model_.program();
  if (programNodes_.empty()) {
    for (size_t n = 0; n < program.nodes.size(); ++n) {
      programNodes_[{program.nodes[n].node, program.nodes[n].frame}] = static_cast<int>(n);
    }
  }
  std::vector<Read> reads;
  for (size_t v = 0; v < versions.size(); ++v) {
    for (const auto& use : versions[v].weight->uses) {
      Read read{use, v, siteOf(use), kNone};
      const int value = programValueAt(use, read.site);
      if (value != kNone && program.values[static_cast<size_t>(value)].constant != kNone) {
        read.constantSite = program.values[static_cast<size_t>(value)].site;
      }
      reads.push_back(read);
    }
  }
  return reads;
}

size_t WeightPlacement::versionAtSite(const std::vector<WeightVersion>& versions, const std::vector<Read>& reads,
                                      int site, bool readElsewhere) {
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

const ConstantTensor& WeightPlacement::held(graph::ConstantId constant) const {
  const int known = model_.lowered().programConstant[static_cast<size_t>(constant)];
  return model_.program().constants[static_cast<size_t>(known)];
}

std::vector<WeightPlacement::Version> WeightPlacement::tensorsOf(graph::ConstantId constant,
                                                                 const std::vector<WeightVersion>& versions) const {
  const at::Tensor& original = held(constant).tensor;
  std::vector<Version> out;
  for (const auto& version : versions) {
    out.push_back({&version, version.changed ? tensorOf(version.view) : original});
    if (version.changed) out.back().tensor.set_requires_grad(original.requires_grad());
  }
  return out;
}

void WeightPlacement::place(const WeightVersions& weights, FrameEdits& frames, EditsByInstance& instances) {
  for (const auto& [constant, versions] : weights.changed()) placeOne(constant, versions, frames, instances);
}

void WeightPlacement::placeOne(graph::ConstantId constant, const std::vector<WeightVersion>& weights,
                               FrameEdits& frames, EditsByInstance& instances) {
  const auto& sites = held(constant).sites;
  const auto versions = tensorsOf(constant, weights);
  const auto reads = readsOf(versions);
  for (size_t s = 0; s < sites.size(); ++s) {
    const auto& site = sites[s];
    const bool readElsewhere = site.owner && others_.attributes.contains({site.owner.get(), site.attribute});
    const size_t here = versionAtSite(weights, reads, static_cast<int>(s), readElsewhere);
    if (versions[here].weight->changed) setSite(site, versions[here].tensor, frames, instances);
    for (const auto& read : reads) {
      if (read.constantSite == static_cast<int>(s) && read.version != here) {
        redirect(read, reads, site, versions[read.version].tensor, frames, instances);
      }
    }
  }
  // A read whose place is not known is served only where all places hold what it wants.
  const bool oneVersion =
      std::all_of(reads.begin(), reads.end(), [&](const Read& read) { return read.version == reads.front().version; });
  const bool unknown = std::any_of(reads.begin(), reads.end(), [](const Read& r) { return r.constantSite == kNone; });
  if (unknown && (!oneVersion || versions.size() > 1)) {
    throw EditRefused("'" + sites.front().path + "' is read out of a list, and only some of its reads may change");
  }
}

namespace {

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

}  // namespace

void WeightPlacement::setSite(const TensorSite& site, const at::Tensor& tensor, FrameEdits& frames,
                              EditsByInstance& instances) {
  if (site.owner) {
    auto& values = instances[site.owner.get()].values;
    const auto known = values.find(site.attribute);
    const c10::IValue held = known == values.end() ? site.owner->getAttr(site.attribute) : known->second;
    values.insert_or_assign(site.attribute, withElement(held, site.elements, tensor));
    return;
  }
  if (!site.elements.empty()) throw EditRefused("'" + site.path + "' is part of a list that is written in the code");
  for (size_t f = 0; f < frames.size(); ++f) {
    if (model_.program().frames[f].graph == site.graph) frames[f].push_back(setConstant(site.node, tensor));
  }
}

// Upwards from a read: where its value is handed on as an argument, by the calls around it.
std::vector<OperandSite> WeightPlacement::chainOf(OperandSite site) const {
  std::vector<OperandSite> chain{site};
  const auto& frames = model_.program().frames;
  for (;;) {
    const auto* value = site.node->input(static_cast<size_t>(site.input));
    const Frame& frame = frames[static_cast<size_t>(site.frame)];
    if (value->node()->kind() != c10::prim::Param || value->node() != frame.graph->param_node()) return chain;
    if (frame.parent == kNone) return chain;
    const int shift = frame.call->kind() == c10::prim::CallFunction ? 1 : 0;
    site = {frame.parent, frame.call, static_cast<int>(value->offset()) + shift};
    chain.push_back(site);
  }
}

void WeightPlacement::redirect(const Read& read, const std::vector<Read>& all, const TensorSite& site,
                               const at::Tensor& tensor, FrameEdits& frames, EditsByInstance& instances) {
  const auto same = [](const OperandSite& a, const OperandSite& b) {
    return a.frame == b.frame && a.node == b.node && a.input == b.input;
  };
  for (const auto& at : chainOf(read.site)) {
    const Frame& frame = model_.program().frames[static_cast<size_t>(at.frame)];
    // A function gets no attributes, nor does an object that is no module: its caller hands in another tensor.
    if (site.owner && !(frame.self && frame.self->type()->is_module())) continue;
    for (const auto& other : all) {
      if (other.version == read.version || other.site.node == nullptr) continue;
      const auto chain = chainOf(other.site);
      if (std::any_of(chain.begin(), chain.end(), [&](const OperandSite& link) { return same(link, at); })) {
        throw EditRefused("'" + site.path + "' is handed to a function that reads it in two ways");
      }
    }
    if (!redirected_.insert({at.frame, at.node, at.input}).second) return;
    const ReadSite place{at.node, at.input};
    frames[static_cast<size_t>(at.frame)].push_back(
        site.owner ? readAttribute(place, attributeFor(frame.self, site, tensor, instances))
                   : readConstant(place, tensor));
    return;
  }
  throw EditRefused("'" + site.path + "' is read by a function that cannot be given another tensor");
}

std::string WeightPlacement::attributeFor(const ObjectPtr& self, const TensorSite& site, const at::Tensor& tensor,
                                          EditsByInstance& instances) {
  auto& name = newAttributes_[{self.get(), tensor.unsafeGetTensorImpl()}];
  if (!name.empty()) return name;
  auto& added = instances[self.get()].added;
  const auto taken = [&](const std::string& wanted) {
    return self->type()->hasAttribute(wanted) || self->type()->findMethod(wanted) != nullptr ||
           std::any_of(added.begin(), added.end(), [&](const NewAttribute& a) { return a.name == wanted; });
  };
  const std::string base = site.attribute + "_centered";
  name = base;
  for (int i = 2; taken(name); ++i) name = base + "_" + std::to_string(i);
  const auto owner = site.owner->type();
  added.push_back({name, tensor, owner->is_module() && owner->is_parameter(owner->getAttributeSlot(site.attribute))});
  return name;
}

}  // namespace normlens::formats::torchscript

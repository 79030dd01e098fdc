#include "core/formats/torchscript/edit/apply_variants.h"

#include <torch/csrc/jit/api/function_impl.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/formats/torchscript/edit/sum_way.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/module_index.h"

namespace normlens::formats::torchscript {
namespace {

using torch::jit::Function;
using torch::jit::Graph;

// The edits of bodies that are called together with what is edited around them, or alone.
FrameEdits editsFor(const FrameEdits& edits, BodyUse use) {
  FrameEdits chosen(edits.size());
  for (size_t f = 0; f < edits.size(); ++f) {
    std::ranges::copy_if(edits[f], std::back_inserter(chosen[f]),
                         [&](const BodyEdit& edit) { return edit.use == BodyUse::Any || edit.use == use; });
  }
  return chosen;
}

// Numbers for what a call does, edits of the calls below it included; 0: nothing. `numbers`: equal bodies get equal
// ones.
std::vector<int> deepSignatures(const Program& program, const FrameEdits& edits, std::map<std::string, int>& numbers) {
  std::vector<int> ids(program.frames.size(), 0);
  std::vector<std::string> below(program.frames.size());
  for (size_t f = program.frames.size(); f-- > 0;) {  // callers come before what they call
    const std::string all = signatureOf(edits[f]) + below[f];
    if (all.empty()) continue;
    ids[f] = numbers.try_emplace(all, static_cast<int>(numbers.size()) + 1).first->second;
    const Frame& frame = program.frames[f];
    if (frame.parent == kNone) continue;
    below[static_cast<size_t>(frame.parent)] += signature("(", frame.call, ids[f]);
  }
  return ids;
}

class VariantBuilder {
 public:
  VariantBuilder(const Program& program, const FrameEdits& edits, torch::jit::CompilationUnit& unit)
      : program_(program), unit_(unit), children_(program.frames.size()) {
    std::map<std::string, int> numbers;
    for (const BodyUse use : {BodyUse::Together, BodyUse::Alone}) {
      Edited& edited = use == BodyUse::Together ? together_ : alone_;
      edited.edits = editsFor(edits, use);
      edited.deep = deepSignatures(program, edited.edits, numbers);
    }
    for (size_t f = 1; f < program.frames.size(); ++f) {
      children_[static_cast<size_t>(program.frames[f].parent)].push_back(f);
    }
    findVariants();
    nameMethods();
  }

  void fill(EditsByInstance& out) {
    for (const auto& [key, variants] : methods_) {
      std::vector<MethodVariant> made;
      bool changed = false;
      for (const auto& [deep, variant] : variants) {
        made.push_back({variant.name, deep == 0 ? std::vector<BodyEdit>{} : bodyEdits(variant.frame, *variant.edited)});
        changed = changed || variant.name != key.second || !made.back().edits.empty();
      }
      if (!changed) continue;
      if (!key.first->type()->is_module()) {
        throw EditRefused("'" + shortClassName(*key.first) + "." + key.second +
                          "' belongs to no module and cannot be edited");
      }
      out[key.first].methods[key.second] = std::move(made);
    }
  }

 private:
  using MethodKey = std::pair<const c10::ivalue::Object*, std::string>;
  struct Edited {
    FrameEdits edits;
    std::vector<int> deep;  // by frame
  };
  struct Variant {
    const Edited* edited = nullptr;
    size_t frame = 0;  // one of those that want it
    bool newSignature = false;
    std::string name;
  };

  void findVariants() {
    for (const auto& key : program_.others.methods) methods_[key].try_emplace(0, Variant{&together_, 0, false, {}});
    std::vector<bool> standsAlone(program_.frames.size(), false);
    for (size_t f = 0; f < program_.frames.size(); ++f) {
      const auto& own = together_.edits[f];
      const bool newSignature = std::ranges::any_of(own, &BodyEdit::newSignature);
      add(f, together_, newSignature);
      // The method itself stays for those who call it from outside, and so does what it calls.
      const int parent = program_.frames[f].parent;
      standsAlone[f] = newSignature || (parent != kNone && standsAlone[static_cast<size_t>(parent)]);
      if (standsAlone[f]) add(f, alone_, false);
    }
  }

  void add(size_t f, const Edited& edited, bool newSignature) {
    const Frame& frame = program_.frames[f];
    if (frame.self) {
      methods_[{frame.self.get(), frame.method}].try_emplace(edited.deep[f], Variant{&edited, f, newSignature, {}});
    }
  }

  // One that is called as before keeps the name; ordered by number, an unedited one comes first.
  void nameMethods() {
    for (auto& [key, variants] : methods_) {
      int count = 0;
      for (const bool newSignature : {false, true}) {
        for (auto& [deep, variant] : variants) {
          if (variant.newSignature != newSignature) continue;
          const char* suffix = newSignature ? "_fused" : "_folded";
          variant.name = count == 0 ? key.second : freeName(*key.first, key.second + suffix, count);
          ++count;
        }
      }
    }
  }

  static std::string freeName(const c10::ivalue::Object& object, const std::string& wanted, int count) {
    std::string name = wanted + (count == 1 ? "" : "_" + std::to_string(count));
    const auto type = object.type();
    while (type->findMethod(name) != nullptr || type->hasAttribute(name)) name += '_';
    return name;
  }

  // The frame's own edits, after its calls have been pointed to the bodies they want.
  std::vector<BodyEdit> bodyEdits(size_t f, const Edited& edited) {
    std::vector<BodyEdit> out;
    for (const size_t child : children_[f]) {
      const Frame& callee = program_.frames[child];
      const int deep = edited.deep[child];
      if (callee.self) {
        const auto& name = methods_.at({callee.self.get(), callee.method}).at(deep).name;
        if (name == callee.method) continue;
        if (!mayRename(callee)) {
          throw EditRefused("'" + callee.path + "' is called through an interface, and not all calls of its '" +
                            callee.method + "' would change alike");
        }
        out.push_back(callMethod(callee.call, name));
      } else if (deep != 0 && needsCopy(child, edited)) {
        out.push_back(callFunction(callee.call, functionFor(child, edited)));
      }
    }
    out.insert(out.end(), edited.edits[f].begin(), edited.edits[f].end());
    return out;
  }

  // Code in a fork stays as it is where only what it calls changes, under the names that it calls.
  bool needsCopy(size_t f, const Edited& edited) {
    return program_.frames[f].call->kind() != c10::prim::fork || !bodyEdits(f, edited).empty();
  }

  Function* functionFor(size_t f, const Edited& edited) {
    const Frame& frame = program_.frames[f];
    if (frame.call->kind() != c10::prim::CallFunction) {
      throw EditRefused("code that runs in a fork of its own ('" + frame.path + "') cannot be edited");
    }
    Function*& made = functions_[{frame.graph.get(), edited.deep[f]}];
    if (made == nullptr) {
      Function* original = frame.call->input(0)->type()->expectRef<c10::FunctionType>().function();
      const auto old = program_.frames[0].self->compilation_unit();
      made = copyFunction(unit_, *old, *original, bodyEdits(f, edited));
    }
    return made;
  }

  const Program& program_;
  torch::jit::CompilationUnit& unit_;
  Edited together_, alone_;
  std::vector<std::vector<size_t>> children_;
  std::map<MethodKey, std::map<int, Variant>> methods_;
  std::map<std::pair<const Graph*, int>, Function*> functions_;
};

}  // namespace

Result<FusedNorms> rebuild(const LoweredModel& model, Result<RecordedEdits> edits, const std::string& failed) {
  if (!edits) return tl::unexpected(edits.error());
  if (edits->frames.empty()) return FusedNorms{};
  try {
    const c10::InferenceMode noGradients(false);
    const auto unit = std::make_shared<torch::jit::CompilationUnit>();
    VariantBuilder(model.program, edits->frames, *unit).fill(edits->instances);
    ModuleSource source = model.source.with(copyModule(model.source.module, unit, edits->instances));
    source.pending = edits->pending;
    ASSIGN_OR_RETURN(auto made, lowered(std::move(source), model.facts));
    return FusedNorms{std::move(made), std::move(edits->fused)};
  } catch (...) {
    return tl::unexpected(torchEditError(failed));
  }
}

}  // namespace normlens::formats::torchscript

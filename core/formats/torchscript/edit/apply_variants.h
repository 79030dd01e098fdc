// From edits of single calls to edits of methods and functions. Private to formats/torchscript: includes torch.
//
// The program lists every call of a body as a frame of its own; the file has one body per method. Where all calls of a
// method on an instance want the same edits, the method is edited. Where they differ, the method gets a sibling under
// a new name and the callers that want it call that one; so does a method that is to take or return more, which stays
// as well, edited as for calls from outside (BodyUse). Functions are copied for the callers that want an edit.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/torchscript/edit/apply_module_copy.h"
#include "core/formats/torchscript/lower/lowered_model.h"

namespace normlens::formats::torchscript {

// By frame of the program: what happens to its body.
using FrameEdits = std::vector<std::vector<BodyEdit>>;

// What a plan does to a module. The format of torch.export repeats it on its documents.
struct RecordedEdits {
  FrameEdits frames;
  EditsByInstance instances;                      // tensors that modules hold
  std::shared_ptr<fold::PendingWeights> pending;  // weights of the result that are not computed yet; null: none
  std::vector<std::string> fused;                 // norms that are joined or fused
};

struct FusedNorms {
  std::optional<LoweredModel> model;  // nullopt where nothing was done
  std::vector<std::string> names;     // of the norms that were joined or fused
};

// A model with edits in it, made of an opened one; none where there are none. Tensors that did not change are shared,
// and so is state that the model writes: a run writes copies. Errors: those of `edits`; `failed` and why.
[[nodiscard]] Result<FusedNorms> rebuild(const LoweredModel& model, Result<RecordedEdits> edits,
                                         const std::string& failed);

}  // namespace normlens::formats::torchscript

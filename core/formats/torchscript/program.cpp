#include "core/formats/torchscript/program.h"

#include "core/formats/torchscript/in_place.h"
#include "core/formats/torchscript/program_builder.h"

namespace normlens::formats::torchscript {

Result<Program> buildProgram(const torch::jit::Module& module) {
  try {
    const ModuleIndex index(module);
    WrittenAttributes written;
    // A walk may meet a SetAttr after it has taken the attribute for known: then it is done again knowing better.
    for (int attempt = 0; attempt < 8; ++attempt) {
      ProgramBuilder builder(module, index, written);
      Program program = builder.build();
      if (builder.written().size() > written.size()) {
        written.insert(builder.written().begin(), builder.written().end());
        continue;
      }
      program.writesState = !written.empty();
      analyseInPlace(program);
      return program;
    }
    return fail(ErrorCode::Unsupported, "the model's attributes are written in too many ways to follow");
  } catch (const c10::Error& error) {
    return fail(ErrorCode::Unsupported,
                std::string("the model's code cannot be followed: ") + error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unsupported, std::string("the model's code cannot be followed: ") + error.what());
  }
}

}  // namespace normlens::formats::torchscript

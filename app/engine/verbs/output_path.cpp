#include "app/engine/verbs/output_path.h"

#include <string>

#include "core/service/service.h"

namespace normlens::engine {
namespace {

bool sameFile(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error) && !error) return true;
  return std::filesystem::weakly_canonical(a, error) == std::filesystem::weakly_canonical(b, error);
}

}  // namespace

Status checkOutput(const std::filesystem::path& model, const std::filesystem::path& out) {
  if (sameFile(model, out)) {
    return fail(ErrorCode::Usage, "the output " + out.string() + " is the model itself", "choose another name");
  }
  if (!service::suffixFits(model, out)) {
    return fail(ErrorCode::Usage, "the output " + out.string() + " has another suffix than the model",
                "name it " + std::filesystem::path(out).replace_extension(model.extension()).string());
  }
  std::error_code error;
  const std::filesystem::path folder = out.has_parent_path() ? out.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder, error)) {
    return fail(ErrorCode::WriteFailed, "there is no folder " + folder.string() + " to write to");
  }
  if (std::filesystem::is_directory(out, error)) return fail(ErrorCode::WriteFailed, out.string() + " is a folder");
  return {};
}

Status checkSavedPlan(const std::filesystem::path& plan, std::initializer_list<std::filesystem::path> others) {
  for (const auto& other : others) {
    if (other.empty() || !sameFile(plan, other)) continue;
    return fail(ErrorCode::Usage, "the plan would be written over " + other.string(), "choose another name");
  }
  return {};
}

}  // namespace normlens::engine

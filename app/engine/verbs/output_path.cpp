#include "app/engine/verbs/output_path.h"

#include <string>

#include "core/base/files.h"
#include "core/base/stopwatch.h"

namespace normlens::engine {
namespace {

// Checks that the name is free, or that of a file that may be written over.
Status checkPlainFile(const std::filesystem::path& path) {
  std::error_code error;
  const auto there = std::filesystem::status(path, error);
  if (!std::filesystem::exists(there) || std::filesystem::is_regular_file(there)) return {};
  const bool folder = std::filesystem::is_directory(there);
  return fail(ErrorCode::WriteFailed, path.string() + " is a " + (folder ? "folder" : "device or a pipe"),
              "choose another name");
}

}  // namespace

Status checkOutput(const Files& model, const std::filesystem::path& out) {
  if (files::isOneOf(model, out)) {
    return fail(ErrorCode::Usage, "the output " + out.string() + " is the model itself", "choose another name");
  }
  if (!service::suffixFits(model.front(), out)) {
    return fail(ErrorCode::Usage, "the output " + out.string() + " has another suffix than the model",
                "name it " + std::filesystem::path(out).replace_extension(model.front().extension()).string());
  }
  std::error_code error;
  const std::filesystem::path folder = out.has_parent_path() ? out.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder, error)) {
    return fail(ErrorCode::WriteFailed, "there is no folder " + folder.string() + " to write to");
  }
  return checkPlainFile(out);
}

Status checkWrittenBeside(const std::string& what, const std::filesystem::path& path, const Files& model,
                          std::initializer_list<std::filesystem::path> others) {
  if (files::isOneOf(model, path) || files::isOneOf(others, path)) {
    return fail(ErrorCode::Usage, what + " would be written over " + path.string() + ", which is read or written here",
                "choose another name");
  }
  return checkPlainFile(path);
}

Result<double> saveTo(const formats::Model& model, const std::string& path, const Task& task) {
  task.report("writing " + path);
  const Stopwatch watch;
  if (Status saved = model.save(path, task); !saved) return tl::unexpected(std::move(saved.error()));
  return watch.ms();
}

}  // namespace normlens::engine

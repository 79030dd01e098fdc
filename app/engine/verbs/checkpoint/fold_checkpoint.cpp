#include "app/engine/verbs/checkpoint/fold_checkpoint.h"

#include <algorithm>

#include "app/engine/verbs/verify_text.h"
#include "core/base/files.h"
#include "core/base/formatted.h"
#include "core/base/plural.h"
#include "core/base/printable.h"

namespace normlens::engine {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 4000;
constexpr int kMostDepth = 3;

bool liesIn(const fs::path& folder, const fs::path& file) {
  return std::ranges::mismatch(folder, file).in1 == folder.end();
}

// A link may lead to another file of the folder, or to where the Hugging Face cache has the content of its snapshots
// (models--NAME/snapshots/HASH/FILE -> models--NAME/blobs/SUM): a folder from a stranger names no other files of yours.
bool leadsOut(const fs::path& folder, const fs::path& file) {
  std::error_code error;
  const fs::path whole = fs::canonical(file, error);
  return error || (!liesIn(folder, whole) && whole.parent_path() != folder.parent_path().parent_path() / "blobs");
}

// What an entry is that is no file to be copied; nullptr: it is one.
const char* whatElse(const fs::path& folder, const fs::directory_entry& entry) {
  if (entry.is_symlink() && leadsOut(folder, entry.path())) return "a link that leads out of its folder";
  std::error_code error;
  return entry.is_regular_file(error) ? nullptr : "no regular file";
}

Result<std::vector<std::string>> filesIn(const fs::path& given) {
  std::error_code error;
  const fs::path folder = fs::canonical(given, error);
  if (error || !fs::is_directory(folder, error))
    return fail(ErrorCode::Unreadable, printable("there is no folder " + given.string()), "check the path");
  std::vector<std::string> files;
  fs::recursive_directory_iterator entries(folder, error);
  for (const fs::recursive_directory_iterator end; !error && entries != end; entries.increment(error)) {
    const fs::path& path = entries->path();
    const bool hidden = path.filename().string().starts_with('.');
    if (entries->is_directory() && !entries->is_symlink()) {
      if (hidden || entries.depth() + 1 >= kMostDepth) entries.disable_recursion_pending();
      continue;
    }
    if (hidden) continue;
    if (const char* what = whatElse(folder, *entries))
      return fail(ErrorCode::Unreadable, printable(path.string() + " is " + what), "put the file itself there");
    files.push_back(path.lexically_relative(folder).string());
    if (files.size() > kMostFiles)
      return fail(ErrorCode::Unreadable, printable(given.string() + " holds too many files for a checkpoint"));
  }
  if (error) return fail(ErrorCode::Unreadable, printable(given.string() + " cannot be read: " + error.message()));
  std::ranges::sort(files);
  return files;
}

}  // namespace

void CheckpointOptions::addTo(CLI::App& app, CLI::Option* output) {
  CLI::Option* const of =
      app.add_option("--weights-of", folder, "A folder with the safetensors checkpoint that MODEL was exported from")
          ->type_name("HF_DIR");
  CLI::Option* const to =
      app.add_option("--weights-out", out, "Write a copy of it with the folded weights to this folder")
          ->type_name("DIR");
  of->needs(to);
  to->needs(of);
  app.callback([this, output] {
    if (output->count() == 0 && out.empty()) throw CLI::RequiredError(output->get_name());
  });
}

void CheckpointOptions::list() {
  if (folder.empty()) return;
  files_ = filesIn(folder);
  std::error_code error;
  holdsSomething_ = fs::is_directory(out, error) && !fs::is_empty(out, error);
}

void CheckpointOptions::grant(confine::Grants& grants) const {
  if (folder.empty() || !files_) return;
  for (const std::string& file : *files_) grants.toRead(fs::path(folder) / file);
  grants.toMakeFolder(out);
}

Status CheckpointOptions::check(const Files& model) const {
  if (folder.empty()) return {};
  if (!files_) return tl::unexpected(files_.error());
  std::error_code error;
  const fs::path from = fs::weakly_canonical(folder, error), to = fs::weakly_canonical(fs::absolute(out), error);
  if (liesIn(from, to))
    return fail(ErrorCode::Usage, "the folder " + out + " is the checkpoint's own, or lies in it",
                "choose another one");
  const fs::path named = to.has_filename() ? to : to.parent_path();
  if (!fs::is_directory(named.parent_path(), error))
    return fail(ErrorCode::WriteFailed, "there is no folder " + named.parent_path().string() + " to write to");
  if (files::isOneOf(model, named)) return fail(ErrorCode::Usage, "the folder " + out + " is the model itself");
  if (fs::exists(named, error) && !fs::is_directory(named, error))
    return fail(ErrorCode::WriteFailed, out + " is no folder", "choose another name");
  if (holdsSomething_)
    return fail(ErrorCode::WriteFailed, "the folder " + out + " is not empty", "choose another one, or empty it first");
  return {};
}

Result<std::optional<service::CheckpointExport>> CheckpointOptions::prepare(const service::Service& service) const {
  if (folder.empty()) return std::optional<service::CheckpointExport>();
  auto made = service.checkpointExport({folder, *files_});
  if (!made) return tl::unexpected(made.error());
  return std::optional(std::move(*made));
}

void printCheckpoint(const protocol::CheckpointResult& checkpoint, Console& console) {
  const auto& recipe = checkpoint.recipe;
  const auto added = std::ranges::count(recipe.tensors, true, &protocol::CheckpointTensor::added);
  const auto edited = static_cast<int64_t>(recipe.tensors.size()) - added;
  console.print("  checkpoint written to " + checkpoint.output + ": " + plural(edited, "tensor") + " edited, " +
                std::to_string(added) + " added, " + plural(checkpoint.files, "file") + ", " +
                megabytes(checkpoint.bytes) + formatted(" (save %.0f ms)", checkpoint.save_ms));
  console.print(
      "  it gives the same outputs in the class as it is, with LayerNorms; recipe.json says what becomes an "
      "RMSNorm");
  for (const auto& note : recipe.notes) console.print("  " + note);
  if (!recipe.left_out.empty()) {
    std::string names;
    for (const auto& name : recipe.left_out) names += (names.empty() ? "" : ", ") + printable(name);
    console.print("  not copied, because it holds weights that were not folded: " + names);
  }
}

}  // namespace normlens::engine

#include "core/confine/grants.h"

#include <algorithm>

#include "core/base/direct_files.h"

namespace normlens::confine {
namespace {

namespace fs = std::filesystem;

bool liesOpenlyIn(const fs::path& folder, const fs::path& file) {
  const auto [rest, below] = std::ranges::mismatch(folder, file);
  return rest == folder.end() &&
         std::none_of(below, file.end(), [](const fs::path& name) { return name.string().starts_with('.'); });
}

}  // namespace

fs::path Grants::resolved(const Path& path) {
  if (path.empty()) return {};
  std::error_code error;
  fs::path whole = fs::weakly_canonical(direct::behindLinks(fs::absolute(path, error)), error);
  if (!whole.has_filename()) whole = whole.parent_path();  // of a folder that ends in a slash
  return error ? fs::path() : whole;
}

void Grants::toRead(const Path& file) {
  if (const Path whole = resolved(file); !whole.empty()) read_.insert(whole);
}

void Grants::toReadBeside(const Path& model) {
  if (const Path whole = resolved(model); !whole.empty()) dataFolders_.insert(whole.parent_path());
}

void Grants::toWrite(const Path& file) {
  if (const Path whole = resolved(file); !whole.empty()) write_.insert(whole);
}

bool Grants::mayRead(const Path& file) const {
  const Path whole = resolved(file);
  return read_.contains(whole) || write_.contains(whole);
}

bool Grants::mayReadAsData(const Path& file) const {
  const Path whole = resolved(file);
  return std::ranges::any_of(dataFolders_, [&](const Path& folder) { return liesOpenlyIn(folder, whole); });
}

bool Grants::mayReadAsModel(const Path& file) const {
  const Path whole = resolved(file);
  return std::ranges::any_of(write_, [&](const Path& out) { return whole.parent_path() == out.parent_path(); });
}

bool Grants::mayList(const Path& folder) const {
  const Path whole = resolved(folder);
  return std::ranges::any_of(write_, [&](const Path& out) { return out.parent_path() == whole; });
}

bool Grants::mayReplace(const Path& file) const { return write_.contains(resolved(file)); }

bool Grants::mayMakeOrRemove(const Path& file) const {
  const Path whole = resolved(file);
  const std::string name = whole.filename().string();
  return std::ranges::any_of(write_, [&](const Path& out) {
    const std::string own = out.filename().string(), data = out.stem().string() + "_data";
    const bool after = name.starts_with(own + "_data") || (out.has_extension() && name.starts_with(own + "."));
    const bool numbered = name.starts_with(data) && name.find_first_not_of("_0123456789", data.size()) == name.npos;
    return whole.parent_path() == out.parent_path() && (after || numbered);
  });
}

}  // namespace normlens::confine

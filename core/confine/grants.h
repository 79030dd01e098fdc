// What the user named: the files that a confined process may be handed. Private memory of the process that starts it.
//
// Paths are compared as absolute ones with links followed, so that a file is granted and not a spelling of it.
// Thread: one at a time.
#pragma once

#include <filesystem>
#include <set>

namespace normlens::confine {

class Grants {
 public:
  using Path = std::filesystem::path;

  // The file that a spelling means, to be compared and opened: absolute, without links; "": none.
  [[nodiscard]] static Path resolved(const Path& path);

  // A model, a file of inputs, a plan.
  void toRead(const Path& file);
  // An ONNX model that was handed over: its tensors may lie in files of its own folder or below, none of them hidden.
  void toReadBeside(const Path& model);
  // What an export is to be called. Beside it: data files, which are called OUT.* (where OUT has an extension),
  // OUT_data* or, with a number or without, STEM_data; and a look at the models of its folder, which tells whether an
  // older data file is still needed.
  void toWrite(const Path& file);
  void endWriting() { write_.clear(); }  // the export is over

  [[nodiscard]] bool mayRead(const Path& file) const;
  [[nodiscard]] bool mayReadAsData(const Path& file) const;   // if it is a regular file
  [[nodiscard]] bool mayReadAsModel(const Path& file) const;  // if it is an ONNX model
  [[nodiscard]] bool mayList(const Path& folder) const;
  [[nodiscard]] bool mayReplace(const Path& file) const;
  [[nodiscard]] bool mayMakeOrRemove(const Path& file) const;

 private:
  std::set<Path> read_, write_, dataFolders_;
};

}  // namespace normlens::confine

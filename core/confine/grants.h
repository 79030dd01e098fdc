// Grants are the files that the user named, which a confined process may be handed. Private memory of its starter.
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

  // Returns the file that a spelling means, to be compared and opened: absolute, without links; "": none.
  [[nodiscard]] static Path resolved(const Path& path);

  // Grants a model, a file of inputs, a plan.
  void toRead(const Path& file);
  // Grants what an ONNX model that was handed over may need: tensors in files of its folder or below, none of them
  // hidden.
  void toReadBeside(const Path& model);
  // Grants the file that an export is to have. Beside it: data files, with names OUT.* (where OUT has an extension),
  // OUT_data* or, with a number or without, STEM_data; and a look at the models of its folder, which shows whether an
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

// The data files of a model that is about to be replaced, to be removed once it has been. Private to formats/onnx.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace normlens::formats::onnx {

// Call it before the model at `path` is replaced: files in its folder that it names, that are called as we call data of
// such a model ("out.onnx.data", "out.onnx_data", "out_data", or that with a number) or as the new one's would be
// (`wanted`). Empty where there is no model, or one that does not record that NormLens wrote it.
[[nodiscard]] std::vector<std::filesystem::path> dataFilesOf(const std::filesystem::path& path,
                                                             const std::set<std::string>& wanted);

// Removes, after a save, those of `files` that no model in the folder needs any more, whatever it is called, nor the
// `opened` one, wherever it is. All files stay where a model there cannot be read, since it may need any; what cannot
// be removed stays too.
void removeUnneeded(const std::vector<std::filesystem::path>& files, const std::filesystem::path& folder,
                    const std::filesystem::path& opened);

}  // namespace normlens::formats::onnx

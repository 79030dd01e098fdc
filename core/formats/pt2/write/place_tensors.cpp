#include "core/formats/pt2/write/place_tensors.h"

#include <algorithm>
#include <set>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/pt2/file/container.h"
#include "core/formats/pt2/file/meta_algebra.h"
#include "core/formats/torchscript/program/module_index.h"

namespace normlens::formats::pt2 {
namespace {

class Table {
 public:
  Table(Json& config, std::string folder, std::string stem, const Program& program)
      : config_(config), folder_(std::move(folder)), stem_(std::move(stem)), program_(program) {}

  void place(const std::vector<ChangedTensor>& changed, std::map<std::string, at::Tensor>& written) {
    for (const ChangedTensor& change : changed) {
      if (!change.like.empty()) entries().emplace_back(change.held.fqn, Json(entry(change.like)));
    }
    std::map<std::string, std::string> recordOf;  // by memory of the new tensor
    for (const ChangedTensor& change : changed) {
      std::string& record = recordOf[torchscript::memoryKey(change.tensor)];
      if (record.empty()) record = recordFor(change, changed);
      Json& made = entry(change.held.fqn);
      made.set("path_name", Json(record));
      Json& meta = made.at("tensor_meta");
      meta = metaOfRecord(meta, change.tensor);
      written[folder_ + record] = change.tensor;
    }
  }

 private:
  Json::Object& entries() { return config_.at("config").members(); }
  Json& entry(const std::string& fqn) { return config_.at("config").at(fqn); }

  // The record that the tensor had, where nobody reads anything else of it any more.
  std::string recordFor(const ChangedTensor& change, const std::vector<ChangedTensor>& changed) {
    const std::string held = entry(change.like.empty() ? change.held.fqn : change.like).at("path_name").text();
    const auto becomesThis = [&](const std::string& fqn) {
      const auto other = std::ranges::find_if(changed, [&](const ChangedTensor& each) { return each.held.fqn == fqn; });
      return other != changed.end() && torchscript::sameTensor(other->tensor, change.tensor);
    };
    bool alone = change.like.empty() && modelsIn(*program_.archive).size() == 1 && !taken_.contains(held);
    for (const auto& [fqn, each] : entries())
      alone = alone && (each.at("path_name").text() != held || becomesThis(fqn));
    std::string name = alone ? held : freshRecord();
    taken_.insert(name);
    return name;
  }

  std::string freshRecord() {
    for (int64_t i = 0;; ++i) {
      std::string name = stem_ + std::to_string(i);
      const std::string full = std::string(program_.archive->prefix()) + folder_ + name;
      const bool inTable = std::ranges::any_of(
          entries(), [&](const Json::Member& each) { return each.second.at("path_name").text() == name; });
      if (program_.archive->find(full) == nullptr && !inTable && !taken_.contains(name)) return name;
    }
  }

  Json& config_;
  std::string folder_, stem_;
  const Program& program_;
  std::set<std::string> taken_;
};

}  // namespace

Json metaOfRecord(const Json& meta, const at::Tensor& tensor) {
  const auto numbers = [](at::IntArrayRef of) {
    Json::Array made;
    for (const int64_t number : of) made.emplace_back(Json::Object{{"as_int", Json(number)}});
    return made;
  };
  Json made = denseMeta(meta, numbers(tensor.sizes()));
  made.set("strides", Json(numbers(tensor.strides())));
  return made;
}

std::map<std::string, at::Tensor> placeTensors(const Program& program, const std::vector<ChangedTensor>& changed,
                                               ProgramFile& file) {
  std::vector<ChangedTensor> weights, constants;
  for (ChangedTensor change : changed) {
    if (!change.tensor.is_non_overlapping_and_dense()) throw EditRefused("a changed weight is not dense");
    (change.held.persistent ? weights : constants).push_back(std::move(change));
  }
  std::map<std::string, at::Tensor> written;
  if (!weights.empty()) Table(file.weights, "data/weights/", "weight_", program).place(weights, written);
  if (!constants.empty()) Table(file.constants, "data/constants/", "tensor_", program).place(constants, written);
  return written;
}

}  // namespace normlens::formats::pt2

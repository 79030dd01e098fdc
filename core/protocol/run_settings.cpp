#include "core/protocol/run_settings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/formatted.h"
#include "core/base/machine.h"
#include "core/base/printable.h"
#include "core/protocol/field_list.h"
#include "core/protocol/json.h"

namespace normlens::lab {
namespace {

// Finds fields that a struct does not have: a slip of the file's author, reported and not ignored.
namespace detail {
template <class T>
struct ElementOf {
  using Type = T;
  static constexpr bool kList = false;
};
template <class T>
struct ElementOf<std::vector<T>> {
  using Type = T;
  static constexpr bool kList = true;
};
}  // namespace detail

// The path of the first one ("data.sampels"); nullopt: all are known. What has another type than it should is passed.
template <protocol::Message T>
[[nodiscard]] std::optional<std::string> unknownField(const nlohmann::json& in, const std::string& path = {}) {
  if (!in.is_object()) return std::nullopt;
  T message;
  for (const auto& member : in.items()) {
    const std::string& key = member.key();
    const nlohmann::json& value = member.value();
    const std::string here = path.empty() ? key : path + "." + key;
    bool known = false;
    std::optional<std::string> below;
    protocol::visitFields(message, [&](std::string_view name, auto& field) {
      if (name != key) return;
      known = true;
      using Element = detail::ElementOf<std::remove_cvref_t<decltype(field)>>;
      if constexpr (protocol::Message<typename Element::Type>) {
        if constexpr (!Element::kList) below = unknownField<typename Element::Type>(value, here);
        for (size_t i = 0; Element::kList && value.is_array() && i < value.size() && !below; ++i)
          below = unknownField<typename Element::Type>(value[i], here + "[" + std::to_string(i) + "]");
      }
    });
    if (!known) return here;
    if (below) return below;
  }
  return std::nullopt;
}

constexpr double kMostNetworks = 4096;  // A run may have no more.

std::string number(double value) { return formatted("%g", value); }

// Collects the first thing that is wrong.
class Checker {
 public:
  void require(bool good, const std::string& field, const std::string& problem) {
    if (!good && status_) status_ = fail(ErrorCode::BadInput, printable(field + " " + problem));
  }
  template <Named E>
  void isSet(E word, const std::string& field) {
    require(word != E::Unset, field, protocol::notOneOf({}, namesOf(word)));
  }
  void within(double value, double low, double high, const std::string& field) {
    require(std::isfinite(value) && value >= low && value <= high, field,
            "is " + number(value) + ", and must lie between " + number(low) + " and " + number(high));
  }
  template <class T>
  void someAndDifferent(const std::vector<T>& all, const std::string& field) {
    require(!all.empty(), field, "is empty: at least one is needed");
    require(std::set<T>(all.begin(), all.end()).size() == all.size(), field, "names one of them twice");
  }
  [[nodiscard]] Status status() const { return status_; }

 private:
  Status status_;
};

std::string at(const char* list, size_t index) { return std::string(list) + "[" + std::to_string(index) + "]"; }

void checkOptimizer(const OptimizerSettings& optimizer, const std::string& where, Checker& check) {
  check.require(optimizer.learning_rate > 0, where + ".learning_rate", "must be above 0");
  check.within(optimizer.learning_rate, 0, 1e6, where + ".learning_rate");
  check.within(optimizer.momentum, 0, 0.9999, where + ".momentum");
  check.require(optimizer.momentum == 0 || optimizer.kind == OptimizerKind::Sgd, where + ".momentum",
                "is for sgd alone: " + nameOf(optimizer.kind) + " has beta1");
  check.within(optimizer.weight_decay, 0, 1, where + ".weight_decay");
  check.within(optimizer.beta1, 0, 0.9999, where + ".beta1");
  check.within(optimizer.beta2, 0, 0.999999, where + ".beta2");
  check.require(std::isfinite(optimizer.eps) && optimizer.eps > 0, where + ".eps", "must be above 0");
  check.within(optimizer.warmup, 0, 0.99, where + ".warmup");
  check.within(optimizer.clip_norm, 0, 1e6, where + ".clip_norm");
  check.within(optimizer.dropout, 0, 0.95, where + ".dropout");
}

void checkData(const DataSettings& data, bool characters, Checker& check) {
  check.require((data.kind == DataKind::Characters) == characters, "data.kind",
                characters ? "is \"" + nameOf(data.kind) + "\", and a transformer needs characters"
                           : "is \"" + nameOf(data.kind) + "\", which only a transformer can learn");
  check.require(data.kind != DataKind::Npz || !data.path.empty(), "data.path",
                "is empty: npz data are read from a file");
  check.within(static_cast<double>(data.samples), 16, 1e7, "data.samples");
  check.within(data.features, data.kind == DataKind::Parity ? 2 : 1, 4096, "data.features");
  check.within(data.classes, 2, 1000, "data.classes");
  check.within(data.noise, 0, 10, "data.noise");
  check.within(data.test_share, 0.01, 0.9, "data.test_share");
}

void checkNetworks(const RunSettings& settings, Checker& check) {
  check.someAndDifferent(settings.networks, "networks");
  for (size_t i = 0; i < settings.networks.size(); ++i) check.isSet(settings.networks[i], at("networks", i));
  const bool reference = std::ranges::find(settings.networks, NormUse::LayerNorm) != settings.networks.end();
  check.require(reference || settings.experiment != Experiment::Continued, "networks",
                "lacks layer_norm, from whose weights the others go on");
  check.require(reference || settings.experiment != Experiment::Cost, "networks",
                "lacks layer_norm, whose time the others are compared with");
  check.someAndDifferent(settings.precisions, "precisions");
  for (size_t i = 0; i < settings.precisions.size(); ++i) check.isSet(settings.precisions[i], at("precisions", i));
  check.require(!settings.optimizers.empty(), "optimizers", "is empty: at least one is needed");
  for (size_t i = 0; i < settings.optimizers.size(); ++i)
    checkOptimizer(settings.optimizers[i], at("optimizers", i), check);
  check.someAndDifferent(settings.seeds, "seeds");
  if (std::ranges::find(settings.networks, NormUse::CrmsNorm) == settings.networks.end()) return;
  check.require(settings.architecture == Architecture::PreNormTransformer, "networks",
                "names crms_norm, which only a pre_norm_transformer has");
  for (size_t i = 0; i < settings.optimizers.size(); ++i) {
    check.require(settings.optimizers[i].dropout == 0, at("optimizers", i) + ".dropout",
                  "acts on channels of the stream, of which crms_norm has one fewer: it must be 0");
  }
}

void checkSizes(const RunSettings& settings, Checker& check) {
  check.someAndDifferent(settings.layers, "layers");
  const bool transformer = isTransformer(settings);
  for (size_t i = 0; i < settings.layers.size(); ++i)
    check.within(settings.layers[i], transformer ? 1 : 2, 200, at("layers", i));
  check.within(settings.width, 2, 16384, "width");
  check.within(settings.epochs, 1, 100000, "epochs");
  check.within(settings.batch, 1, 1e6, "batch");
  check.require(std::isfinite(settings.norm_eps) && settings.norm_eps >= 0, "norm_eps", "must not be below 0");
  check.require(gpuNamed(settings.device).has_value(), "device",
                "is \"" + settings.device + "\", and must be cpu, cuda or a GPU's number: cuda:1");
  check.within(settings.threads, 0, 128, "threads");
  check.within(static_cast<double>(memberCount(settings)), 1, kMostNetworks, "the number of networks");
  if (settings.experiment == Experiment::Continued) {
    check.require(settings.epochs >= 2, "epochs", "must be 2 or more: the other networks go on after a handover");
    check.within(settings.handover_epoch, 1, settings.epochs - 1, "handover_epoch");
  }
  if (settings.architecture == Architecture::Convolutional) {
    check.within(settings.groups, 1, settings.width, "groups");
    check.require(settings.groups < 1 || settings.width % settings.groups == 0, "groups",
                  "is " + std::to_string(settings.groups) + ", which does not divide the width " +
                      std::to_string(settings.width));
  }
  for (size_t i = 0; i < settings.batches.size(); ++i) check.within(settings.batches[i], 1, 1e6, at("batches", i));
  if (transformer) {
    check.within(settings.heads, 1, settings.width, "heads");
    check.require(
        settings.heads < 1 || settings.width % settings.heads == 0, "heads",
        "is " + std::to_string(settings.heads) + ", which does not divide the width " + std::to_string(settings.width));
    check.within(settings.context, 2, 4096, "context");
    check.within(settings.steps_per_epoch, 1, 1e6, "steps_per_epoch");
  }
  check.within(settings.rounds, 2, 10000, "rounds");
  check.within(settings.steps_per_round, 1, 10000, "steps_per_round");
}

nlohmann::json renewed(nlohmann::json settings) {
  if (settings.is_object() && settings.value("experiment", nlohmann::json()) == "transformer")
    settings.update({{"experiment", "equivalence"}, {"architecture", "pre_norm_transformer"}});
  return settings;
}

}  // namespace

RunSettings usualSettings(Experiment experiment) {
  RunSettings settings;
  settings.experiment = experiment;
  if (experiment == Experiment::Equivalence) {
    // Smooth and with moderate steps: where training is chaotic, it makes rounding large (docs/lab.md).
    settings.activation = Activation::Gelu;
    settings.data.samples = 2048;
    settings.precisions = {Precision::Float32, Precision::Float64};
    settings.optimizers[0] = {.kind = OptimizerKind::Sgd, .learning_rate = 0.01, .momentum = 0.9};
  } else if (experiment == Experiment::DepthSweep) {
    settings.layers = {6, 15, 35};
    settings.networks.push_back(NormUse::Plain);
    settings.width = 64;
    settings.data.samples = 1024;
    settings.optimizers[0] = {.kind = OptimizerKind::Sgd, .learning_rate = 0.01};
  } else if (experiment == Experiment::Dropout) {
    settings.layers = {3};
    settings.width = 64;
    settings.activation = Activation::Gelu;
    settings.epochs = 15;
    settings.seeds = {1, 2, 3, 4, 5};
    settings.precisions = {Precision::Float64};
    settings.data.kind = DataKind::Teacher;
    settings.data.samples = 2048;
    settings.data.features = 32;
    settings.data.classes = 4;
    settings.optimizers.clear();
    for (const double dropout : {0.0, 0.1, 0.3, 0.5})
      settings.optimizers.push_back({.kind = OptimizerKind::Sgd, .learning_rate = 0.03, .dropout = dropout});
  } else if (experiment == Experiment::Crms) {
    settings.architecture = Architecture::PreNormTransformer;
    settings.layers = {4};
    settings.width = 128;
    settings.epochs = 6;
    settings.batch = 8;
    settings.steps_per_epoch = 20;
    settings.data.kind = DataKind::Characters;
    settings.data.samples = 65536;
    settings.networks = {NormUse::LayerNorm, NormUse::CbwcRmsNorm, NormUse::RmsNorm, NormUse::CrmsNorm};
    settings.precisions = {Precision::Float64};
    settings.optimizers[0] = {.kind = OptimizerKind::Sgd, .learning_rate = 0.05, .momentum = 0.9};
  } else if (experiment == Experiment::Continued) {
    OptimizerSettings decaying = settings.optimizers[0];
    decaying.weight_decay = 0.01;
    settings.optimizers.push_back(decaying);
    settings.networks = {NormUse::LayerNorm, NormUse::CbwcRmsNorm};
  } else if (experiment == Experiment::Cost) {
    settings.layers = {2};
    settings.epochs = 1;
    settings.data.kind = DataKind::Teacher;
    settings.data.samples = 8192;
    settings.data.features = settings.width;  // p of the layer before the norm
    settings.batches = {8, 32, 128, 256, 512, 1024, 4096};
  }
  return settings;
}

bool isTransformer(const RunSettings& settings) {
  return settings.architecture == Architecture::PreNormTransformer ||
         settings.architecture == Architecture::PostNormTransformer;
}

void decodeValue(const nlohmann::json& in, RunSettings& settings) {
  protocol::detail::decodeValue<RunSettings>(renewed(in), settings);
}

Status checkRunSettings(const RunSettings& settings) {
  Checker check;
  check.require(settings.schema == 1, "schema",
                "is " + std::to_string(settings.schema) + ", and this version of NormLens reads 1");
  checkNetworks(settings, check);
  checkSizes(settings, check);
  checkData(settings.data, isTransformer(settings), check);
  return check.status();
}

Result<RunSettings> readRunSettings(std::string_view text) {
  const auto json = protocol::parseJson(text, {.depth = 8, .values = 10000, .textBytes = 65536});
  if (!json) return fail(ErrorCode::BadInput, "the file of the run " + json.error().message);
  if (!json->is_object()) return fail(ErrorCode::BadInput, "the file of the run must hold one JSON object");
  if (const auto unknown = unknownField<RunSettings>(*json)) {
    return fail(ErrorCode::BadInput, printable("the settings of a run have no field " + *unknown),
                "docs/lab.md lists the fields");
  }
  auto settings = protocol::decode<RunSettings>(renewed(*json));
  if (!settings) return settings;
  RETURN_IF_ERROR(checkRunSettings(*settings));
  return settings;
}

std::string writeRunSettings(const RunSettings& settings) { return protocol::toJson(settings).dump(2) + "\n"; }

std::string describe(const OptimizerSettings& optimizer) {
  std::string text = optimizer.kind == OptimizerKind::Sgd    ? "SGD"
                     : optimizer.kind == OptimizerKind::Adam ? "Adam"
                                                             : "AdamW";
  if (optimizer.momentum != 0) text += ", momentum " + number(optimizer.momentum);
  if (optimizer.weight_decay != 0) text += ", weight decay " + number(optimizer.weight_decay);
  if (optimizer.weight_decay != 0 && optimizer.decay_of == DecayOf::Centered) text += " of the centered weight";
  if (optimizer.schedule != Schedule::Constant) text += ", " + nameOf(optimizer.schedule) + " schedule";
  if (optimizer.warmup != 0) text += ", warm-up " + number(optimizer.warmup);
  if (optimizer.clip_norm != 0) text += ", gradients clipped to " + number(optimizer.clip_norm);
  if (optimizer.dropout != 0) text += ", dropout " + number(optimizer.dropout);
  return text;
}

size_t memberCount(const RunSettings& settings) {
  return settings.layers.size() * settings.optimizers.size() * settings.seeds.size() * settings.precisions.size() *
         settings.networks.size();
}

}  // namespace normlens::lab

#include "ui/session/project/project.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QHash>
#include <QSaveFile>
#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "core/protocol/bench_messages.h"
#include "core/protocol/json.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr qint64 kMostBytes = 64 << 20;

using Json = nlohmann::json;

constexpr const char* kMark = "normlens_project";
constexpr size_t kMostNames = 100'000;  // in a list
constexpr size_t kMostInputs = 1000, kLongestInput = 4096;
constexpr protocol::JsonLimits kLimits{.depth = 32, .values = size_t{1} << 22, .textBytes = size_t{1} << 16};
constexpr double kFarthest = 1e9;  // Bounds the drawing; that of a million ops reaches 1e8.

// Json::exception reports another type; this, the right type beyond reason.
[[noreturn]] void refuse(const std::string& what) { throw std::range_error(what); }

Json listIn(const Json& json, const char* key) {
  Json list = json.value(key, Json::array());
  if (!list.is_array()) refuse("its field '" + std::string(key) + "' is not a list");
  if (list.size() > kMostNames) {
    refuse("its list '" + std::string(key) + "' has " + std::to_string(list.size()) + " entries, more than " +
           std::to_string(kMostNames));
  }
  return list;
}

int64_t wholeIn(const Json& json, const char* key, int64_t otherwise) {
  const Json number = json.value(key, Json(otherwise));
  if (!number.is_number_integer()) refuse("its field '" + std::string(key) + "' is not a whole number");
  return number.get<int64_t>();
}

std::vector<std::string> namesOf(const QStringList& names) {
  std::vector<std::string> out;
  for (const QString& name : names) out.push_back(name.toStdString());
  return out;
}

QStringList namesFrom(const Json& list) {
  QStringList names;
  for (const Json& name : list) names << text(name.get<std::string>());
  return names;
}

Json valuesJson(const std::vector<NamedValue>& values) {
  Json list = Json::array();
  for (const NamedValue& value : values) list.push_back({{"value", value.value}, {"name", value.name.toStdString()}});
  return list;
}

std::vector<NamedValue> valuesFrom(const Json& list) {
  std::vector<NamedValue> values;
  for (const Json& value : list) {
    values.push_back({static_cast<int>(wholeIn(value, "value", -1)), text(value.value("name", std::string()))});
  }
  return values;
}

Json planJson(const Project& project) {
  return {{"policy", nameOf(project.policy)},
          {"prices", nameOf(project.prices)},
          {"max_growth_percent", project.maxGrowthPercent},
          {"kept", namesOf(project.kept)},
          {"centered", valuesJson(project.centered)},
          {"copied", valuesJson(project.copied)},
          {"untouched", valuesJson(project.untouched)},
          {"norm", project.flavour}};
}

template <Named E>
E named(const Json& json) {
  const auto known = fromName<E>(json.get<std::string>());
  if (!known) refuse("this version does not know its kind of plan");
  return *known;
}

void readPlan(const Json& json, Project& project) {
  project.policy = named<Policy>(json.at("policy"));
  if (json.contains("prices")) project.prices = named<protocol::Prices>(json["prices"]);
  project.maxGrowthPercent = json.value("max_growth_percent", project.maxGrowthPercent);
  project.kept = namesFrom(listIn(json, "kept"));
  project.centered = valuesFrom(listIn(json, "centered"));
  project.copied = valuesFrom(listIn(json, "copied"));
  project.untouched = valuesFrom(listIn(json, "untouched"));
  project.flavour = json.value("norm", protocol::FoldParams().norm);
}

Json viewJson(const ProjectView& view) {
  return {{"open", view.openGroups},
          {"zoom", view.zoom},
          {"x", view.centerX},
          {"y", view.centerY},
          {"norm", view.norm.toStdString()}};
}

ProjectView viewFrom(const Json& json) {
  ProjectView view;
  view.openGroups = listIn(json, "open").get<std::vector<std::string>>();
  view.zoom = json.value("zoom", 0.0);
  view.centerX = json.value("x", 0.0);
  view.centerY = json.value("y", 0.0);
  view.norm = text(json.value("norm", std::string()));
  // A place that is in no drawing: as on opening.
  if (!(std::abs(view.centerX) <= kFarthest && std::abs(view.centerY) <= kFarthest)) view.zoom = 0;
  return view;
}

Json toJson(const Project& project) {
  Json json = {{kMark, kProjectVersion},
               {"model",
                {{"path", project.model.path.toStdString()},
                 {"xxh3", project.model.xxh3.toStdString()},
                 {"bytes", project.model.bytes},
                 {"modified_ms", project.model.modifiedMs}}},
               {"plan", planJson(project)},
               {"inputs", protocol::toJson(project.inputs)},
               {"view", viewJson(project.view)}};
  if (!project.model.name.isEmpty()) json["model"]["name"] = project.model.name.toStdString();
  if (!project.proved.empty()) json["proved"] = project.proved;
  if (project.bench) json["bench"] = protocol::toJson(*project.bench);
  for (const protocol::BenchResult& run : project.benchRuns) json["bench_runs"].push_back(protocol::toJson(run));
  json["bench_params"] = protocol::toJson(project.benchParams);
  for (const lab::RunResult& run : project.labRuns) json["lab_runs"].push_back(protocol::toJson(run));
  return json;
}

template <class T>
std::optional<T> decoded(const Json& json) {
  auto value = protocol::decode<T>(json);
  return value ? std::optional<T>(std::move(*value)) : std::nullopt;
}

protocol::InputsParams inputsFrom(const Json& json) {
  auto inputs = decoded<protocol::InputsParams>(json).value_or(protocol::InputsParams());
  for (const auto* texts : {&inputs.specs, &inputs.assume}) {
    const auto isLong = [](const std::string& text) { return text.size() > kLongestInput; };
    if (texts->size() > kMostInputs || std::ranges::any_of(*texts, isLong))
      refuse("its inputs are larger than any model allows");
  }
  return inputs;
}

Project fromJson(const Json& json) {
  Project project;
  const Json& model = json.at("model");
  project.model.path = text(model.at("path").get<std::string>());
  project.model.name = text(model.value("name", std::string()));
  project.beside = text(model.value("beside", std::string()));
  project.model.xxh3 = text(model.value("xxh3", std::string()));
  project.model.bytes = wholeIn(model, "bytes", 0);
  project.model.modifiedMs = wholeIn(model, "modified_ms", 0);
  readPlan(json.at("plan"), project);
  if (json.contains("inputs")) project.inputs = inputsFrom(json["inputs"]);
  if (json.contains("view")) project.view = viewFrom(json["view"]);
  project.proved = json.value("proved", std::string());
  if (json.contains("bench")) project.bench = decoded<protocol::BenchResult>(json["bench"]);
  for (const Json& run : listIn(json, "bench_runs")) {
    if (project.benchRuns.size() == kMostRuns) break;
    if (auto read = decoded<protocol::BenchResult>(run)) project.benchRuns.push_back(std::move(*read));
  }
  for (const Json& run : listIn(json, "lab_runs")) {
    if (project.labRuns.size() == kMostRuns) break;
    if (auto read = decoded<lab::RunResult>(run); read && lab::checkRunSettings(read->settings))
      project.labRuns.push_back(std::move(*read));
  }
  if (json.contains("bench_params")) {
    project.benchParams = decoded<protocol::BenchParams>(json["bench_params"]).value_or(project.benchParams);
  }
  return project;
}

}  // namespace

Status saveProject(const QString& path, const Project& project) {
  const QString beside = QFileInfo(path).absoluteDir().relativeFilePath(project.model.path);
  const QByteArray bytes = QByteArray::fromStdString(projectToJson(project, beside));
  QSaveFile file(path);
  if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return {};
  return fail(ErrorCode::WriteFailed,
              ("the project " + path + " could not be written: " + file.errorString()).toStdString());
}

Result<Project> loadProject(const QString& path) {
  const QFileInfo info(path);
  if (info.isDir()) return fail(ErrorCode::Unreadable, (path + " is a folder; a project is a file").toStdString());
  if (info.exists() && !info.isFile()) {  // a pipe would be waited for, a device read for ever
    return fail(ErrorCode::Unreadable, (path + " is a pipe or a device; a project is a file").toStdString());
  }
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) {
    return fail(ErrorCode::Unreadable,
                ("the project " + path + " cannot be read: " + file.errorString()).toStdString());
  }
  const std::string written = file.read(kMostBytes + 1).toStdString();
  if (written.size() > kMostBytes) {
    return fail(ErrorCode::Unreadable, (path + " is too large to be a project").toStdString());
  }
  auto project = projectFromJson(written);
  if (!project)
    return fail(project.error().code, path.toStdString() + ": " + project.error().message, project.error().hint);
  const QFileInfo near(info.absoluteDir(), project->beside);
  if (!project->beside.isEmpty() && near.isFile()) project->model.path = near.canonicalFilePath();
  return project;
}

namespace {

// Name to number; -1 where several are called so.
template <class Things, class Name, class Number>
QHash<QString, int> numbersByName(const Things& things, Name name, Number number) {
  QHash<QString, int> numbers;
  for (const auto& thing : things) {
    const QString called = text(thing.*name);
    numbers.insert(called, numbers.contains(called) ? -1 : thing.*number);
  }
  return numbers;
}

// Takes up each number once, in order; what has none is lost.
class Found {
 public:
  Found(std::vector<int>& numbers, QStringList& lost) : numbers_(numbers), lost_(lost) {}
  void add(int number, const QString& name) {
    if (number < 0) {
      lost_ << name;
    } else if (seen_.insert(number).second) {
      numbers_.push_back(number);
    }
  }

 private:
  std::vector<int>& numbers_;
  QStringList& lost_;
  std::set<int> seen_;
};

}  // namespace

protocol::PlanParams planOf(const Project& project, const std::vector<protocol::NormInfo>& norms,
                            const ModelIndex& index, QStringList& lost) {
  protocol::PlanParams params;
  params.policy = project.policy;
  params.prices = project.prices;
  params.max_growth_percent = project.maxGrowthPercent;
  const auto byName = numbersByName(norms, &protocol::NormInfo::name, &protocol::NormInfo::index);
  Found kept(params.keep_norms, lost);
  for (const QString& name : project.kept) kept.add(byName.value(name, -1), name);
  if (project.centered.empty() && project.copied.empty() && project.untouched.empty()) return params;
  const auto values = numbersByName(index.graph().values, &protocol::GraphValue::name, &protocol::GraphValue::id);
  const auto take = [&](const std::vector<NamedValue>& from, std::vector<int>& numbers) {
    Found found(numbers, lost);
    for (const NamedValue& wanted : from) {
      const protocol::GraphValue* same = index.value(wanted.value);
      const bool isSame = same != nullptr && text(same->name) == wanted.name;
      found.add(isSame ? wanted.value : values.value(wanted.name, -1), wanted.name);
    }
  };
  take(project.centered, params.center_values);
  take(project.copied, params.copy_values);
  take(project.untouched, params.keep_values);
  return params;
}

bool isProjectFile(const QString& path) { return path.endsWith(QLatin1String(".normlens"), Qt::CaseInsensitive); }

ModelFile modelFileAt(const QString& path) {
  const QFileInfo info(path);
  return {path, {}, info.exists() ? info.size() : 0, info.exists() ? info.lastModified().toMSecsSinceEpoch() : 0};
}

// ---- A project as text, and back

std::string projectToJson(const Project& project, const QString& beside) {
  Json json = toJson(project);
  if (!beside.isEmpty()) json["model"]["beside"] = beside.toStdString();
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Result<Project> projectFromJson(const std::string& written) {
  const auto json = protocol::parseJson(written, kLimits);
  if (!json || !json->is_object() || !json->contains(kMark) || !json->at(kMark).is_number_integer()) {
    return fail(ErrorCode::Unreadable, "this is not a NormLens project, or the file is truncated");
  }
  if (json->at(kMark).get<int64_t>() > kProjectVersion) {
    return fail(ErrorCode::Unsupported, "the project was saved by a newer NormLens", "install the newest version");
  }
  try {
    return fromJson(*json);
  } catch (const Json::exception&) {
    return fail(ErrorCode::Unreadable, "the project has no valid model or plan");
  } catch (const std::range_error& error) {
    return fail(ErrorCode::Unreadable, std::string("this is not a NormLens project: ") + error.what());
  }
}

}  // namespace normlens::ui

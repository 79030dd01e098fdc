#include "ui/session/project.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>

#include "core/protocol/bench_fields.h"
#include "core/protocol/json.h"
#include "ui/session/format.h"
#include "ui/session/session.h"

namespace normlens::ui {

namespace {

using Json = nlohmann::json;

constexpr const char* kMark = "normlens_project";
constexpr qint64 kMostBytes = 256 << 20;

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

Json planJson(const Project& project) {
  Json centered = Json::array();
  for (const CenteredValue& value : project.centered) {
    centered.push_back({{"value", value.value}, {"name", value.name.toStdString()}});
  }
  return {{"policy", project.policy},      {"prices", project.prices}, {"max_growth_percent", project.maxGrowthPercent},
          {"kept", namesOf(project.kept)}, {"centered", centered},     {"norm", project.flavour}};
}

void readPlan(const Json& json, Project& project) {
  project.policy = json.at("policy").get<std::string>();
  project.prices = json.value("prices", protocol::PlanParams().prices);
  project.maxGrowthPercent = json.value("max_growth_percent", project.maxGrowthPercent);
  project.kept = namesFrom(json.value("kept", Json::array()));
  for (const Json& value : json.value("centered", Json::array())) {
    project.centered.push_back({value.value("value", -1), text(value.value("name", std::string()))});
  }
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
  view.openGroups = json.value("open", std::vector<std::string>());
  view.zoom = json.value("zoom", 0.0);
  view.centerX = json.value("x", 0.0);
  view.centerY = json.value("y", 0.0);
  view.norm = text(json.value("norm", std::string()));
  return view;
}

Json toJson(const Project& project) {
  Json json = {{kMark, kProjectVersion},
               {"model",
                {{"path", project.model.path.toStdString()},
                 {"sha256", project.model.sha256.toStdString()},
                 {"bytes", project.model.bytes},
                 {"modified_ms", project.model.modifiedMs}}},
               {"plan", planJson(project)},
               {"inputs", protocol::toJson(project.inputs)},
               {"view", viewJson(project.view)}};
  if (project.bench) json["bench"] = protocol::toJson(*project.bench);
  for (const protocol::BenchResult& run : project.benchRuns) json["bench_runs"].push_back(protocol::toJson(run));
  json["bench_params"] = protocol::toJson(project.benchParams);
  return json;
}

template <class T>
std::optional<T> decoded(const Json& json) {
  auto value = protocol::decode<T>(json);
  return value ? std::optional<T>(std::move(*value)) : std::nullopt;
}

Project fromJson(const Json& json) {
  Project project;
  const Json& model = json.at("model");
  project.model.path = text(model.at("path").get<std::string>());
  project.model.sha256 = text(model.value("sha256", std::string()));
  project.model.bytes = model.value("bytes", qint64{0});
  project.model.modifiedMs = model.value("modified_ms", qint64{0});
  readPlan(json.at("plan"), project);
  if (json.contains("inputs"))
    project.inputs = decoded<protocol::InputsParams>(json["inputs"]).value_or(project.inputs);
  if (json.contains("view")) project.view = viewFrom(json["view"]);
  if (json.contains("bench")) project.bench = decoded<protocol::BenchResult>(json["bench"]);
  for (const Json& run : json.value("bench_runs", Json::array())) {
    if (auto read = decoded<protocol::BenchResult>(run)) project.benchRuns.push_back(std::move(*read));
  }
  if (json.contains("bench_params")) {
    project.benchParams = decoded<protocol::BenchParams>(json["bench_params"]).value_or(project.benchParams);
  }
  return project;
}

}  // namespace

std::string projectToJson(const Project& project) {
  return toJson(project).dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Result<Project> projectFromJson(const std::string& written) {
  const Json json = Json::parse(written, nullptr, false);
  if (!json.is_object() || !json.contains(kMark) || !json[kMark].is_number_integer()) {
    return fail(ErrorCode::Unreadable, "this is not a NormLens project, or it is cut off");
  }
  if (json[kMark].get<int>() > kProjectVersion) {
    return fail(ErrorCode::Unsupported, "the project was saved by a newer NormLens", "install the newest version");
  }
  try {
    return fromJson(json);
  } catch (const Json::exception&) {
    return fail(ErrorCode::Unreadable, "the project lacks its model or its plan, or holds something else there");
  }
}

Status saveProject(const QString& path, const Project& project) {
  Json json = toJson(project);
  json["model"]["beside"] = QFileInfo(path).absoluteDir().relativeFilePath(project.model.path).toStdString();
  const QByteArray bytes = QByteArray::fromStdString(json.dump(2, ' ', false, Json::error_handler_t::replace)) + '\n';
  QSaveFile file(path);
  if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return {};
  return fail(ErrorCode::WriteFailed,
              ("the project " + path + " could not be written: " + file.errorString()).toStdString());
}

Result<Project> loadProject(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) {
    return fail(ErrorCode::Unreadable,
                ("the project " + path + " cannot be read: " + file.errorString()).toStdString());
  }
  if (file.size() > kMostBytes) {
    return fail(ErrorCode::Unreadable, (path + " is too large to be a project").toStdString());
  }
  const std::string written = file.readAll().toStdString();
  auto project = projectFromJson(written);
  if (!project)
    return fail(project.error().code, path.toStdString() + ": " + project.error().message, project.error().hint);
  const Json json = Json::parse(written, nullptr, false);
  const std::string beside = json["model"].value("beside", std::string());
  const QFileInfo near(QFileInfo(path).absoluteDir(), text(beside));
  if (!beside.empty() && near.isFile()) project->model.path = near.canonicalFilePath();
  return project;
}

Project projectOf(const Session& session) {
  Project project;
  project.model = modelFileAt(session.path());
  const protocol::PlanParams& params = session.planParams();
  project.policy = params.policy;
  project.prices = params.prices;
  project.maxGrowthPercent = params.max_growth_percent;
  for (const int norm : params.keep_norms) {
    if (const protocol::NormInfo* info = session.norm(norm)) project.kept << text(info->name);
  }
  for (const int id : params.center_values) {
    const protocol::GraphValue* value = session.index().value(id);
    project.centered.push_back({id, value != nullptr ? text(value->name) : QString()});
  }
  project.flavour = session.flavour();
  project.inputs = session.inputs();
  project.bench = session.bench();
  project.benchRuns = session.benchRuns();
  project.benchParams = session.benchParams();
  if (const protocol::NormInfo* selected = session.norm(session.selection().norm)) {
    project.view.norm = text(selected->name);
  }
  return project;
}

namespace {

// The value of this number if it has that name, else the only one of that name, else -1.
int findValue(const CenteredValue& wanted, const protocol::GraphDocument& graph, const Session& session) {
  const protocol::GraphValue* same = session.index().value(wanted.value);
  if (same != nullptr && text(same->name) == wanted.name) return wanted.value;
  int found = -1;
  for (const protocol::GraphValue& value : graph.values) {
    if (text(value.name) != wanted.name) continue;
    if (found >= 0) return -1;
    found = value.id;
  }
  return found;
}

}  // namespace

protocol::PlanParams planOf(const Project& project, const Session& session, QStringList& lost) {
  protocol::PlanParams params;
  params.policy = project.policy;
  params.prices = project.prices;
  params.max_growth_percent = project.maxGrowthPercent;
  for (const QString& name : project.kept) {
    const int norm = session.normNamed(name);
    if (norm >= 0) {
      params.keep_norms.push_back(norm);
    } else {
      lost << name;
    }
  }
  for (const CenteredValue& wanted : project.centered) {
    const int value = findValue(wanted, session.index().graph(), session);
    if (value >= 0) {
      params.center_values.push_back(value);
    } else {
      lost << wanted.name;
    }
  }
  return params;
}

bool isProjectFile(const QString& path) { return path.endsWith(QLatin1String(".normlens"), Qt::CaseInsensitive); }

ModelFile modelFileAt(const QString& path) {
  const QFileInfo info(path);
  return {path, {}, info.exists() ? info.size() : 0, info.exists() ? info.lastModified().toMSecsSinceEpoch() : 0};
}

}  // namespace normlens::ui

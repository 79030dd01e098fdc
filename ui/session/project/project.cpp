#include "ui/session/project/project.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QHash>
#include <QSaveFile>
#include <set>

#include "ui/session/session.h"
#include "ui/session/words/format.h"

namespace normlens::ui {

namespace {

constexpr qint64 kMostBytes = 64 << 20;

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

Project projectOf(const Session& session) {
  Project project;
  project.model = modelFileAt(session.path());
  project.model.name = session.modelName();
  const protocol::PlanParams& params = session.choices()->params();
  project.policy = params.policy;
  project.prices = params.prices;
  project.maxGrowthPercent = params.max_growth_percent;
  for (const int norm : params.keep_norms) {
    if (const protocol::NormInfo* info = session.norm(norm)) project.kept << text(info->name);
  }
  const auto named = [&](const std::vector<int>& ids) {
    std::vector<NamedValue> values;
    for (const int id : ids) {
      const protocol::GraphValue* value = session.index().value(id);
      values.push_back({id, value != nullptr ? text(value->name) : QString()});
    }
    return values;
  };
  project.centered = named(params.center_values);
  project.copied = named(params.copy_values);
  project.untouched = named(params.keep_values);
  project.flavour = session.flavour();
  project.inputs = session.inputs();
  project.bench = session.measurements()->last();
  project.benchRuns = session.measurements()->earlier();
  project.benchParams = session.measurements()->params();
  if (const protocol::NormInfo* selected = session.norm(session.selection()->current().norm)) {
    project.view.norm = text(selected->name);
  }
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

protocol::PlanParams planOf(const Project& project, const Session& session, QStringList& lost) {
  protocol::PlanParams params;
  params.policy = project.policy;
  params.prices = project.prices;
  params.max_growth_percent = project.maxGrowthPercent;
  const auto norms = numbersByName(session.analysis()->norms, &protocol::NormInfo::name, &protocol::NormInfo::index);
  Found kept(params.keep_norms, lost);
  for (const QString& name : project.kept) kept.add(norms.value(name, -1), name);
  if (project.centered.empty() && project.copied.empty() && project.untouched.empty()) return params;
  const auto values =
      numbersByName(session.index().graph().values, &protocol::GraphValue::name, &protocol::GraphValue::id);
  const auto take = [&](const std::vector<NamedValue>& from, std::vector<int>& numbers) {
    Found found(numbers, lost);
    for (const NamedValue& wanted : from) {
      const protocol::GraphValue* same = session.index().value(wanted.value);
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

}  // namespace normlens::ui

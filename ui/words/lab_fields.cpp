#include "ui/words/lab_fields.h"

#include <QCoreApplication>
#include <algorithm>

#include "ui/words/format.h"
#include "ui/words/lab_words.h"

namespace normlens::ui {
namespace {

using lab::DataKind;
using lab::isTransformer;
using lab::OptimizerKind;
using lab::OptimizerSettings;
using lab::RunSettings;
using Kind = LabField::Kind;

QString tr(const char* words) { return QCoreApplication::translate("LabFields", words); }

bool always(const RunSettings&) { return true; }
bool isPerceptron(const RunSettings& settings) { return !isTransformer(settings); }
bool convolves(const RunSettings& settings) { return settings.architecture == lab::Architecture::Convolutional; }
bool isContinued(const RunSettings& settings) { return settings.experiment == lab::Experiment::Continued; }
bool isCost(const RunSettings& settings) { return settings.experiment == lab::Experiment::Cost; }
bool isFromFile(const RunSettings& settings) { return settings.data.kind == DataKind::Npz; }
bool isGenerated(const RunSettings& settings) { return !isFromFile(settings); }
bool hasFeatures(const RunSettings& settings) {
  return settings.data.kind == DataKind::Teacher || settings.data.kind == DataKind::Parity;
}
bool hasClasses(const RunSettings& settings) {
  return settings.data.kind == DataKind::Spirals || settings.data.kind == DataKind::Teacher;
}
bool hasNoise(const RunSettings& settings) { return settings.data.kind == DataKind::Spirals; }

// The form has the first one.
OptimizerSettings& optimizerOf(RunSettings& settings) {
  if (settings.optimizers.empty()) settings.optimizers.emplace_back();
  return settings.optimizers.front();
}
OptimizerSettings optimizerOf(const RunSettings& settings) {
  return settings.optimizers.empty() ? OptimizerSettings{} : settings.optimizers.front();
}
bool hasMomentum(const RunSettings& settings) { return optimizerOf(settings).kind == OptimizerKind::Sgd; }
bool decays(const RunSettings& settings) { return optimizerOf(settings).weight_decay != 0; }

QString written(double number) { return formatNumber(number, 6); }
QString written(int number) { return QString::number(number); }
QString written(int64_t number) { return QString::number(number); }
QString written(const std::string& words) { return text(words); }
template <Named E>
QString written(E word) {
  return text(nameOf(word));
}
template <class T>
QString written(const std::vector<T>& numbers) {
  QStringList words;
  for (const T& number : numbers) words << written(number);
  return words.join(QStringLiteral(", "));
}

bool read(const QString& words, double& number) {
  bool good = false;
  const double value = words.trimmed().toDouble(&good);
  if (good) number = value;
  return good;
}
template <std::integral T>
bool read(const QString& words, T& number) {
  bool good = false;
  const qlonglong value = words.trimmed().toLongLong(&good);
  good = good && std::in_range<T>(value);
  if (good) number = static_cast<T>(value);
  return good;
}
template <Named E>
bool read(const QString& words, E& word) {
  const auto named = fromName<E>(words.trimmed().toStdString());
  if (named) word = *named;
  return named.has_value();
}
bool read(const QString& words, std::string& into) {
  into = words.trimmed().toStdString();
  return true;
}
template <class T>
bool read(const QString& words, std::vector<T>& numbers) {
  std::vector<T> all;
  if (words.trimmed().isEmpty()) {  // the check says where one is needed
    numbers.clear();
    return true;
  }
  for (const QString& word : words.split(u',')) {
    if (!read(word, all.emplace_back())) return false;
  }
  numbers = std::move(all);
  return true;
}

// A field that is a member of the settings, of their data or of the optimizer.
template <auto Member>
QString showSetting(const RunSettings& settings) {
  return written(settings.*Member);
}
template <auto Member>
bool takeSetting(RunSettings& settings, const QString& words) {
  return read(words, settings.*Member);
}
template <auto Member>
QString showData(const RunSettings& settings) {
  return written(settings.data.*Member);
}
template <auto Member>
bool takeData(RunSettings& settings, const QString& words) {
  return read(words, settings.data.*Member);
}
template <auto Member>
QString showOptimizer(const RunSettings& settings) {
  return written(optimizerOf(settings).*Member);
}
template <auto Member>
bool takeOptimizer(RunSettings& settings, const QString& words) {
  return read(words, optimizerOf(settings).*Member);
}

// The data and the networks follow, where they would not fit.
bool takeArchitecture(RunSettings& settings, const QString& key) {
  const bool good = read(key, settings.architecture);
  if (isTransformer(settings) != (settings.data.kind == DataKind::Characters))
    settings.data.kind = isTransformer(settings) ? DataKind::Characters : DataKind::Spirals;
  if (settings.architecture != lab::Architecture::PreNormTransformer)
    std::erase(settings.networks, lab::NormUse::CrmsNorm);
  return good;
}

bool takeOptimizerKind(RunSettings& settings, const QString& key) {
  OptimizerSettings& optimizer = optimizerOf(settings);
  const bool good = read(key, optimizer.kind);
  if (optimizer.kind != OptimizerKind::Sgd) optimizer.momentum = 0;  // the others have none
  return good;
}

template <Named E>
QList<LabChoice> choicesOf(const RunSettings&) {
  QList<LabChoice> choices;
  for (const std::string_view key : namesOf(E{})) {
    const LabWord of = labWord(*fromName<E>(key));
    choices << LabChoice{key, of.name, of.tip};
  }
  return choices;
}
QList<LabChoice> dataChoices(const RunSettings& settings) {
  auto choices = choicesOf<DataKind>(settings);
  for (qsizetype i = 0; i < choices.size(); ++i)
    choices[i].offered = isTransformer(settings) == (static_cast<DataKind>(i) == DataKind::Characters);
  return choices;
}
QList<LabChoice> decayChoices(const RunSettings&) {
  return {{"weight", tr("stored"), tr("Decays the stored weight, as every framework does.")},
          {"centered", tr("centered"),
           tr("Decays the centered weight, which the network computes with. This changes the training.")}};
}
QList<LabChoice> affineChoices(const RunSettings&) {
  return {{"no", tr("1 and 0"), tr("As in a new network.")},
          {"yes", tr("random"), tr("As a trained network may have them.")}};
}
QList<LabChoice> handoverChoices(const RunSettings&) {
  return {{"no", tr("unchanged"), tr("Passes the weights on unchanged.")},
          {"yes", tr("centered"), tr("Centers the weights once before passing them on (CCWT).")}};
}
QList<LabChoice> precisionChoices(const RunSettings&) {
  return {{"float32", tr("32"), tr("float32")},
          {"float64", tr("64"), tr("float64: rounding is about a billion times finer.")},
          {"float32, float64", tr("both"), tr("Each network in float32 and in float64.")},
          {"float32, bfloat16", tr("32 and bf16"), tr("In float32, and with autocast to bfloat16.")}};
}

QList<LabChoice> deviceChoices(const RunSettings&) {
  return {{"cpu", tr("CPU"), tr("Uses the number of threads set below.")},
          {"cuda", tr("CUDA"), tr("The GPU, with the same initial weights and examples; the last bits differ.")}};
}
// Whichever GPU a file of settings names.
QString showDevice(const RunSettings& settings) {
  return settings.device.starts_with("cuda") ? QStringLiteral("cuda") : text(settings.device);
}

template <bool RunSettings::*Member>
QString showSwitch(const RunSettings& settings) {
  return settings.*Member ? QStringLiteral("yes") : QStringLiteral("no");
}
template <bool RunSettings::*Member>
bool takeSwitch(RunSettings& settings, const QString& key) {
  settings.*Member = key == QStringLiteral("yes");
  return true;
}
QString showPrecisions(const RunSettings& settings) {
  auto precisions = settings.precisions;
  std::ranges::sort(precisions);
  return written(precisions);
}

#define NORMLENS_TEXT(words) QT_TRANSLATE_NOOP("LabFields", words)

using Run = RunSettings;
using Data = lab::DataSettings;
using Optimizer = OptimizerSettings;

const LabField kFields[] = {
    {"experiment", Kind::Choice, NORMLENS_TEXT("Experiment"), NORMLENS_TEXT("What to train, and what to observe."),
     always, showSetting<&Run::experiment>, takeSetting<&Run::experiment>, choicesOf<lab::Experiment>},
    {"architecture", Kind::Choice, NORMLENS_TEXT("Network"), NORMLENS_TEXT("How the layers are connected."), always,
     showSetting<&Run::architecture>, takeArchitecture, choicesOf<lab::Architecture>},
    {"layers", Kind::Text, NORMLENS_TEXT("Layers"),
     NORMLENS_TEXT("Linear layers of the perceptron, the last without a norm, or blocks of a transformer. Separate "
                   "several depths by commas."),
     always, showSetting<&Run::layers>, takeSetting<&Run::layers>},
    {"width", Kind::Text, NORMLENS_TEXT("Width"), NORMLENS_TEXT("Features between two layers."), always,
     showSetting<&Run::width>, takeSetting<&Run::width>},
    {"groups", Kind::Text, NORMLENS_TEXT("Groups"), NORMLENS_TEXT("Groups of GroupNorm, which divide the width."),
     convolves, showSetting<&Run::groups>, takeSetting<&Run::groups>},
    {"heads", Kind::Text, NORMLENS_TEXT("Heads"), NORMLENS_TEXT("Attention heads, which divide the width."),
     isTransformer, showSetting<&Run::heads>, takeSetting<&Run::heads>},
    {"context", Kind::Text, NORMLENS_TEXT("Context"), NORMLENS_TEXT("Characters that the network reads."),
     isTransformer, showSetting<&Run::context>, takeSetting<&Run::context>},
    {"activation", Kind::Choice, NORMLENS_TEXT("Activation"), NORMLENS_TEXT("The function between the layers."),
     isPerceptron, showSetting<&Run::activation>, takeSetting<&Run::activation>, choicesOf<lab::Activation>},
    {"epochs", Kind::Text, NORMLENS_TEXT("Epochs"), NORMLENS_TEXT("Passes over the training examples."), always,
     showSetting<&Run::epochs>, takeSetting<&Run::epochs>},
    {"steps_per_epoch", Kind::Text, NORMLENS_TEXT("Steps per epoch"),
     NORMLENS_TEXT("Batches drawn from the text per epoch."), isTransformer, showSetting<&Run::steps_per_epoch>,
     takeSetting<&Run::steps_per_epoch>},
    {"batch", Kind::Text, NORMLENS_TEXT("Batch"), NORMLENS_TEXT("Examples per step."), always, showSetting<&Run::batch>,
     takeSetting<&Run::batch>},
    {"handover_epoch", Kind::Text, NORMLENS_TEXT("Switch after"),
     NORMLENS_TEXT("Epochs with LayerNorm. Then the other networks continue from its weights."), isContinued,
     showSetting<&Run::handover_epoch>, takeSetting<&Run::handover_epoch>},
    {"handover_centered", Kind::Choice, NORMLENS_TEXT("Weights"), NORMLENS_TEXT("How the weights are passed on."),
     isContinued, showSwitch<&Run::handover_centered>, takeSwitch<&Run::handover_centered>, handoverChoices},
    {"batches", Kind::Text, NORMLENS_TEXT("Batches"), NORMLENS_TEXT("Step sizes to measure, separated by commas."),
     isCost, showSetting<&Run::batches>, takeSetting<&Run::batches>},
    {"rounds", Kind::Text, NORMLENS_TEXT("Rounds"), NORMLENS_TEXT("Every round measures each network in turn."), isCost,
     showSetting<&Run::rounds>, takeSetting<&Run::rounds>},
    {"steps_per_round", Kind::Text, NORMLENS_TEXT("Steps per round"), NORMLENS_TEXT("Steps of each network per round."),
     isCost, showSetting<&Run::steps_per_round>, takeSetting<&Run::steps_per_round>},
    {"optimizer", Kind::Choice, NORMLENS_TEXT("Optimizer"), NORMLENS_TEXT("How a gradient becomes a step."), always,
     showOptimizer<&Optimizer::kind>, takeOptimizerKind, choicesOf<OptimizerKind>},
    {"learning_rate", Kind::Text, NORMLENS_TEXT("Learning rate"), NORMLENS_TEXT("The size of a step."), always,
     showOptimizer<&Optimizer::learning_rate>, takeOptimizer<&Optimizer::learning_rate>},
    {"momentum", Kind::Text, NORMLENS_TEXT("Momentum"),
     NORMLENS_TEXT("Share of the last step that enters the next one."), hasMomentum,
     showOptimizer<&Optimizer::momentum>, takeOptimizer<&Optimizer::momentum>},
    {"weight_decay", Kind::Text, NORMLENS_TEXT("Weight decay"), NORMLENS_TEXT("0: none."), always,
     showOptimizer<&Optimizer::weight_decay>, takeOptimizer<&Optimizer::weight_decay>},
    {"decay_of", Kind::Choice, NORMLENS_TEXT("What decays"),
     NORMLENS_TEXT("In a layer with a centered weight; the papers leave this open."), decays,
     showOptimizer<&Optimizer::decay_of>, takeOptimizer<&Optimizer::decay_of>, decayChoices},
    {"schedule", Kind::Choice, NORMLENS_TEXT("Schedule"), NORMLENS_TEXT("How the learning rate changes."), always,
     showOptimizer<&Optimizer::schedule>, takeOptimizer<&Optimizer::schedule>, choicesOf<lab::Schedule>},
    {"warmup", Kind::Text, NORMLENS_TEXT("Warm-up"),
     NORMLENS_TEXT("Share of the steps in which the rate rises from 0."), always, showOptimizer<&Optimizer::warmup>,
     takeOptimizer<&Optimizer::warmup>},
    {"clip_norm", Kind::Text, NORMLENS_TEXT("Clip gradients to"),
     NORMLENS_TEXT("Maximum length of all gradients together. 0: no limit."), always,
     showOptimizer<&Optimizer::clip_norm>, takeOptimizer<&Optimizer::clip_norm>},
    {"dropout", Kind::Text, NORMLENS_TEXT("Dropout"),
     NORMLENS_TEXT("Share of the norms' inputs that is set to 0 during training."), always,
     showOptimizer<&Optimizer::dropout>, takeOptimizer<&Optimizer::dropout>},
    {"data", Kind::Choice, NORMLENS_TEXT("Data"), NORMLENS_TEXT("Generated, or read from a file."), always,
     showData<&Data::kind>, takeData<&Data::kind>, dataChoices},
    {"path", Kind::File, NORMLENS_TEXT("File"), NORMLENS_TEXT("Arrays: x [examples, ...] and y [examples]."),
     isFromFile, showData<&Data::path>, takeData<&Data::path>},
    {"target", Kind::Text, NORMLENS_TEXT("Class"), NORMLENS_TEXT("The name of the array with the classes; default y."),
     isFromFile, showData<&Data::target>, takeData<&Data::target>},
    {"samples", Kind::Text, NORMLENS_TEXT("Samples"), NORMLENS_TEXT("Number of generated examples, or characters."),
     isGenerated, showData<&Data::samples>, takeData<&Data::samples>},
    {"features", Kind::Text, NORMLENS_TEXT("Features"), NORMLENS_TEXT("Features per example."), hasFeatures,
     showData<&Data::features>, takeData<&Data::features>},
    {"classes", Kind::Text, NORMLENS_TEXT("Classes"), NORMLENS_TEXT("Number of classes; for spirals, the arms."),
     hasClasses, showData<&Data::classes>, takeData<&Data::classes>},
    {"noise", Kind::Text, NORMLENS_TEXT("Noise"), NORMLENS_TEXT("Standard deviation of each coordinate."), hasNoise,
     showData<&Data::noise>, takeData<&Data::noise>},
    {"test_share", Kind::Text, NORMLENS_TEXT("Test split"),
     NORMLENS_TEXT("Share of the examples that no network trains on. They give the test accuracy."), always,
     showData<&Data::test_share>, takeData<&Data::test_share>},
    {"seeds", Kind::Text, NORMLENS_TEXT("Seeds"),
     NORMLENS_TEXT("Seeds of the initial weights and of the order of examples. Separate several by commas."), always,
     showSetting<&Run::seeds>, takeSetting<&Run::seeds>},
    {"random_affine", Kind::Choice, NORMLENS_TEXT("Initial γ and β"), NORMLENS_TEXT("The values in each norm."), always,
     showSwitch<&Run::random_affine>, takeSwitch<&Run::random_affine>, affineChoices},
    {"precisions", Kind::Choice, NORMLENS_TEXT("Precision, bits"),
     NORMLENS_TEXT("Type of the weights and of the arithmetic."), always, showPrecisions, takeSetting<&Run::precisions>,
     precisionChoices},
    {"device", Kind::Choice, NORMLENS_TEXT("Device"), NORMLENS_TEXT("The device that trains the networks."), always,
     showDevice, takeSetting<&Run::device>, deviceChoices},
    {"threads", Kind::Text, NORMLENS_TEXT("Threads"),
     NORMLENS_TEXT("0: one thread per core. The last bits of a sum depend on the number of threads."), always,
     showSetting<&Run::threads>, takeSetting<&Run::threads>},
};

#undef NORMLENS_TEXT

}  // namespace

std::span<const LabField> labFields() { return kFields; }

QString nameOf(const LabField& field, const RunSettings& settings) {
  if (field.key == "layers" && isTransformer(settings)) return tr("Blocks");
  if (field.key == "epochs" && isCost(settings)) return tr("Warm-up epochs");
  return tr(field.name);
}

QString tipOf(const LabField& field) { return tr(field.tip); }

}  // namespace normlens::ui

#include "ui/words/lab_words.h"

#include <QCoreApplication>
#include <span>

#include "ui/words/format.h"

namespace normlens::ui {
namespace {

struct Entry {
  std::string_view key;
  const char *name, *line, *tip;
};

QString tr(const char* words) { return *words == '\0' ? QString() : QCoreApplication::translate("LabWords", words); }

LabWord wordIn(std::span<const Entry> entries, std::string_view key) {
  for (const Entry& entry : entries) {
    if (entry.key == key) return {tr(entry.name), tr(entry.line), tr(entry.tip)};
  }
  return {QString::fromUtf8(key.data(), static_cast<qsizetype>(key.size()))};
}

constexpr Entry kExperiments[] = {
    {"equivalence", "MLP equivalence", "LN = CBWC + RMSNorm, same start",
     "The same perceptron with LayerNorm, with RMSNorm behind centered weights and with RMSNorm alone, from the same "
     "start on the same data: the first two should stay the same network."},
    {"depth_sweep", "Depth sweep", "6, 15, 35 layers, four norms",
     "Perceptrons of growing depth: which norm keeps what each layer reads in its place."},
    {"transformer", "Small transformer", "characters, both ways",
     "A pre-LN transformer that learns to write characters, with LayerNorm and with CBWC + RMSNorm."},
    {"continued", "Continued training", "a trained LN model goes on",
     "A network is trained with LayerNorm; then the others start from its weights and go on beside it."},
    {"cost", "Cost of a step", "time and memory, in turns",
     "Time and memory of one training step of each network, measured in turns, with 95 % intervals."},
};
constexpr Entry kNetworks[] = {
    {"layer_norm", "LayerNorm", "", "Takes the mean of each row away and divides by its standard deviation."},
    {"cbwc_rms_norm", "CBWC + RMSNorm", "",
     "CBWC, column-based weight centering: before each step the column means of every weight in front of a norm are "
     "taken away, so that its output has zero mean and RMSNorm does what LayerNorm would."},
    {"rms_norm", "RMSNorm alone", "",
     "Divides by the root mean square and leaves the mean where it is: another network."},
    {"plain", "no norm", "", "The linear layers and their activation alone."},
};
constexpr Entry kOptimizers[] = {
    {"sgd", "SGD", "", "Stochastic gradient descent."},
    {"adam", "Adam", "", "Weight decay is added to the gradient."},
    {"adamw", "AdamW", "", "Weight decay is taken off the weight."},
};
constexpr Entry kActivations[] = {
    {"relu", "ReLU", "", "Rounding decides on which side of its kink a number near 0 falls."},
    {"gelu", "GELU", "", "Smooth: networks that compute the same stay the same but for rounding."},
    {"tanh", "tanh", "", "Smooth, between -1 and 1."},
};
constexpr Entry kData[] = {
    {"spirals", "spirals", "", "Arms in the plane: which arm a point lies on."},
    {"teacher", "teacher", "", "What a random network chooses."},
    {"parity", "parity", "", "Whether an even number of features is positive."},
    {"characters", "characters", "", "A generated text."},
    {"npz", "npz file", "", "Arrays of numbers, and one of classes."},
};

}  // namespace

LabWord experimentWord(std::string_view experiment) { return wordIn(kExperiments, experiment); }
LabWord networkWord(std::string_view network) { return wordIn(kNetworks, network); }
LabWord optimizerWord(std::string_view optimizer) { return wordIn(kOptimizers, optimizer); }
LabWord activationWord(std::string_view activation) { return wordIn(kActivations, activation); }
LabWord dataWord(std::string_view kind) { return wordIn(kData, kind); }

QString labMemberWord(std::string_view field, const lab::RunSettings& settings, const lab::RunMember& member) {
  if (field == "layers") return tr(settings.experiment == "transformer" ? "%1 blocks" : "%1 layers").arg(member.layers);
  if (field == "seed") return tr("seed %1").arg(member.seed);
  if (field == "precision") return text(member.precision);
  const auto optimizer = static_cast<size_t>(member.optimizer);
  return optimizer < settings.optimizers.size() ? text(lab::describe(settings.optimizers[optimizer])) : QString();
}

QString labRunWord(int run) { return tr("run %1").arg(run); }

QString findingWords(const lab::Finding& finding) {
  const QString verdict = !finding.holds   ? tr("This run cannot tell")
                          : *finding.holds ? tr("It holds")
                                           : tr("It does not hold");
  const QString found = text(finding.text);
  return asSentence(text(finding.claim)) + u' ' +
         asSentence(found.isEmpty() ? verdict : verdict + QStringLiteral(": ") + found);
}

}  // namespace normlens::ui

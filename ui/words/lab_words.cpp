#include "ui/words/lab_words.h"

#include <QCoreApplication>
#include <span>

#include "ui/words/format.h"

namespace normlens::ui {
namespace {

struct Entry {
  const char *name, *line, *tip;
};

QString tr(const char* words) { return *words == '\0' ? QString() : QCoreApplication::translate("LabWords", words); }

// The entries are in the order of the enum; a value that has none is not shown.
template <class Word>
LabWord wordIn(std::span<const Entry> entries, Word word) {
  const auto at = static_cast<size_t>(word);
  return at < entries.size() ? LabWord{tr(entries[at].name), tr(entries[at].line), tr(entries[at].tip)} : LabWord{};
}

constexpr Entry kExperiments[] = {
    {"MLP equivalence", "LN = CBWC + RMSNorm, same start",
     "The same perceptron with LayerNorm, with RMSNorm behind centered weights and with RMSNorm alone, from the same "
     "start on the same data: the first two should stay the same network."},
    {"Depth sweep", "6, 15, 35 layers, four norms",
     "Perceptrons of growing depth: which norm keeps what each layer reads in its place."},
    {"Small transformer", "characters, both ways",
     "A pre-LN transformer that learns to write characters, with LayerNorm and with CBWC + RMSNorm."},
    {"Continued training", "a trained LN model goes on",
     "A network is trained with LayerNorm; then the others start from its weights and go on beside it."},
    {"Cost of a step", "time and memory, in turns",
     "Time and memory of one training step of each network, measured in turns, with 95 % intervals."},
};
constexpr Entry kNetworks[] = {
    {"LayerNorm", "", "Takes the mean of each row away and divides by its standard deviation."},
    {"CBWC + RMSNorm", "",
     "CBWC, column-based weight centering: before each step the column means of every weight in front of a norm are "
     "taken away, so that its output has zero mean and RMSNorm does what LayerNorm would."},
    {"RMSNorm alone", "", "Divides by the root mean square and leaves the mean where it is: another network."},
    {"no norm", "", "The linear layers and their activation alone."},
};
constexpr Entry kOptimizers[] = {
    {"SGD", "", "Stochastic gradient descent."},
    {"Adam", "", "Weight decay is added to the gradient."},
    {"AdamW", "", "Weight decay is taken off the weight."},
};
constexpr Entry kActivations[] = {
    {"ReLU", "", "Rounding decides on which side of its kink a number near 0 falls."},
    {"GELU", "", "Smooth: networks that compute the same stay the same but for rounding."},
    {"tanh", "", "Smooth, between -1 and 1."},
};
constexpr Entry kData[] = {
    {"spirals", "", "Arms in the plane: which arm a point lies on."},
    {"teacher", "", "What a random network chooses."},
    {"parity", "", "Whether an even number of features is positive."},
    {"characters", "", "A generated text."},
    {"npz file", "", "Arrays of numbers, and one of classes."},
};

}  // namespace

LabWord labWord(lab::Experiment experiment) { return wordIn(kExperiments, experiment); }
LabWord labWord(lab::NormUse network) { return wordIn(kNetworks, network); }
LabWord labWord(lab::OptimizerKind optimizer) { return wordIn(kOptimizers, optimizer); }
LabWord labWord(lab::Activation activation) { return wordIn(kActivations, activation); }
LabWord labWord(lab::DataKind kind) { return wordIn(kData, kind); }

QString labLayersWord(const lab::RunSettings& settings, const lab::RunMember& member) {
  const bool transformer = settings.experiment == lab::Experiment::Transformer;
  return tr(transformer ? "%1 blocks" : "%1 layers").arg(member.layers);
}

QString labOptimizerWord(const lab::RunSettings& settings, const lab::RunMember& member) {
  const auto optimizer = static_cast<size_t>(member.optimizer);
  return optimizer < settings.optimizers.size() ? text(lab::describe(settings.optimizers[optimizer])) : QString();
}

QString labRunWord(int run) { return tr("run %1").arg(run); }

QString findingWords(const lab::Finding& finding) {
  const QString verdict = !finding.holds   ? tr("This run does not decide it")
                          : *finding.holds ? tr("It holds")
                                           : tr("It does not hold");
  const QString found = text(finding.text);
  return asSentence(text(finding.claim)) + u' ' +
         asSentence(found.isEmpty() ? verdict : verdict + QStringLiteral(": ") + found);
}

}  // namespace normlens::ui

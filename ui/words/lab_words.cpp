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
    {"Equivalence", "6 layers × 256, spirals · paper 1, §3.2",
     "RMSNorm behind centered weights (CBWC) trains to the same network as LayerNorm; RMSNorm alone does not."},
    {"Depth", "6, 15 and 35 layers, four norms · paper 1, §5.1",
     "LayerNorm keeps the spread of each layer's input steady, and trains better than RMSNorm alone."},
    {"Dropout trade-off", "3 layers × 64, five seeds · paper 1, §5.3",
     "Dropout before a norm breaks the equality. At 0.1, 0.3 and 0.5, CBWC still stays closer to LayerNorm than "
     "RMSNorm alone."},
    {"Cost crossover: s·b > p", "256 inputs, 8 to 4,096 tokens · paper 1, §5.3",
     "Centering weights is cheaper than centering tokens once a step has more tokens, s·b, than the layer has inputs, "
     "p."},
    {"CRMSNorm", "4 blocks × 128, characters · paper 3, §3.2",
     "A stream whose channels sum to 0 needs one channel fewer: d − 1 channels train to the same weights as Pre-LN."},
    {"Continued training", "from a trained LayerNorm network · paper 1, §5.4",
     "A network is trained with LayerNorm. The others start from its weights and continue."},
};
constexpr Entry kNetworks[] = {
    {"LayerNorm", "", "Subtracts the mean of each row and divides by its standard deviation."},
    {"CBWC + RMSNorm", "",
     "CBWC, column-based weight centering: before each step, every weight before a norm loses its column means. Its "
     "output then has zero mean, and RMSNorm equals LayerNorm."},
    {"RMSNorm alone", "", "Divides by the root mean square and does not change the mean: a different network."},
    {"CRMSNorm", "", "RMSNorm on a residual stream with one channel fewer, in a basis where their sum is one channel."},
    {"no norm", "", "Only the linear layers and their activation."},
};
constexpr Entry kOptimizers[] = {
    {"SGD", "", "Stochastic gradient descent."},
    {"Adam", "", "Adds weight decay to the gradient."},
    {"AdamW", "", "Subtracts weight decay from the weight."},
};
constexpr Entry kArchitectures[] = {
    {"MLP", "", "Linear, norm and activation, repeated."},
    {"residual MLP", "", "The same, with each layer's output added to its input."},
    {"pre-norm transformer", "", "GPT-2's block: a norm before each part."},
    {"post-norm transformer", "", "Post-norm: each LayerNorm follows a residual add."},
    {"convolutional", "", "Convolutions over a signal, with GroupNorm."},
};
constexpr Entry kSchedules[] = {
    {"constant", "", "The learning rate is constant."},
    {"linear", "", "The learning rate decreases linearly to 0."},
    {"cosine", "", "The learning rate decreases to 0 along half a cosine."},
};
constexpr Entry kActivations[] = {
    {"ReLU", "", "Rounding decides on which side of its kink a number near 0 lies."},
    {"GELU", "", "Smooth: networks that compute the same stay the same, except for rounding."},
    {"tanh", "", "Smooth, between -1 and 1."},
};
constexpr Entry kData[] = {
    {"spirals", "", "Spiral arms in the plane: which arm a point lies on."},
    {"teacher", "", "The class that a random network chooses."},
    {"parity", "", "Whether an even number of features is positive."},
    {"characters", "", "A generated text."},
    {"npz file", "", "Arrays of features, and one of classes."},
};

}  // namespace

LabWord labWord(lab::Experiment experiment) { return wordIn(kExperiments, experiment); }
LabWord labWord(lab::NormUse network) { return wordIn(kNetworks, network); }
LabWord labWord(lab::OptimizerKind optimizer) { return wordIn(kOptimizers, optimizer); }
LabWord labWord(lab::Architecture architecture) { return wordIn(kArchitectures, architecture); }
LabWord labWord(lab::Schedule schedule) { return wordIn(kSchedules, schedule); }
LabWord labWord(lab::Activation activation) { return wordIn(kActivations, activation); }
LabWord labWord(lab::DataKind kind) { return wordIn(kData, kind); }

QString labLayersWord(const lab::RunSettings& settings, const lab::RunMember& member) {
  return tr(isTransformer(settings) ? "%1 blocks" : "%1 layers").arg(member.layers);
}

QString labOptimizerWord(const lab::RunSettings& settings, const lab::RunMember& member) {
  const auto optimizer = static_cast<size_t>(member.optimizer);
  return optimizer < settings.optimizers.size() ? text(lab::describe(settings.optimizers[optimizer])) : QString();
}

QString labRunWord(int run) { return tr("run %1").arg(run); }

QString findingWords(const lab::Finding& finding) {
  const QString verdict = !finding.holds ? tr("Not decided") : *finding.holds ? tr("Confirmed") : tr("Not confirmed");
  const QString found = text(finding.text);
  return asSentence(text(finding.claim)) + u' ' +
         asSentence(found.isEmpty() ? verdict : verdict + QStringLiteral(": ") + found);
}

}  // namespace normlens::ui

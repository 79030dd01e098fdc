#include "ui/window/export/snippets.h"

#include <QStringList>

#include "ui/words/format.h"

namespace normlens::ui {

namespace {

// What an input is called in Python; inputs of a trace have names like "input.1".
QString variable(QString name) {
  for (QChar& c : name) {
    if (!c.isLetterOrNumber() || c.unicode() > 127) c = u'_';
  }
  return name.isEmpty() || name.front().isDigit() ? u'x' + name : name;
}

QString arguments(const std::vector<protocol::InputSpec>& inputs) {
  QStringList names;
  for (const auto& input : inputs) names << variable(text(input.name));
  return names.join(QStringLiteral(", "));
}

// {"ids": ids, "mask": mask}
QString byName(const std::vector<protocol::InputSpec>& inputs) {
  QStringList pairs;
  for (const auto& input : inputs)
    pairs << QStringLiteral("\"%1\": %2").arg(text(input.name), variable(text(input.name)));
  return u'{' + pairs.join(QStringLiteral(", ")) + u'}';
}

// Core ML has no integers but int32, and of floats what its converter is to compute in.
QString tensorTypes(const std::vector<protocol::InputSpec>& inputs) {
  QStringList types;
  for (const auto& input : inputs) {
    QStringList sizes;
    for (const int64_t size : input.shape) sizes << QString::number(size);
    const bool whole = input.dtype.starts_with("int") || input.dtype.starts_with("uint") || input.dtype == "bool";
    types << QStringLiteral("ct.TensorType(shape=(%1%2), dtype=np.%3)")
                 .arg(sizes.join(QStringLiteral(", ")), QLatin1String(sizes.size() == 1 ? "," : ""),
                      QLatin1String(whole ? "int32" : "float32"));
  }
  return types.join(QStringLiteral(",\n            "));
}

}  // namespace

QString runSnippet(const QString& format, const QString& target, const QString& file,
                   const std::vector<protocol::InputSpec>& inputs) {
  if (target == QLatin1String("openvino")) {
    return QStringLiteral(
               "import openvino as ov\n\nmodel = ov.Core().compile_model(\"%1\", \"CPU\")\noutputs = model(%2)")
        .arg(file, byName(inputs));
  }
  if (target == QLatin1String("tensorrt"))
    return QStringLiteral("# in a shell\ntrtexec --onnx=%1 --saveEngine=%1.engine").arg(file);
  if (format == QLatin1String("onnx")) {
    return QStringLiteral(
               "import onnxruntime as ort\n\nsession = ort.InferenceSession(\"%1\")\noutputs = session.run(None, %2)")
        .arg(file, byName(inputs));
  }
  const bool exported = format == QLatin1String("pt2");
  const QString load = exported ? QStringLiteral("torch.export.load(\"%1\")").arg(file)
                                : QStringLiteral("torch.jit.load(\"%1\")").arg(file);
  if (target == QLatin1String("coreml")) {
    return QStringLiteral(
               "import numpy as np, torch, coremltools as ct\n\nmodel = %1\nconverted = ct.convert(model%2,\n"
               "    compute_precision=ct.precision.FLOAT32)")
        .arg(load, exported ? QString() : QStringLiteral(",\n    inputs=[%1]").arg(tensorTypes(inputs)));
  }
  if (target == QLatin1String("executorch")) {
    return QStringLiteral(
               "import torch\nfrom executorch.exir import to_edge\n\nprogram = to_edge(%1).to_executorch()\n"
               "open(\"%2.pte\", \"wb\").write(program.buffer)")
        .arg(load, file);
  }
  const QString library = target == QLatin1String("normlens")
                              ? QStringLiteral("torch.ops.load_library(\"libnormlens_ops.so\")\n")
                              : QString();
  return QStringLiteral("import torch\n\n%1model = %2%3\noutputs = model(%4)")
      .arg(library, load, exported ? QStringLiteral(".module()") : QString(), arguments(inputs));
}

QString moduleSnippet(const std::vector<protocol::InputSpec>& inputs) {
  return QStringLiteral("import normlens\n\nfolded, report = normlens.fold(model, (%1,))\nprint(report)")
      .arg(arguments(inputs));
}

QString folderSnippet() {
  return QStringLiteral("# in a shell, with transformers or timm\nnormlens fold FOLDER -o FOLDER-folded");
}

}  // namespace normlens::ui

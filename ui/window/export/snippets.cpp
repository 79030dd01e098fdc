#include "ui/window/export/snippets.h"

namespace normlens::ui {

namespace {

// What an input is called in Python; inputs of a trace have names like "input.1".
QString variable(QString name) {
  for (QChar& c : name) {
    if (!c.isLetterOrNumber() || c.unicode() > 127) c = u'_';
  }
  return name.isEmpty() || name.front().isDigit() ? u'x' + name : name;
}

QString arguments(const QStringList& inputs) {
  QStringList names;
  for (const QString& input : inputs) names << variable(input);
  return names.join(QStringLiteral(", "));
}

// {"ids": ids, "mask": mask}
QString byName(const QStringList& inputs) {
  QStringList pairs;
  for (const QString& input : inputs) pairs << QStringLiteral("\"%1\": %2").arg(input, variable(input));
  return u'{' + pairs.join(QStringLiteral(", ")) + u'}';
}

}  // namespace

QString runSnippet(const QString& format, const QString& target, const QString& file, const QStringList& inputs) {
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
               "import torch, coremltools as ct\n\nmodel = %1\nconverted = ct.convert(model%2,\n"
               "    compute_precision=ct.precision.FLOAT32)")
        .arg(load, exported ? QString() : QStringLiteral(", inputs=[ct.TensorType(shape=x.shape)]"));
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

QString moduleSnippet(const QStringList& inputs) {
  return QStringLiteral("import normlens\n\nfolded, report = normlens.fold(model, (%1,))\nprint(report)")
      .arg(arguments(inputs));
}

QString folderSnippet() {
  return QStringLiteral("# in a shell, with transformers or timm\nnormlens fold FOLDER -o FOLDER-folded");
}

}  // namespace normlens::ui

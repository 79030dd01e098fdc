# shellcheck shell=bash
# Of run.sh: does a model run on CUDA at all, then how fast, then what may go wrong. Uses built, library, parts, python
# and root. The models are made here, in MODELS (/tmp/normlens-gpu-models unless set), and kept for the next run.
# shellcheck disable=SC2154
models=${MODELS:-/tmp/normlens-gpu-models}
engine=$built/bin/normlens-engine
mkdir -p "$models"

# bench <name> <model> <word>...
bench() {
  local title=$1 model=$2
  shift 2
  step "$title" 40 bash -c 'told "$@"' - "$parts/$title.json" "$engine" bench "$model" --device cuda --json "$@"
}

step doctor 20 bash -c 'told "$@"' - "$parts/doctor.json" "$engine" doctor --json
bench "demo GPT-2" "$root/resources/models/gpt2.pt" --fold
step "models" 120 "$python" "$root/tests/gpu/make_models.py" "$models"
bench "ViT" "$models/vit.pt" --fold
bench "GPT-2" "$models/gpt2.pt" --fold --sweep dtype=float32,float16,bfloat16 --sweep seq=64,1024
bench "GPT-2, flavours" "$models/gpt2.pt" --fold --dtype bfloat16 --sweep norm=portable,fast,primitives \
  --sweep seq=64,1024
bench "GPT-2, graphs" "$models/gpt2.pt" --fold --dtype bfloat16 --cuda-graphs --sweep seq=64,1024
bench "ViT, graphs" "$models/vit.pt" --fold --dtype bfloat16 --cuda-graphs --sweep batch=1,16
bench "BERT" "$models/bert.pt" --fold --dtype bfloat16 --sweep batch=1,16
step "runner, a capture that fails among it" 60 "$built/bin/torchscript_read_test" \
  --gtest_filter='TorchRunner.*:DeviceTimes.*:CapturedPasses.*'

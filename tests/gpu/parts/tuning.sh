# shellcheck shell=bash
# Of run.sh: each choice of kernels/cuda/launch_config.h's LaunchTuning, at the sizes that it is about, beside what is
# taken without it. Uses built, library and parts.
# shellcheck disable=SC2154
tune() {
  local sizes=$1 choice=$2
  step "$sizes ${choice:-as it is}" 40 env NORMLENS_LAUNCH="$choice" "$built/bin/normlens-bench" - - "$library" \
    --json "$parts/$sizes,${choice:-as-it-is}.json" "kernels-$sizes"
}

for choice in "" few-rows=0 few-rows=1 few-rows=2 few-rows=8; do
  tune few "$choice"
done
for choice in "" wide-row-bytes=131072 wide-row-bytes=262144 wide-row-bytes=524288 cluster-blocks=2 cluster-blocks=4 \
  cluster-blocks=8; do
  tune wide "$choice"
done
for choice in "" persistent-blocks=1 persistent-blocks=2 persistent-blocks=3 persistent-blocks=4; do
  tune narrow "$choice"
done

#!/usr/bin/env bash
# slurm_test.sh BIN: the programs in BIN and the batch scripts of scripts/slurm, under a Slurm of one node that is started for
# it. Exit status: 0 all as expected, 77 skipped (Slurm is not installed here), 1 otherwise.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scripts=$(cd "$here/../../scripts" && pwd)
# shellcheck source=tests/slurm/one_node.sh
source "$here/one_node.sh"

[[ $# == 1 && -x $1/ckpt-reshard ]] || { echo "usage: slurm_test.sh BIN, where BIN/ckpt-reshard is" >&2; exit 2; }
bin=$(cd "$1" && pwd)
if missing=$(slurm_missing); then
  echo "skipped: no $missing here (Debian: apt-get install slurmctld slurmd slurm-client)"
  exit 77
fi

work=$(mktemp -d)
trap 'slurm_stop; rm -rf "$work"' EXIT
slurm_start "$work"
export PATH=$bin:$PATH CKPT_MEMORY=64MiB CKPT_THREADS=1
cd "$work"

failures=0
# expect NAME STATUS TEXT COMMAND...: COMMAND's status, and a text that it or its job log (job.log) has to contain.
expect() {
  local name=$1 wanted=$2 text=$3 status=0
  shift 3
  : >job.log
  "$@" >command.log 2>&1 || status=$?
  if [[ $status == "$wanted" && $(cat command.log job.log) == *"$text"* ]]; then
    echo "ok: $name"
  else
    echo "FAILED: $name: status $status, expected $wanted and the text '$text'; this was said:"
    cat command.log job.log
    [[ $status != 124 ]] || squeue
    failures=$((failures + 1))
  fi
}
batch() { timeout 60 sbatch --wait --output=job.log --nodes=1 "$@"; }
reshard=(ckpt-reshard --from job.json --to b6.json job)

"$scripts/make_sample" -o job --mesh dp=2,tp=2 >sample.log
"$scripts/make_sample" -o b6 --mesh dp=3,tp=2 --layout-only >>sample.log
if srun --mpi=list 2>&1 | grep -qw pmix; then
  expect "reshard.sbatch on 2 tasks" 0 "" \
    batch --ntasks-per-node=2 --cpus-per-task=1 "$scripts/slurm/reshard.sbatch" job job.json b6.json b6
  expect "its output is what a job would have written" 0 "" "$scripts/make_sample" -o b6 --mesh dp=3,tp=2 --check
  expect "a failing job's status" 1 "nowhere" \
    batch --ntasks-per-node=2 --cpus-per-task=1 "$scripts/slurm/reshard.sbatch" nowhere job.json b6.json b6_bad
  expect "nothing was published by it" 0 "" test ! -e b6_bad
  # shellcheck disable=SC2016  # bash -c expands it, there
  expect "split.sbatch waits for merge.sbatch" 0 "" bash -c '
    merge=$(sbatch --parsable --nodes=1 --cpus-per-task=1 "$0/merge.sbatch" job job.json merged.h5)
    timeout 60 sbatch --wait --output=job.log --dependency=afterok:$merge --kill-on-invalid-dep=yes --nodes=1 --ntasks-per-node=2 \
      --cpus-per-task=1 "$0/split.sbatch" merged.h5 b6.json b6_split' "$scripts/slurm"
  expect "what they made together" 0 "" diff -r b6 b6_split
  # shellcheck disable=SC2016
  expect "a step that is told to end" 143 "error: ended by SIGTERM" timeout 60 bash -c '
    srun --mpi=pmix --job-name=told -n 2 "$@" --wait-for never --report told.json -o b6_told & step=$!
    until compgen -G "told.json.*" >/dev/null; do sleep 0.1; done
    scancel --name=told --signal=TERM
    wait $step' bash "${reshard[@]}"
  expect "it left nothing" 0 "" test ! -e b6_told -a ! -e b6_told.partial
  expect "but a report that says so" 0 '"kind": "terminated"' grep kind told.json
else
  echo "skipped: srun --mpi=pmix, which this Slurm was built without"
fi
expect "a program run by the batch script itself is alone" 0 "" \
  batch --ntasks=4 --wrap "${reshard[*]} -o b6_alone && rm -r b6_alone"
# shellcheck disable=SC2016
expect "so it is in a job that a step submitted" 0 "" \
  timeout 60 srun -n 2 bash -c '((SLURM_PROCID > 0)) || sbatch --wait --output=job.log --nodes=1 --wrap "$0"' \
  "${reshard[*]} -o b6_inner && rm -r b6_inner"
expect "srun with one task is alone" 0 "" timeout 60 srun -n 1 "${reshard[@]}" -o b6_one
expect "srun without MPI is refused" 2 "srun --mpi=pmix -n 2" timeout 60 srun --mpi=none -n 2 "${reshard[@]}" -o b6_none
expect "it published nothing" 0 "" test ! -e b6_none
# shellcheck disable=SC2016
expect "what one task of a step starts is told how to go alone" 2 "CKPT_ALONE=1" \
  timeout 60 srun --mpi=none -n 2 bash -c '((SLURM_PROCID == 0)) || "$@"; exit' bash "${reshard[@]}" -o b6_task
# shellcheck disable=SC2016
expect "and goes alone" 0 "" timeout 60 srun -n 2 bash -c '((SLURM_PROCID == 0)) || "$@"; exit' bash "${reshard[@]}" --alone -o b6_task
expect "mpirun in a batch script" 0 "" \
  batch --ntasks=2 --wrap "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 2 ${reshard[*]} -o b6_mpirun"
((failures == 0))

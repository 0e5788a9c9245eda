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
# Requeues a job that waits, lets its second start go on, and gives that one's exit status.
requeued() {
  local job
  job=$(sbatch --parsable --output=requeued.log --nodes=1 --ntasks-per-node=2 --cpus-per-task=1 "$scripts/slurm/reshard.sbatch" \
    job job.json b6.json b6_requeued --wait-for go) || return
  until_true grep "waiting for go" requeued.log && scontrol requeue "$job" && until_true job_says "$job" Restarts=1 || return
  until_true starts_again "$job" && touch go && until_true job_says "$job" JobState=COMPLETED && job_says "$job" ExitCode=0:0
}
starts_again() {  # Slurm lets a requeued job wait for two minutes
  scontrol update JobId="$1" StartTime=now 2>&1
  job_says "$1" JobState=RUNNING
}
job_says() { [[ $(scontrol show job "$1") == *"$2"* ]]; }
until_true() {  # until_true COMMAND...: at most half a minute
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    "$@" >/dev/null && return 0
    sleep 0.1
  done
  echo "never true: $*"
  cat requeued.log
  return 1
}
reshard=(ckpt-reshard --from job.json --to b6.json job)

"$scripts/make_sample" -o job --mesh dp=2,tp=2 >sample.log
"$scripts/make_sample" -o b6 --mesh dp=3,tp=2 --layout-only >>sample.log
if srun --mpi=list 2>&1 | grep -qw pmix; then
  expect "reshard.sbatch on 2 tasks" 0 "" \
    batch --ntasks-per-node=2 --cpus-per-task=1 "$scripts/slurm/reshard.sbatch" job job.json b6.json b6
  expect "its output is what a job would have written" 0 "" "$scripts/make_sample" -o b6 --mesh dp=3,tp=2 --check
  expect "a failing job's status" 2 "nowhere" \
    batch --ntasks-per-node=2 --cpus-per-task=1 "$scripts/slurm/reshard.sbatch" nowhere job.json b6.json b6_bad
  expect "nothing was published by it" 0 "" test ! -e b6_bad
  # shellcheck disable=SC2016  # bash -c expands it, there
  expect "split.sbatch waits for merge.sbatch" 0 "" bash -c '
    merge=$(sbatch --parsable --nodes=1 --cpus-per-task=1 "$0/merge.sbatch" job job.json merged.h5)
    timeout 60 sbatch --wait --output=job.log --dependency=afterok:$merge --kill-on-invalid-dep=yes --nodes=1 --ntasks-per-node=2 \
      --cpus-per-task=1 "$0/split.sbatch" merged.h5 b6.json b6_split' "$scripts/slurm"
  expect "what they made together" 0 "" diff -r b6 b6_split
  expect "a checkpoint that says how it is cut needs no layout" 0 "" \
    batch --ntasks-per-node=2 --cpus-per-task=1 "$scripts/slurm/reshard.sbatch" b6 b6_four --to-mesh dp=2,tp=2
  expect "nor does its merge, with options behind the output" 0 "" \
    batch --cpus-per-task=1 "$scripts/slurm/merge.sbatch" b6_four small.h5 --only '*_norm.weight'
  expect "the job's report stands beside its log" 0 '"status": "done"' bash -c 'cat ckpt-merge-*.json'
  expect "too few paths" 2 "usage: sbatch split.sbatch" batch --ntasks-per-node=1 --cpus-per-task=1 "$scripts/slurm/split.sbatch" b6
  expect "a job that is requeued goes on, and ends well" 0 "" requeued
  expect "what it made" 0 "" diff -r b6 b6_requeued
  expect "its log has both starts" 0 "" grep -zq 'SIGTERM.*wrote b6_requeued' requeued.log
  # The manual's recipes, as they stand there: a job script, two stages with a program in between, a job that queues itself again.
  mkdir run recipes && "$scripts/make_sample" -o run/step_1000 --mesh dp=2,tp=2 >>sample.log && touch run/step_1000/DONE
  cp run/step_1000.json train64.json && cp job.json stage1.json && cp b6.json stage2.json
  recipe() { "$here/../recipe" "$here/../../$1" "$2"; }
  # shellcheck disable=SC2016  # it is a program of the recipe's
  printf '#!/bin/bash\n((SLURM_PROCID > 0)) || [[ $1 == --resume ]] || cp -r job "$2"\n' >recipes/train && chmod +x recipes/train
  recipe README.md job-name=merge >recipes/merge
  recipe README.md "srun train" | sed '1i #!/bin/bash' >recipes/stages
  { echo '#!/bin/bash' && recipe apps/running.md "scontrol requeue" | sed "s/SRC/b6_four/"; } >recipes/again
  export RUN=run
  expect "README's job script" 0 "wrote run/step_1000.h5" batch --mem-per-cpu=20M --cpus-per-task=1 recipes/merge
  expect "README's two stages" 0 "wrote run/stage2_start" env PATH="$work/recipes:$PATH" timeout 60 sbatch --wait --output=job.log --ntasks=2 recipes/stages
  expect "what they made" 0 "" diff -r b6 run/stage2_start
  expect "the manual's job that queues itself again" 0 "wrote model.h5" batch recipes/again
  # shellcheck disable=SC2016
  expect "a step that is told to end" 143 "error: ended by SIGTERM" timeout 60 bash -c '
    srun --mpi=pmix --job-name=told -n 2 "$@" --wait-for never --report told.json -o b6_told >told.log 2>&1 & step=$!
    until grep -q "waiting for never" told.log; do sleep 0.1; done
    scancel --name=told --signal=TERM
    wait $step; status=$?
    cat told.log; exit $status' bash "${reshard[@]}"
  expect "it left nothing" 0 "" test ! -e b6_told -a ! -e b6_told.partial
  expect "but a report that says so" 0 '"kind": "terminated"' grep kind told.json
else
  echo "skipped: srun --mpi=pmix, which this Slurm was built without"
fi
if srun --mpi=list 2>&1 | grep -qw pmi2 && ldconfig -p | grep -q 'libmpich\.so\.12'; then
  expect "MPICH, which srun --mpi=pmi2 starts" 0 "wrote b6_pmi2" timeout 60 srun --mpi=pmi2 -n 2 "${reshard[@]}" -o b6_pmi2 --report pmi2.json
  expect "what it made" 0 "" "$scripts/make_sample" -o b6_pmi2 --mesh dp=3,tp=2 --check
  expect "both tasks were one job" 0 '"processes": 2' grep processes pmi2.json
  expect "by MPICH" 0 'MPICH' grep '"mpi"' pmi2.json
else
  echo "skipped: srun --mpi=pmi2, for which this Slurm has no plugin, or there is no MPICH"
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

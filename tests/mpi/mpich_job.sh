#!/usr/bin/env bash
# mpich_job.sh BIN MPIEXEC: a job of the programs in BIN under MPICH's launcher, whose processes are one job and write what one process does.
set -euo pipefail
bin=$1 launcher=$2
sample=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)/make_sample
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$sample" -o job --mesh dp=2,tp=2 --bytes 8MB >sample.log
"$sample" -o b6 --mesh dp=3,tp=2 --bytes 8MB --layout-only >>sample.log
"$launcher" -n 3 "$bin/ckpt-reshard" --exchange mpi --layout job.json --to b6.json job -o b6 --report report.json
"$sample" -o b6 --mesh dp=3,tp=2 --bytes 8MB --check
grep '"mpi": "MPICH' report.json
grep '"processes": 3' report.json

# Begins a test of the programs on hosts h1 to h7; to be sourced: cases.sh BIN [PAUSE], where BIN/ckpt-reshard is.
#   $work, $here, $sample                  the directory of the test, in which it is; this folder; scripts/make_sample
#   $pause                                 the library of pause.c
#   expect NAME STATUS TEXT COMMAND...     a case: what a command has to do
#   on HOSTS COMMAND...                    a job
# The last line of a test: ((failures == 0))
# shellcheck shell=bash
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034  # tests use it
sample=$(cd "$here/../../scripts" && pwd)/make_sample
# shellcheck source=tests/hosts/network.sh
source "$here/network.sh"

[[ $# -ge 1 && -x $1/ckpt-reshard ]] || { echo "usage: $(basename "$0") BIN [PAUSE], where BIN/ckpt-reshard is" >&2; exit 2; }
bin=$(cd "$1" && pwd)
pause=${2:-}
missing=$(hosts_missing)
if [[ -n $missing ]]; then
  echo "skipped: $missing"
  exit 77
fi

work=$(mktemp -d)
trap 'hosts_stop; rm -rf "$work"' EXIT
hosts_start "$work" h1 h2 h3 h4 h5 h6 h7
export PATH=$bin:$PATH CKPT_MEMORY=64MiB CKPT_THREADS=1
cd "$work"

failures=0
# expect NAME STATUS TEXT COMMAND...: COMMAND's status (any: not 0), and a text that it has to print.
expect() {
  local name=$1 wanted=$2 text=$3 status=0 begin=$SECONDS
  shift 3
  "$@" >said.log 2>&1 || status=$?
  if [[ ($status == "$wanted" || ($wanted == any && $status != 0)) && $(cat said.log) == *"$text"* ]]; then
    echo "ok: $name ($((SECONDS - begin)) s)"
  else
    echo "FAILED: $name: status $status, expected $wanted and the text '$text'; this was said:"
    cat said.log
    failures=$((failures + 1))
  fi
}
on() {  # on HOSTS COMMAND...: as one job, a process on each host; login's own time limit is the last resort
  local hosts=$1
  shift
  hosts_run login timeout --kill-after=1 "${patience:-40}" mpirun -H "$hosts" "$@"
}

#!/usr/bin/env bash
# hosts_link.sh BIN DIR RATE TURNS BYTES: a reshard between two hosts, half of whose data crosses their link in each direction, and iperf3 both ways
# over the same link before and after it. Prints a JSON object for each turn; what keeps it from running with status 77.
# The hosts are namespaces of this machine (tests/hosts/network.sh).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/hosts/network.sh
source "$here/../../tests/hosts/network.sh"
bin=$1 dir=$2 rate=$3 turns=$4 bytes=$5
missing=$(hosts_missing)
if [[ -z $missing ]] && ! command -v iperf3 >/dev/null; then
  DEBIAN_FRONTEND=noninteractive apt-get install -y iperf3 >/dev/null 2>&1 || missing="no iperf3 here, and apt-get does not install it"
fi
[[ -z $missing ]] || { echo "$missing" && exit 77; }

mkdir -p "$dir"
trap 'hosts_stop; rm -rf "$dir"' EXIT
hosts_start "$dir" h1 h2
cd "$dir"
"$here/../make_sample" -o job --mesh dp=4,tp=2 --bytes "$bytes" >sample.log
"$here/../make_sample" -o narrow --mesh dp=3,tp=2 --bytes "$bytes" --layout-only >>sample.log
for rank in 0 2 4 6; do mv "job/rank_$rank.h5" local.h1/ && mv "job/rank_$((rank + 1)).h5" local.h2/; done
for host in h1 h2; do hosts_rate "$host" "$rate"; done

processors() { awk '/^cpu / { for (i = 2; i <= NF; ++i) all += $i; printf "(%d, %d)", $5 + $6, all }' /proc/stat; }  # ticks: idle, all
link() {  # bytes a second, each way
  hosts_run h1 iperf3 -s -1 >/dev/null &
  until_true hosts_run h1 bash -c "ss -ltn | grep -q :5201"
  hosts_run h2 iperf3 -c h1 --bidir -t 3 -J | python3 -c "
import json, sys
end = json.load(sys.stdin)['end']
print([end[key]['bits_per_second'] / 8 for key in ('sum_received', 'sum_received_bidir_reverse')])"
  wait $! || true
}
for ((turn = 0; turn < turns; ++turn)); do
  before=$(link)
  ticks=$(processors)
  hosts_run login mpirun -H h1:1,h2:1 "$bin/ckpt-reshard" -q --no-fsync --from job.json --to narrow.json local -o narrow --report report.json
  ticks="($ticks, $(processors))"
  rm -r narrow
  python3 -c "
import json
told = json.load(open('report.json'))
idle, ticks = (after - before for before, after in zip(*$ticks))
print(json.dumps({'busy': 1 - idle / ticks, 'before': $before, 'after': $(link), 'seconds': told['seconds']['move'], 'phases': told['seconds'], 'peak': told['peak_resident_bytes'],
                  'sent': [each['between_hosts'] for each in told['messages']]}), flush=True)"
done

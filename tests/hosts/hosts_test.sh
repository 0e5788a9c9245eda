#!/usr/bin/env bash
# hosts_test.sh BIN PAUSE: the programs in BIN on three hosts, which are namespaces of this machine: what they write, and what they say when
# a host is lost. Exit status: 0 all as expected, 77 skipped (no namespaces here), 1 otherwise.
# shellcheck source=tests/hosts/cases.sh
source "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

"$sample" -o job --mesh dp=2,tp=2 --bytes 24MB >sample.log
"$sample" -o b6 --mesh dp=3,tp=2 --bytes 24MB --layout-only >>sample.log
for rank in 0 1; do cp -p "job/rank_$rank.h5" local.h1/ && cp -p "job/rank_$((rank + 2)).h5" local.h2/; done

from_local=(ckpt-reshard --from job.json --to b6.json local)
expect "reshard from disks of two hosts" 0 "wrote b6" on h1:1,h2:1 "${from_local[@]}" -o b6
expect "what it wrote" 0 "" "$sample" -o b6 --mesh dp=3,tp=2 --bytes 24MB --check
# Wherever the processes are, as many bytes cross the network as with one process on the host that has the data.
crossed() {  # crossed MPIRUN_WORDS: bytes
  rm -rf crossed
  hosts_run login timeout 40 mpirun "$@" "${from_local[@]}" -q -o crossed --report crossed.json --trace crossed_trace.json >&2 &&
    diff -r b6 crossed >&2 && python3 -c "
import json
print(sum(each['between_hosts'] for each in json.load(open('crossed.json'))['messages']))"
}
crosses_once() {
  local least
  least=$(crossed -H h1:1,h2:1) && (($(crossed "$@") * 100 < least * 102))
}
expect "nothing more crosses if the hosts come in another order" 0 "" crosses_once -H h2:1,h1:1
expect "nor with two processes a host, host by host in turn" 0 "" crosses_once -H h1:2,h2:2 --map-by node
expect "nor does a merge, which process 0 completes, care for the order" 0 "" bash -c "$(declare -p host_pid); $(declare -f hosts_run); \
  hosts_run login timeout 40 mpirun -H h2:1,h1:1 ckpt-merge -q --layout job.json local -o turned.h5 && \
  ckpt-merge -q --layout job.json job -o whole.h5 && cmp turned.h5 whole.h5"
expect "the trace names process and host" 0 "process 3 (h2): catalog, check, exchange" "$here/../cli/bin/in_trace" crossed_trace.json crossed.json
expect "merge on three hosts, one of which has no data" 0 "" on h1:1,h2:1,h3:1 ckpt-merge --layout job.json local -o merged.h5
expect "split on three hosts" 0 "" on h1:1,h2:1,h3:1 ckpt-split --to b6.json merged.h5 -o b6_split
expect "what both wrote" 0 "" diff -r b6 b6_split
expect "verify on two hosts" 0 "" on h1:1,h2:1 ckpt-verify --layout job.json local b6
# The manual's recipe word for word, but for the hosts' names and the paths' beginnings.
mkdir shared
for host in h1 h2; do mkdir "local.$host/step_1000" && cp -p "local.$host/"rank_*.h5 "local.$host/step_1000/"; done
recipe=$("$here/../recipe" "$here/../../apps/running.md" node1:1 | sed 's/node/h/g; s, /local/, local/,; s, /shared/, shared/,')
expect "the manual's recipe" 0 "wrote shared/step_1000_b6" hosts_run login timeout 40 bash -c "$recipe"
expect "what it wrote" 0 "" diff -r b6 shared/step_1000_b6
rm -r local.h1/step_1000 local.h2/step_1000
mv local.h2/rank_3.h5 local.h2/aside && mkdir local.h2/rank_3.h5
cp job.json local.h2/only_h2.json
expect "a layout that process 0's host lacks" 2 "check its path; process 0 reads it, on h1" \
  on h1:1,h2:1 ckpt-reshard --from local/only_h2.json --to b6.json local -o b6_none
expect "what is waited for, and by whom" 75 "never.done (on h1): not there after 0.1 s" \
  on h1:1,h2:1 ckpt-reshard --wait-for local/never.done --wait-timeout 0.1 "${from_local[@]:1}" -o b6_none
expect "an error names its host" any "(on h2)" on h1:1,h2:1 "${from_local[@]}" -o b6_none
rmdir local.h2/rank_3.h5 && mv local.h2/aside local.h2/rank_3.h5

for host in h1 h2; do mkdir "local.$host/run" && cp -r "local.$host/"rank_*.h5 "local.$host/run/"; done
echo global_step100 >local.h1/run/latest && echo global_step200 >local.h2/run/latest
expect "two hosts that mean two steps" any "it means step global_step100 for process 0 (h1) and global_step200 for process 1 (h2)" \
  on h1:1,h2:1 ckpt-reshard --from job.json --to b6.json local/run -o b6_none
rm -r local.h1/run local.h2/run

# Where the directions of a link take turns, this takes 1.05 of what all its bytes take one after the other; else 0.55 to 0.7.
"$sample" -o wide --mesh dp=4,tp=2 --bytes 100MB >>sample.log
"$sample" -o narrow --mesh dp=3,tp=2 --bytes 100MB --layout-only >>sample.log
mkdir local.h1/wide local.h2/wide
for rank in 0 1 2 3; do mv "wide/rank_$rank.h5" local.h1/wide/ && mv "wide/rank_$((rank + 4)).h5" local.h2/wide/; done
for host in h1 h2; do hosts_rate "$host" 100mbit; done
both_ways() {
  on h1:1,h2:1 ckpt-reshard -q --memory 512MiB --from wide.json --to narrow.json local/wide -o narrow --report rate.json &&
    python3 -c "
import json
told = json.load(open('rate.json'))
took, turns = told['seconds']['exchange'], told['bytes_exchanged'] * 8 / 100e6
print('both ways' if took < 0.85 * turns else 'in turns', f'{took:.2f} s of {turns:.2f} s')"
}
expect "a link is used both ways at once" 0 "both ways" both_ways
rm -r wide narrow local.h1/wide local.h2/wide
for host in h1 h2; do hosts_rate "$host" 10gbit; done

declare -A starting=()
# Faults come while the data is on its way through slow links.
hosts_rate h2 4mbit
job_on=h1:1,h2:1
fault() {  # fault OUTPUT COMMAND...: the COMMAND happens once the job ($job_on) writes OUTPUT
  local output=$1 job status=0
  shift
  on "$job_on" env CKPT_STALL_TIMEOUT=5s "${from_local[@]}" -o "$output" &
  job=$!
  until_true test -e "$output.partial" && sleep 1.5 && "$@"
  wait "$job" || status=$?
  until_true none_runs h1 && until_true none_runs h2 || return 99
  return "$status"
}
none_runs() { ! nsenter -t "${host_pid[$1]}" -a pgrep -x -r R,S,D,T ckpt-reshard; }
expect "a process that is stopped" any "error: process 1 (h2): nothing has come from it for 5 s" fault stopped hosts_signal h2 STOP ckpt-reshard
expect "a link that goes down" any "error: process 1 (h2): nothing has come from it for 5 s" fault unplugged hosts_link h2 down
hosts_link h2 up
unplugged_before() {  # unplugged_before CALL OUTPUT HOST HOST: the second host's link goes down when all processes are about to make a call of MPI
  local call=$1 output=$2 job status=0 one=$3 other=$4
  on "$one:1,$other:1" env CKPT_STALL_TIMEOUT=5s LD_PRELOAD="$pause" PAUSE_IN="$call" PAUSE_UNTIL="$work/$call.go" "${from_local[@]}" -o "$output" &
  job=$!
  until_true test -e "$call.go.$one" && until_true test -e "$call.go.$other" && hosts_link "$other" down && touch "$call.go"
  until_gone "$one" && until_gone "$other" || return 99
  hosts_link "$other" up  # mpirun may wait for the lost host
  wait "$job" || status=$?
  return "$status"
}
until_gone() {
  local times
  for times in 1 2 3 4 5; do until_true none_runs "$1" 2>/dev/null && return; done
  echo "$times times 20 s were not enough" && false
}
# Meanwhile, on further hosts: however soon silence ends a job, whoever starts late has a minute. mpirun must not look for lost hosts before.
for lost in "MPI_Init_thread h4 h5" "MPI_Comm_dup h6 h7"; do
  read -r call one other <<<"$lost"
  (OMPI_MCA_oob_tcp_keepalive_time=300 patience=90 unplugged_before "$call" before "$one" "$other" >"$call.log" 2>&1 || echo "status $?" >>"$call.log") &
  starting[$one]=$!
done
expect "a link that goes down before MPI ends" any "MPI has not ended for 5 s" unplugged_before MPI_Finalize ended h1 h2
expect "what it has written" 0 "" diff -r b6 ended
expect "a link that is back in time" 0 "wrote blinked" fault blinked bash -c "$(declare -p host_pid); $(declare -f hosts_link); hosts_link h2 down; sleep 1; hosts_link h2 up"
second() { echo "status $(on h3:1 ckpt-reshard --from job.json --to b6.json --resume job -o waited >second.log 2>&1; echo $?)" >>second.log; }
expect "a second job for one output, from another host" 0 "wrote waited" fault waited second
expect "it is told who has the output" 0 "another job is writing it (process " cat second.log
expect "and where, and what to do" 0 " on host h1, since " cat second.log
expect "it may be tried again" 0 "status 75" cat second.log
job_on=h3:1,h1:1,h2:1
expect "a link between two hosts without process 0" any \
  "error: process 2 (h2): nothing has come from it at process 1 (h1) for 5 s; is the network between the two down?" fault between hosts_apart h1 h2
hosts_together h1 h2
job_on=h1:1,h2:1
expect "a process that is killed" any "" fault killed hosts_signal h2 KILL ckpt-reshard
time_is_up() {  # as Slurm says it
  local signal host
  for signal in TERM CONT TERM; do
    for host in h1 h2; do hosts_signal "$host" "$signal" ckpt-reshard; done
  done
}
expect "a job whose time is up" any "error: ended by SIGTERM" fault told time_is_up
for output in stopped unplugged between killed told; do
  text="wrote $output"
  [[ $output != killed ]] || text="killed.partial: the job that wrote it was killed, or lost with its host"
  expect "it goes on after this ($output)" 0 "$text" on h1:1,h3:1,h2:1 ckpt-reshard --from job.json --to b6.json --resume job -o "$output"
  expect "to the same end" 0 "" diff -r b6 "$output"
done
for lost in "MPI_Init_thread h4 4-5" "MPI_Comm_dup h6 6-7"; do
  read -r call one hosts <<<"$lost"
  text="error: MPI: it has not started for 60 s; this is rank 0 of 2, on $one, expected all processes of the job to have found one another; "
  wait "${starting[$one]}"
  expect "a link that goes down before $call" 0 "${text}check the network between the job's hosts (login,h[1:$hosts])" cat "$call.log"
  expect "the status then" 0 "status " cat "$call.log"
done
((failures == 0))

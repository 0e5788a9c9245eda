# Hosts in network namespaces of this machine, for tests; to be sourced. It needs root.
#   hosts_missing             prints what is missing here, if anything
#   hosts_start DIR NAME...   starts hosts. All share this machine's files but for DIR/local, which is each one's own; a further host,
#                             login, runs mpirun
#   hosts_run NAME COMMAND... runs a command on a host, in this directory
#   hosts_link NAME up|down   pulls a host's cable, or puts it back
#   hosts_apart NAME NAME     pulls the cable between two hosts alone; hosts_together puts it back
#   hosts_rate NAME RATE      limits a host's link, both ways: 20mbit
#   hosts_signal NAME SIGNAL PROGRAM  sends a signal to the program's process on a host
#   hosts_stop                ends all of them, and what runs there
# shellcheck shell=bash

declare -A host_pid=()

hosts_missing() {
  local program
  for program in unshare nsenter ip bridge tc mpirun pgrep; do
    command -v "$program" >/dev/null || { echo "no $program here"; return; }
  done
  unshare --net --uts --ipc --mount --pid --fork true 2>/dev/null || { echo "namespaces are not allowed here (they need root)"; return; }
  unshare --net sh -c 'ip link add t0 type veth peer name t1 && tc qdisc add dev t0 root tbf rate 1mbit burst 16k latency 50ms' 2>/dev/null ||
    echo "this kernel has no veth or tbf"
}

# Process 1 of a host reaps what ends there, or it would look as if it still ran.
hosts_holder='
  hostname "$0" && mount --make-rprivate / && mount --bind "$1/local.$0" "$1/local" && mount --bind "$1/hosts" /etc/hosts &&
  mount -t tmpfs none /dev/shm && ip link set lo up && touch "$1/up.$0" && while sleep 1; do :; done'

hosts_start() {
  local dir=$1 name number=0
  shift
  PATH=$PATH:/usr/sbin:/sbin
  mkdir -p "$dir/local"
  hosts_dir=$dir
  echo "127.0.0.1 localhost" >"$dir/hosts"
  for name in login "$@"; do
    number=$((number + 1))
    echo "10.99.0.$number $name" >>"$dir/hosts"
    mkdir -p "$dir/local.$name"
  done
  unshare --net sleep infinity &
  host_pid[hub]=$!
  until_true hosts_have_own_net "${host_pid[hub]}"
  nsenter -t "${host_pid[hub]}" -n sh -c 'ip link add br0 type bridge && ip link set br0 up'
  number=0
  for name in login "$@"; do
    number=$((number + 1))
    if [[ $name == login ]]; then  # it enters the others, and so shares their parent's process numbers
      unshare --net --uts --ipc --mount bash -c "$hosts_holder" "$name" "$dir" 2>"$dir/$name.log" &
      host_pid[$name]=$!
      until_true test -e "$dir/up.$name"
    else
      unshare --net --uts --ipc --mount --pid --fork --kill-child --mount-proc bash -c "$hosts_holder" "$name" "$dir" 2>"$dir/$name.log" &
      until_true test -e "$dir/up.$name"
      host_pid[$name]=$(pgrep -P $!)
    fi
    echo "${host_pid[$name]}" >"$dir/pid.$name"
    nsenter -t "${host_pid[hub]}" -n ip link add "to-$name" type veth peer name eth0 netns "${host_pid[$name]}"
    nsenter -t "${host_pid[hub]}" -n ip link set "to-$name" master br0 up
    nsenter -t "${host_pid[$name]}" -n sh -c "ip addr add 10.99.0.$number/24 dev eth0 && ip link set eth0 up"
  done
  # shellcheck disable=SC2016  # the agent expands it
  printf '#!/bin/bash\nhost=$1; shift\nexec nsenter -t "$(cat "%s/pid.$host")" -a --wd="$PWD" -- /bin/sh -c "$*"\n' "$dir" >"$dir/agent"
  chmod +x "$dir/agent"
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=$dir/agent
  export OMPI_MCA_plm_rsh_no_tree_spawn=1 OMPI_MCA_oob_tcp_if_include=eth0 OMPI_MCA_btl_tcp_if_include=eth0
  # mpirun's own search for lost hosts, as the manual advises: it would wait longer than the programs do.
  export OMPI_MCA_oob_tcp_keepalive_time=10 OMPI_MCA_oob_tcp_keepalive_intvl=1 OMPI_MCA_oob_tcp_keepalive_probes=3
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
}

hosts_have_own_net() { [[ $(readlink "/proc/$1/ns/net") != "$(readlink /proc/self/ns/net)" ]]; }

hosts_run() {
  local host=$1
  shift
  nsenter -t "${host_pid[$host]}" -n -u -i -m --wd="$PWD" -- "$@"
}

hosts_link() { nsenter -t "${host_pid[hub]}" -n ip link set "to-$1" "$2"; }

hosts_apart() { hosts_bridge "$1" isolated on && hosts_bridge "$2" isolated on; }
hosts_together() { hosts_bridge "$1" isolated off && hosts_bridge "$2" isolated off; }
hosts_bridge() { nsenter -t "${host_pid[hub]}" -n bridge link set dev "to-$1" "${@:2}"; }

hosts_rate() {
  nsenter -t "${host_pid[hub]}" -n tc qdisc replace dev "to-$1" root tbf rate "$2" burst 128k latency 50ms
  nsenter -t "${host_pid[$1]}" -n tc qdisc replace dev eth0 root tbf rate "$2" burst 128k latency 50ms
}

hosts_signal() {
  local pid
  pid=$(nsenter -t "${host_pid[$1]}" -a pgrep -o -x -r R,S,D,T "$3") && nsenter -t "${host_pid[$1]}" -a kill "-$2" "$pid"
}

hosts_stop() {
  local name
  for name in "${!host_pid[@]}"; do kill -KILL "${host_pid[$name]}" 2>/dev/null; done
  host_pid=()
  wait 2>/dev/null
}

until_true() {  # until_true COMMAND...: at most 20 s
  local tries
  for ((tries = 0; tries < 400; ++tries)); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.05
  done
  echo "never true: $*" >&2
  return 1
}

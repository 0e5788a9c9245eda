#!/usr/bin/env bash
# one_gpu.sh COMMAND...: under mpirun, runs COMMAND in a way that lets several ranks share one GPU. NCCL refuses two ranks of
# a node on one device, but believes the host's name that it is told. What remains between "hosts" is the socket transport:
# slow, and made for tests only.
rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${SLURM_PROCID:-0}}}
export NCCL_HOSTID=card$rank NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_IB_DISABLE=1
export NCCL_MNNVL_ENABLE=0 NCCL_NVLS_ENABLE=0 NCCL_MAX_CTAS=4
exec "$@"

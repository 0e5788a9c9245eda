# shellcheck shell=bash disable=SC2034
# What quickstart and test share: finding the packages the project stands on, installing what is missing, and the
# environment that MPI needs in a container. Debian's names; elsewhere each is probed by what it provides.

build_packages=(g++ cmake ninja-build libcli11-dev nlohmann-json3-dev libfmt-dev libhdf5-dev zlib1g-dev libzstd-dev)
sample_packages=(python3-h5py)
test_packages=(libopenmpi-dev openmpi-bin catch2 librapidcheck-dev python3-jsonschema slurmctld slurmd slurm-client valgrind mandoc zsh fish)
optional_packages=(mpich libmpich-dev python3-venv)  # without them some tests are left out
check_packages=(clang-format clang-tidy)

# has_header HEADER [HEADER…]: the compiler finds one of them.
has_header() {
  local header
  for header in "$@"; do
    if printf '#if !__has_include(<%s>)\n#error missing\n#endif\n' "$header" |
        "${CXX:-c++}" -E -x c++ -std=c++20 - >/dev/null 2>&1; then
      return 0
    fi
  done
  return 1
}

has_command() { command -v "$1" >/dev/null 2>&1; }

has_module() { /usr/bin/python3 -c "import $1" >/dev/null 2>&1; }

# has_package NAME: what the package provides is there, whoever installed it.
has_package() {
  if has_command dpkg-query && dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; then
    return 0
  fi
  case $1 in
    g++) has_command "${CXX:-c++}" ;;
    cmake) has_command cmake ;;
    ninja-build) has_command ninja ;;
    libcli11-dev) has_header CLI/CLI.hpp ;;
    nlohmann-json3-dev) has_header nlohmann/json.hpp ;;
    libfmt-dev) has_header fmt/core.h ;;
    libhdf5-dev) has_header hdf5.h hdf5/serial/hdf5.h || has_command h5cc ;;
    zlib1g-dev) has_header zlib.h ;;
    libzstd-dev) has_header zstd.h ;;
    libopenmpi-dev) has_command mpicc ;;
    openmpi-bin) has_command mpirun ;;
    mpich) has_command mpiexec.mpich || has_command mpiexec.hydra ;;
    libmpich-dev) has_command mpicc.mpich || has_command mpichversion ;;
    python3-venv) has_module ensurepip ;;
    catch2) has_header catch2/catch.hpp catch2/catch_test_macros.hpp ;;
    librapidcheck-dev) has_header rapidcheck.h ;;
    slurmctld) has_command slurmctld || [ -x /usr/sbin/slurmctld ] ;;
    slurmd) has_command slurmd || [ -x /usr/sbin/slurmd ] ;;
    slurm-client) has_command srun ;;
    valgrind | mandoc | zsh | fish) has_command "$1" ;;
    clang-format | clang-tidy) has_command "$1" || has_command "$1-14" ;;
    python3-h5py) has_module h5py ;;
    python3-jsonschema) has_module jsonschema ;;
    *) return 1 ;;
  esac
}

# require_packages NAME…: install what is missing, or say what is needed and stop.
require_packages() {
  local package missing=() as_root=()
  for package in "$@"; do
    has_package "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    return 0
  fi
  if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo)
    if ! [ -t 0 ]; then
      as_root=(sudo -n)  # nobody is there to type a password
    fi
  fi
  if ! has_command apt-get || { [ ${#as_root[@]} -gt 0 ] && ! has_command sudo; }; then
    explain_missing "${missing[@]}"
    return 1
  fi
  echo "installing ${missing[*]}"
  if ! { "${as_root[@]}" apt-get update -qq &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null; }; then
    explain_missing "${missing[@]}"
    return 1
  fi
}

explain_missing() {
  if has_command apt-get; then
    echo "not found: $*; with administrator rights: apt-get install $*" >&2
  else
    echo "not found (by Debian's names): $*; CMake 3.25, g++ 12, HDF5 1.10 or newer of each" >&2
  fi
}

# frameworks_venv DIRECTORY REQUIREMENTS: a Python of its own with these packages, made anew when they change. Where it
# cannot be had, says why.
frameworks_venv() {
  local python found=
  if cmp -s "$2" "$1/requirements.txt"; then
    return 0
  fi
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      found=$python
      break
    fi
  done
  if [ -z "$found" ]; then
    echo "frameworks: skipped: found no Python of 3.11 or newer with venv (Debian: apt-get install python3-venv)"
    return 1
  fi
  echo "frameworks: installing $(grep -vc '^#' "$2") packages into $1"
  rm -rf "$1"
  # uv takes half of pip's processor time for these gigabytes, beside which the programs are being built; from its cache it links
  # them in seconds.
  if ! { "$found" -m venv "$1" && "$1/bin/pip" install -q --no-compile --disable-pip-version-check uv &&
      VIRTUAL_ENV=$1 "$1/bin/uv" pip install -q --native-tls -r "$2"; }; then
    rm -rf "$1"
    echo "frameworks: skipped: the packages of $2 cannot be had (the reason is above)"
    return 1
  fi
  cp "$2" "$1/requirements.txt"
}

# Open MPI refuses root and more ranks than cores unless told; a container usually is both. The second pair is Open MPI 5's.
mpi_environment() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
  export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
}

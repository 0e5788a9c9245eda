#pragma once

#include <cstddef>
#include <cstdint>

#include "processes/mpi/mpi_library.hpp"

// The binary interfaces of the two families of MPI libraries. Each family has kept its own for ten years, so that a
// program need not be compiled for a version. tests/mpi/abi_*.cpp compare them with the headers of either.
namespace ckpt {

/// Open MPI's: handles are pointers, and the constant ones are the addresses of objects in the library.
struct OpenMpiAbi {
  using Comm = struct OpenMpiComm*;
  using Request = struct OpenMpiRequest*;
  using Datatype = struct OpenMpiDatatype*;
  using Op = struct OpenMpiOp*;
  using Info = struct OpenMpiInfo*;
  using Errhandler = struct OpenMpiErrhandler*;
  struct Status {
    int source;
    int tag;
    int error;
    int cancelled;
    std::size_t bytes;
  };

  static constexpr int any_source = -1;
  static constexpr int shared_type = 0;        ///< MPI_COMM_TYPE_SHARED
  static constexpr int error_in_status = 18;   ///< MPI_ERR_IN_STATUS
  static constexpr std::uintptr_t ignore = 0;  ///< MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE

  Comm world = MpiSymbol("ompi_mpi_comm_world");
  Comm self = MpiSymbol("ompi_mpi_comm_self");
  Errhandler errors_return = MpiSymbol("ompi_mpi_errors_return");
  Datatype byte = MpiSymbol("ompi_mpi_byte");
  Datatype uint64 = MpiSymbol("ompi_mpi_uint64_t");
  Op sum = MpiSymbol("ompi_mpi_op_sum");
  Op max = MpiSymbol("ompi_mpi_op_max");
  Info no_info = MpiSymbol("ompi_mpi_info_null");
};

/// MPICH's, which Intel's, Cray's and MVAPICH's libraries share: handles are numbers.
struct MpichAbi {
  enum class Comm : int {};
  enum class Request : int {};
  enum class Datatype : int {};
  enum class Op : int {};
  enum class Info : int {};
  enum class Errhandler : int {};
  struct Status {
    int count_low;
    int count_high_and_cancelled;
    int source;
    int tag;
    int error;
  };

  static constexpr int any_source = -2;
  static constexpr int shared_type = 1;
  static constexpr int error_in_status = 17;
  static constexpr std::uintptr_t ignore = 1;

  static constexpr Comm world{0x44000000};
  static constexpr Comm self{0x44000001};
  static constexpr Errhandler errors_return{0x54000001};
  static constexpr Datatype byte{0x4c00010d};
  static constexpr Datatype uint64{0x4c00083e};
  static constexpr Op sum{0x58000003};
  static constexpr Op max{0x58000001};
  static constexpr Info no_info{0x1c000000};
};

/// MPI's functions that are used here, by the names that they have after "MPI_", and the constants.
template <class Abi>
struct MpiCalls : Abi {
  using typename Abi::Comm;
  using typename Abi::Datatype;
  using typename Abi::Errhandler;
  using typename Abi::Info;
  using typename Abi::Op;
  using typename Abi::Request;
  using typename Abi::Status;

  static constexpr int undefined = -32766;  ///< MPI_UNDEFINED, of both families
  static constexpr int thread_single = 0;
  static constexpr int thread_funneled = 1;
  static constexpr int thread_serialized = 2;
  static constexpr std::size_t longest_text = 8192;  ///< an error's or a version's; the most of both families

  /// Returns the functions of the library, which it opens at the first call. Throws peer.
  static const MpiCalls& instance() {
    static const MpiCalls calls;
    return calls;
  }
  static Status* no_status() noexcept {
    return reinterpret_cast<Status*>(Abi::ignore);  // NOLINT: it is what MPI defines it to be
  }
  /// Throws a peer error with MPI's message if a call did not succeed: check(barrier(comm), "MPI_Barrier").
  void check(int status, const char* call) const;

  int (*initialized)(int*) = MpiSymbol("MPI_Initialized");
  int (*init_thread)(int*, char***, int, int*) = MpiSymbol("MPI_Init_thread");
  int (*finalize)() = MpiSymbol("MPI_Finalize");
  int (*abort)(Comm, int) = MpiSymbol("MPI_Abort");
  int (*error_string)(int, char*, int*) = MpiSymbol("MPI_Error_string");
  int (*get_library_version)(char*, int*) = MpiSymbol("MPI_Get_library_version");
  int (*comm_set_errhandler)(Comm, Errhandler) = MpiSymbol("MPI_Comm_set_errhandler");
  int (*comm_dup)(Comm, Comm*) = MpiSymbol("MPI_Comm_dup");
  int (*comm_split_type)(Comm, int, int, Info, Comm*) = MpiSymbol("MPI_Comm_split_type");
  int (*comm_rank)(Comm, int*) = MpiSymbol("MPI_Comm_rank");
  int (*comm_size)(Comm, int*) = MpiSymbol("MPI_Comm_size");
  int (*comm_free)(Comm*) = MpiSymbol("MPI_Comm_free");
  int (*isend)(const void*, int, Datatype, int, int, Comm, Request*) = MpiSymbol("MPI_Isend");
  int (*irecv)(void*, int, Datatype, int, int, Comm, Request*) = MpiSymbol("MPI_Irecv");
  int (*recv)(void*, int, Datatype, int, int, Comm, Status*) = MpiSymbol("MPI_Recv");
  int (*iprobe)(int, int, Comm, int*, Status*) = MpiSymbol("MPI_Iprobe");
  int (*request_free)(Request*) = MpiSymbol("MPI_Request_free");
  int (*test)(Request*, int*, Status*) = MpiSymbol("MPI_Test");
  int (*testsome)(int, Request*, int*, int*, Status*) = MpiSymbol("MPI_Testsome");
  int (*ibcast)(void*, int, Datatype, int, Comm, Request*) = MpiSymbol("MPI_Ibcast");
  int (*iallgather)(const void*, int, Datatype, void*, int, Datatype, Comm, Request*) = MpiSymbol("MPI_Iallgather");
  int (*iallgatherv)(const void*, int, Datatype, void*, const int*, const int*, Datatype, Comm,
                     Request*) = MpiSymbol("MPI_Iallgatherv");
  int (*iallreduce)(const void*, void*, int, Datatype, Op, Comm, Request*) = MpiSymbol("MPI_Iallreduce");
  int (*ialltoall)(const void*, int, Datatype, void*, int, Datatype, Comm, Request*) = MpiSymbol("MPI_Ialltoall");
};

}  // namespace ckpt

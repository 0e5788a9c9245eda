// What either family's header says, beside mpi_abi.hpp: included once for each, with `Abi` defined. Nothing runs: a
// file that compiles is the test.
#include <mpi.h>

#include "mpi/same_call.hpp"

namespace ckpt {

using Status = Abi::Status;
using Calls = MpiCalls<Abi>;

static_assert(sizeof(Status) == sizeof(MPI_Status));
static_assert(offsetof(Status, source) == offsetof(MPI_Status, MPI_SOURCE));
static_assert(offsetof(Status, error) == offsetof(MPI_Status, MPI_ERROR));
static_assert(Abi::any_source == MPI_ANY_SOURCE);
static_assert(Abi::shared_type == MPI_COMM_TYPE_SHARED);
static_assert(Abi::error_in_status == MPI_ERR_IN_STATUS);
static_assert(MPI_SUCCESS == 0);
static_assert(Calls::undefined == MPI_UNDEFINED);
static_assert(Calls::thread_single == MPI_THREAD_SINGLE);
static_assert(Calls::thread_funneled == MPI_THREAD_FUNNELED);
static_assert(Calls::thread_serialized == MPI_THREAD_SERIALIZED);
static_assert(Calls::longest_text >= MPI_MAX_ERROR_STRING && Calls::longest_text >= MPI_MAX_LIBRARY_VERSION_STRING);
static_assert(passed_alike<Abi::Comm, MPI_Comm> && passed_alike<Abi::Request, MPI_Request>);

static_assert(same_call<decltype(&MPI_Initialized), decltype(Calls::initialized)>);
static_assert(same_call<decltype(&MPI_Init_thread), decltype(Calls::init_thread)>);
static_assert(same_call<decltype(&MPI_Finalize), decltype(Calls::finalize)>);
static_assert(same_call<decltype(&MPI_Abort), decltype(Calls::abort)>);
static_assert(same_call<decltype(&MPI_Error_string), decltype(Calls::error_string)>);
static_assert(same_call<decltype(&MPI_Get_library_version), decltype(Calls::get_library_version)>);
static_assert(same_call<decltype(&MPI_Comm_set_errhandler), decltype(Calls::comm_set_errhandler)>);
static_assert(same_call<decltype(&MPI_Comm_dup), decltype(Calls::comm_dup)>);
static_assert(same_call<decltype(&MPI_Comm_split_type), decltype(Calls::comm_split_type)>);
static_assert(same_call<decltype(&MPI_Comm_rank), decltype(Calls::comm_rank)>);
static_assert(same_call<decltype(&MPI_Comm_size), decltype(Calls::comm_size)>);
static_assert(same_call<decltype(&MPI_Comm_free), decltype(Calls::comm_free)>);
static_assert(same_call<decltype(&MPI_Isend), decltype(Calls::isend)>);
static_assert(same_call<decltype(&MPI_Irecv), decltype(Calls::irecv)>);
static_assert(same_call<decltype(&MPI_Recv), decltype(Calls::recv)>);
static_assert(same_call<decltype(&MPI_Iprobe), decltype(Calls::iprobe)>);
static_assert(same_call<decltype(&MPI_Request_free), decltype(Calls::request_free)>);
static_assert(same_call<decltype(&MPI_Test), decltype(Calls::test)>);
static_assert(same_call<decltype(&MPI_Testsome), decltype(Calls::testsome)>);
static_assert(same_call<decltype(&MPI_Ibcast), decltype(Calls::ibcast)>);
static_assert(same_call<decltype(&MPI_Iallgatherv), decltype(Calls::iallgatherv)>);
static_assert(same_call<decltype(&MPI_Iallgather), decltype(Calls::iallgather)>);
static_assert(same_call<decltype(&MPI_Iallreduce), decltype(Calls::iallreduce)>);
static_assert(same_call<decltype(&MPI_Ialltoall), decltype(Calls::ialltoall)>);

}  // namespace ckpt

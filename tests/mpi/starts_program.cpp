// starts_program COMMAND...: a rank that has joined its job starts a program by itself, while the others wait. The
// status is that program's.
#include <mpi.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::string command;
  for (int i = 1; i < argc; ++i) command += std::string(i > 1 ? " " : "") + argv[i];
  int status = 0;
  if (rank == 1) status = std::system(command.c_str());  // NOLINT: it is what is tested
  MPI_Bcast(&status, 1, MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Finalize();
  return WEXITSTATUS(status);
}

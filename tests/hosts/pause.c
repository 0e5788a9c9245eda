// Stands between a program and MPI (LD_PRELOAD): the call that PAUSE_IN names begins when the file PAUSE_UNTIL is there. Before, it makes the
// file PAUSE_UNTIL.HOST, so that a test knows where the process is.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void* begins(const char* call, const char* profiled) {
  const char* const chosen = getenv("PAUSE_IN");
  const char* const until = getenv("PAUSE_UNTIL");
  if (chosen && until && strcmp(chosen, call) == 0) {
    char host[256] = "", reached[4096];
    gethostname(host, sizeof host - 1);
    snprintf(reached, sizeof reached, "%s.%s", until, host);
    FILE* const file = fopen(reached, "w");
    if (file) fclose(file);
    while (access(until, F_OK) != 0) usleep(20000);
  }
  return dlsym(RTLD_DEFAULT, profiled);
}

int MPI_Init_thread(int* argc, char*** argv, int wanted, int* given) {
  int (*const call)(int*, char***, int, int*) = begins("MPI_Init_thread", "PMPI_Init_thread");
  return call(argc, argv, wanted, given);
}

int MPI_Comm_dup(void* comm, void** copy) {  // Open MPI's handles
  int (*const call)(void*, void**) = begins("MPI_Comm_dup", "PMPI_Comm_dup");
  return call(comm, copy);
}

int MPI_Finalize(void) {
  int (*const call)(void) = begins("MPI_Finalize", "PMPI_Finalize");
  return call();
}

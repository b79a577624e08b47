/* src/base/mpi.h: the table that libprevail-mpi.so (plugins/mpi) exports and src/base/mpi.c loads. */
#ifndef PV_SRC_MPI_H
#define PV_SRC_MPI_H

#include "prevail/base.h"

#define PV_MPI_SYMBOL "pv_mpi_plugin"
enum { PV_MPI_VERSION = 1, PV_MPI_TEXT = 200 };

typedef struct pv__mpi {
    uint32_t version, size; /* PV_MPI_VERSION, sizeof(pv__mpi) */
    /* Starts MPI and fills rank, size and gather of *ranks. *local: the number of ranks on this machine. about
     * [PV_MPI_TEXT]: the MPI implementation; if the function returns false, why it failed. */
    bool (*start)(pv_ranks *ranks, int *local, char *about);
    void (*stop)(bool together); /* ends MPI; if not all ranks have reached their end, aborts them all */
} pv__mpi;

#endif

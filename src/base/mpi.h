/* src/base/mpi.h: what libprevail-mpi.so (plugins/mpi) exports, and src/base/mpi.c takes: one table. */
#ifndef PV_SRC_MPI_H
#define PV_SRC_MPI_H

#include "prevail/base.h"

#define PV_MPI_SYMBOL "pv_mpi_plugin"
enum { PV_MPI_VERSION = 1, PV_MPI_TEXT = 200 };

typedef struct pv__mpi {
    uint32_t version, size; /* PV_MPI_VERSION, sizeof(pv__mpi) */
    /* Starts MPI. rank, size and gather of *ranks; *local: the ranks of this machine; about [PV_MPI_TEXT]: which MPI it
     * is. False: about says why not. */
    bool (*start)(pv_ranks *ranks, int *local, char *about);
    void (*stop)(bool together); /* ends it; where not all are at their end together, all of them at once */
} pv__mpi;

#endif

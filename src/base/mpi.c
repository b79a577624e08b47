/* Detects whether a launcher started several MPI processes, and loads the plug-in that uses MPI.
 *
 * The library is built without MPI. libprevail-mpi.so is built against the installed MPI and stays loaded until the
 * process ends.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "base/mpi.h"

static const char FILE_NAME[] = "libprevail-mpi.so";

/* Detects Open MPI's mpirun, the process managers of MPICH and Slurm, and a step of srun. Commands that run directly in
 * a batch script have none of these variables. */
int pv_mpi_processes(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        long size = text ? strtol(text, NULL, 10) : 0;
        if (size > 1 && size < 1000000000)
            return (int)size;
    }
    return 1;
}

static const pv__mpi *load(pv_ctx *ctx) {
    char path[PV_PLUGIN_PATH_SIZE], why[512];
    static const char remedy[] =
        "build prevail on a machine with mpicc, or name the plug-in's folder in PREVAIL_PLUGINS";
    void *library = pv__plugin_open(FILE_NAME, remedy, path, sizeof why, why);
    if (!library) {
        pv__fail(ctx, PV_ERR_USAGE, "MPI is not available: %s;\nor choose `ranks=none`", why);
        return NULL;
    }
    const pv__mpi *table = dlsym(library, PV_MPI_SYMBOL);
    if (table && table->version == PV_MPI_VERSION && table->size == sizeof *table)
        return table;
    pv__fail(ctx, PV_ERR_USAGE, "%s is %s:\nbuild both together, or choose `ranks=none`", path,
             table ? "for another version of prevail" : "not a plug-in of prevail");
    dlclose(library);
    return NULL;
}

/* The processors that this process may run on. If that is all of them, its share among the local ranks. */
static int threads_of(int local) {
    cpu_set_t set;
    long all = sysconf(_SC_NPROCESSORS_ONLN);
    int own = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)all;
    own = own >= all && local > 1 ? own / local : own;
    return own > 1 ? own : 1;
}

pv_status pv_ctx_set_mpi(pv_ctx *ctx, int *threads) {
    pv_ranks ranks = {0};
    int local = 1, started = pv_mpi_processes();
    char about[PV_MPI_TEXT] = "";
    const pv__mpi *mpi = load(ctx);
    if (!mpi)
        return PV_ERR_USAGE;
    if (!mpi->start(&ranks, &local, about))
        return pv__fail(ctx, PV_ERR_USAGE, "MPI did not start: %s;\nchoose `ranks=none` to run one process", about);
    if (ranks.size == 1 && started > 1) {
        mpi->stop(true);
        return pv__fail(ctx, PV_ERR_USAGE,
                        "%d processes were started, but %s sees one:\nstart them with the mpirun of that MPI", started,
                        about);
    }
    if (threads)
        *threads = threads_of(local);
    pv_status status = pv_ctx_set_ranks(ctx, &ranks);
    ctx->ranks.mpi = mpi;
    pv__log(ctx, PV_LOG_DEBUG, "rank %d of %d: %s", ranks.rank, ranks.size, about);
    return status;
}

/* libprevail-mpi.so: ranks of the MPI library it was compiled for. */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mpi.h"

/* MPI waits by polling at full speed, on a processor that another rank or thread may need. After a moment, which is
 * sufficient for ranks that are in step, this function polls with increasing pauses. */
static bool gather_now(const void *mine, size_t bytes, void *all) {
    enum { LOOKS = 2000, LONGEST = 100000 }; /* LOOKS: some tenths of a millisecond; LONGEST: in nanoseconds */
    MPI_Request request = MPI_REQUEST_NULL;
    struct timespec pause = {.tv_nsec = 1000};
    int done = 0;
    bool good =
        MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD, &request) == MPI_SUCCESS;
    for (long looks = 0; good && !done; looks++) {
        good = MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS;
        if (good && !done && looks > LOOKS) {
            nanosleep(&pause, NULL);
            pause.tv_nsec = pause.tv_nsec < LONGEST / 2 ? 2 * pause.tv_nsec : LONGEST;
        }
    }
    return MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && good;
}

/* MPI counts are ints, so larger messages are sent in pieces through a buffer. */
static bool gather_pieces(int size, const char *mine, size_t bytes, char *all) {
    const size_t most = 1 << 28;
    char *block = malloc(most * (size_t)size);
    bool good = block != NULL;
    for (size_t at = 0; good && at < bytes; at += most) {
        size_t piece = bytes - at < most ? bytes - at : most;
        good = gather_now(mine + at, piece, block);
        for (size_t r = 0; good && r < (size_t)size; r++)
            memcpy(all + r * bytes + at, block + r * piece, piece);
    }
    free(block);
    return good;
}

static bool gather(void *state, const void *mine, size_t bytes, void *all) {
    (void)state;
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (bytes > INT_MAX / 2)
        return gather_pieces(size, mine, bytes, all);
    return gather_now(mine, bytes, all);
}

static bool start(pv_ranks *ranks, int *local, char *about) {
    int begun, provided, length = 0;
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    MPI_Initialized(&begun);
    if (!begun && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        snprintf(about, PV_MPI_TEXT, "MPI_Init failed");
        return false;
    }
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    snprintf(about, PV_MPI_TEXT, "%.150s", text);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks->size);
    ranks->gather = gather;
    MPI_Comm own;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &own);
    MPI_Comm_size(own, local);
    MPI_Comm_free(&own);
    return true;
}

static void stop(bool together) {
    if (!together)
        MPI_Abort(MPI_COMM_WORLD, 1);
    else
        MPI_Finalize();
}

extern const pv__mpi pv_mpi_plugin;
const pv__mpi pv_mpi_plugin = {.version = PV_MPI_VERSION, .size = sizeof(pv__mpi), .start = start, .stop = stop};

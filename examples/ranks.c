// A fit shared by several ranks through a callback: here threads, elsewhere processes or machines.
// cc ranks.c $(pkg-config --cflags --libs prevail) -lpthread && ./a.out 2 study.csv outcome malignant prevalence 0.01
#include <prevail/prevail.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS_MAX = 64 };

typedef struct team {
    int size, settings;
    char **setting; // name, value, ...
    const char *data;
    pthread_barrier_t meet;
    const void *sent[RANKS_MAX];
    size_t calls, bytes; // of one rank: number of exchanges, bytes sent
} team;

typedef struct member {
    team *all;
    int rank;
    double seconds; // processor time
    unsigned char *model;
    size_t size;
    char message[512];
} member;

// The only function that the library needs: passes each rank's data to all, in the order of ranks.
static bool gather(void *state, const void *mine, size_t bytes, void *all) {
    const member *m = state;
    m->all->sent[m->rank] = mine;
    pthread_barrier_wait(&m->all->meet);
    for (int r = 0; r < m->all->size; r++)
        memcpy((char *)all + (size_t)r * bytes, m->all->sent[r], bytes);
    if (m->rank == 0) {
        m->all->calls++;
        m->all->bytes += bytes;
    }
    pthread_barrier_wait(&m->all->meet);
    return true;
}

static pv_status learn(pv_ctx *ctx, member *m, pv_settings **settings, pv_classifier **model) {
    const team *all = m->all;
    const pv_ranks ranks = {.rank = m->rank, .size = all->size, .state = m, .gather = gather};
    pv_status status = pv_ctx_set_ranks(ctx, &ranks);
    if (status == PV_OK)
        status = pv_fit_settings_new(ctx, settings);
    for (int i = 0; status == PV_OK && i + 1 < all->settings; i += 2)
        status = pv_settings_set(ctx, *settings, all->setting[i], all->setting[i + 1]);
    if (status == PV_OK)
        status = pv_learn(ctx, all->data, *settings, model);
    if (status == PV_OK)
        status = pv_classifier_to_bytes(ctx, *model, &m->model, &m->size);
    return pv_ranks_end(ctx, status); // also after a failure, because the others wait
}

static void *run(void *state) {
    member *m = state;
    pv_ctx *ctx;
    pv_settings *settings = NULL;
    pv_classifier *model = NULL;
    struct timespec used;
    if (pv_ctx_new(NULL, &ctx) != PV_OK)
        exit(1);
    pv_ctx_set_threads(ctx, 1);
    pv_status status = learn(ctx, m, &settings, &model);
    if (status != PV_OK)
        snprintf(m->message, sizeof m->message, "%s", pv_ctx_message(ctx));
    unsigned char *copy = m->model ? malloc(m->size) : NULL; // outlives the context
    if (copy)
        memcpy(copy, m->model, m->size);
    pv_bytes_free(ctx, m->model);
    m->model = copy;
    pv_classifier_free(ctx, model);
    pv_settings_free(ctx, settings);
    pv_ctx_free(ctx);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    m->seconds = (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
    return NULL;
}

int main(int argc, char **argv) {
    member members[RANKS_MAX] = {0};
    pthread_t thread[RANKS_MAX];
    int size = argc > 2 ? atoi(argv[1]) : 0, same = 1;
    if (size < 1 || size > RANKS_MAX || argc % 2 == 0)
        return fprintf(stderr, "usage: ranks RANKS DATA [NAME VALUE]...\n"), 2;
    team all = {.size = size, .data = argv[2], .setting = argv + 3, .settings = argc - 3};
    pthread_barrier_init(&all.meet, NULL, (unsigned)size);
    for (int r = 0; r < size; r++) {
        members[r] = (member){.all = &all, .rank = r};
        if (pthread_create(&thread[r], NULL, run, &members[r]) != 0)
            return 1;
    }
    for (int r = 0; r < size; r++)
        pthread_join(thread[r], NULL);
    if (members[0].message[0])
        return fprintf(stderr, "%s\n", members[0].message), 1;
    double most = 0;
    for (int r = 0; r < size; r++) {
        most = members[r].seconds > most ? members[r].seconds : most;
        same &= members[r].size == members[0].size && memcmp(members[r].model, members[0].model, members[0].size) == 0;
    }
    printf("ranks %d, processor seconds of the busiest %.2f, exchanges %zu, bytes sent by each %zu, models %s\n", size,
           most, all.calls, all.bytes, same ? "the same" : "DIFFERENT");
    FILE *file = fopen("ranks.model", "wb");
    bool written = file && fwrite(members[0].model, 1, members[0].size, file) == members[0].size;
    written = file && fclose(file) == 0 && written;
    for (int r = 0; r < size; r++)
        free(members[r].model);
    return same && written ? 0 : 1;
}

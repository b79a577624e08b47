/* The dictionary of a text column: open addressing with linear probing, at most three quarters full.
 *
 * The hash has a secret seed, so that no file can be crafted to cause collisions. Codes are in order of first
 * appearance for every seed; the seed affects only the slots.
 */
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/hash.h"
#include "data/data.h"

static uint64_t hash_of(const pv__dictionary *dictionary, const char *text, size_t length) {
    return pv__hash_seeded(text, length, dictionary->seed);
}

/* If the system cannot provide randomness (yet), uses the clock and memory addresses. */
static uint64_t draw_seed(const void *place) {
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed)
        return seed;
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t facts[] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, (uint64_t)(uintptr_t)place,
                              (uint64_t)(uintptr_t)&now};
    return pv__hash(facts, sizeof facts);
}

int32_t pv__dictionary_find(const pv__dictionary *dictionary, const pv_column *column, const char *text, size_t length,
                            uint64_t *hash) {
    *hash = hash_of(dictionary, text, length);
    if (dictionary->slots == 0)
        return -1;
    size_t mask = dictionary->slots - 1;
    for (size_t at = *hash & mask; dictionary->slot[at] != 0; at = (at + 1) & mask) {
        int32_t code = dictionary->slot[at] - 1;
        if (strncmp(column->level[code], text, length) == 0 && column->level[code][length] == '\0')
            return code;
    }
    return -1;
}

static void place(pv__dictionary *dictionary, int32_t code, uint64_t hash) {
    size_t mask = dictionary->slots - 1, at = hash & mask;
    while (dictionary->slot[at] != 0)
        at = (at + 1) & mask;
    dictionary->slot[at] = code + 1;
}

/* Frees the old slots before allocating new ones, which keeps the peak low: the slots can be rebuilt from the texts. */
static pv_status grow_slots(pv_ctx *ctx, pv__dictionary *dictionary, const pv_column *column) {
    size_t slots = dictionary->slots == 0 ? 16 : dictionary->slots * 2;
    if (dictionary->slots == 0)
        dictionary->seed = draw_seed(dictionary);
    pv__free(ctx, dictionary->slot);
    dictionary->slot = NULL;
    dictionary->slots = 0;
    PV_TRY(pv__alloc(ctx, slots, sizeof *dictionary->slot, &dictionary->slot));
    dictionary->slots = slots;
    for (int32_t code = 0; code < column->levels; code++)
        place(dictionary, code, hash_of(dictionary, column->level[code], strlen(column->level[code])));
    return PV_OK;
}

pv_status pv__dictionary_add(pv_ctx *ctx, pv__dictionary *dictionary, pv_column *column, const char *text,
                             size_t length, uint64_t hash) {
    size_t levels = (size_t)column->levels;
    if (column->levels == INT32_MAX - 1)
        return pv__fail(ctx, PV_ERR_INPUT, "column '%s' has more than 2147483646 different texts",
                        pv__show(column->name).text);
    if (4 * (levels + 1) > 3 * dictionary->slots) {
        bool first = dictionary->slots == 0;
        PV_TRY(grow_slots(ctx, dictionary, column));
        if (first) /* pv__dictionary_find had no seed yet */
            hash = hash_of(dictionary, text, length);
    }
    if (levels == dictionary->room) {
        size_t room = levels + levels / 2 + 8;
        PV_TRY(pv__resize(ctx, room, sizeof *column->level, &column->level));
        dictionary->room = room;
    }
    PV_TRY(pv__alloc(ctx, length + 1, 1, &column->level[levels]));
    memcpy(column->level[levels], text, length);
    place(dictionary, column->levels++, hash);
    return PV_OK;
}

void pv__dictionary_free(pv_ctx *ctx, pv__dictionary *dictionary) {
    pv__free(ctx, dictionary->slot);
    *dictionary = (pv__dictionary){0};
}

/* Dictionaries of text columns: codes in order of first appearance, and texts chosen to collide.
 */
#include <xxhash.h>

#include "data/data.h"
#include "fixture.h"

enum { TEXTS = 3000, SLOTS = 4096 }; /* this many slots hold at most three quarters as many texts */

static size_t steps_of(const pv__dictionary *dictionary, const pv_column *column) {
    size_t steps = 0, mask = dictionary->slots - 1;
    for (size_t at = 0; at < dictionary->slots; at++)
        if (dictionary->slot[at]) {
            const char *text = column->level[dictionary->slot[at] - 1];
            steps += (at - XXH3_64bits_withSeed(text, strlen(text), dictionary->seed)) & mask;
        }
    return steps;
}

/* Texts that all have the same slot with seed 0, and therefore in each smaller table too. */
static void test_flood(void **state) {
    (void)state;
    pv__dictionary dictionary = {0};
    pv_column column = {0};
    char text[24];
    uint64_t hash;
    for (unsigned long number = 0; column.levels < TEXTS; number++) {
        size_t length = (size_t)snprintf(text, sizeof text, "%lu", number);
        if (XXH3_64bits(text, length) % SLOTS != 0)
            continue;
        assert_int_equal(pv__dictionary_find(&dictionary, &column, text, length, &hash), -1);
        int32_t code = column.levels;
        ok(pv__dictionary_add(ctx, &dictionary, &column, text, length, hash));
        assert_int_equal(pv__dictionary_find(&dictionary, &column, text, length, &hash), code);
    }
    assert_int_equal(dictionary.slots, SLOTS);
    /* About 1.5 steps per text on average, with little variation; the attack would take TEXTS/2. */
    assert_true(steps_of(&dictionary, &column) < 20 * (size_t)TEXTS);
    pv_string_list_free(ctx, column.level, (size_t)column.levels);
    pv__dictionary_free(ctx, &dictionary);
}

static void test_seeds_differ(void **state) {
    (void)state;
    pv__dictionary dictionary[2] = {{0}};
    for (int i = 0; i < 2; i++) {
        pv_column column = {0};
        uint64_t hash;
        assert_int_equal(pv__dictionary_find(&dictionary[i], &column, "a", 1, &hash), -1);
        ok(pv__dictionary_add(ctx, &dictionary[i], &column, "a", 1, hash));
        assert_int_equal(pv__dictionary_find(&dictionary[i], &column, "a", 1, &hash), 0);
        pv_string_list_free(ctx, column.level, (size_t)column.levels);
    }
    assert_true(dictionary[0].seed != dictionary[1].seed);
    for (int i = 0; i < 2; i++)
        pv__dictionary_free(ctx, &dictionary[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flood), cmocka_unit_test(test_seeds_differ)};
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* Algorithms compared with other implementations: XXH3-64 with libxxhash, random streams with Random123, deflate and
 * CRC-32 with zlib. */
#include <Random123/philox.h>
#include <xxhash.h>
#include <zlib.h>

#include "base/hash.h"
#include "check.h"
#include "data/inflate.h"
#include "prevail/core.h"

enum { BYTES = 70000 };
static unsigned char bytes[BYTES];

static int fill(void **state) {
    (void)state;
    pv_rng rng = pv_rng_stream(1, 0, 0);
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)pv_rng_bits(&rng);
    return 0;
}

static void hash_of_every_length(void **state) {
    (void)state;
    for (size_t n = 0; n < 2600; n++) { /* past two blocks */
        uint64_t seed = UINT64_C(0x9E3779B97F4A7C15) * n;
        assert_int_equal(pv__hash(bytes + n % 9, n), XXH3_64bits(bytes + n % 9, n));
        assert_int_equal(pv__hash_seeded(bytes, n, seed), XXH3_64bits_withSeed(bytes, n, seed));
    }
    assert_int_equal(pv__hash(bytes, BYTES), XXH3_64bits(bytes, BYTES));
    assert_int_equal(pv__hash("", 0), UINT64_C(0x2d06800538d394c2)); /* from the specification */
}

static void hash_in_pieces(void **state) {
    (void)state;
    pv_rng rng = pv_rng_stream(2, 0, 0);
    for (int t = 0; t < 3000; t++) {
        size_t n = pv_rng_below(&rng, t % 3 ? 1200 : 20000), most = 1 + pv_rng_below(&rng, t % 2 ? 100 : 3000);
        pv__hasher hasher;
        pv__hasher_begin(&hasher);
        for (size_t at = 0, some; at < n; at += some) {
            some = pv_rng_below(&rng, most + 1);
            some = some < n - at ? some : n - at;
            pv__hasher_add(&hasher, bytes + at, some);
        }
        assert_int_equal(pv__hasher_end(&hasher), XXH3_64bits(bytes, n));
    }
}

/* Numbers are hashed as a little-endian machine has them, more of them than a piece takes. */
static void hash_of_numbers(void **state) {
    (void)state;
    for (size_t n = 0; n < 300; n += 23) {
        uint64_t number[300] = {0};
        uint32_t half[300] = {0};
        for (size_t i = 0; i < n * 8; i++)
            number[i / 8] |= (uint64_t)bytes[i] << i % 8 * 8;
        for (size_t i = 0; i < n * 4; i++)
            half[i / 4] |= (uint32_t)bytes[i] << i % 4 * 8;
        pv__hasher hasher, other;
        pv__hasher_begin(&hasher);
        pv__hasher_add_numbers(&hasher, number, sizeof *number, n);
        assert_int_equal(pv__hasher_end(&hasher), XXH3_64bits(bytes, n * 8));
        pv__hasher_begin(&other);
        pv__hasher_add_numbers(&other, half, sizeof *half, n);
        assert_int_equal(pv__hasher_end(&other), XXH3_64bits(bytes, n * 4));
    }
}

static void streams(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t seed = i * UINT64_C(0xD1342543DE82EF95), index = seed ^ seed >> 17;
        pv_rng rng = pv_rng_stream(seed, (uint32_t)(i % 100), index);
        for (uint32_t position = 0; position < 3; position++) {
            philox4x32_ctr_t counter = {{position, (uint32_t)(i % 100), (uint32_t)index, (uint32_t)(index >> 32)}};
            philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
            philox4x32_ctr_t block = philox4x32(counter, key);
            assert_int_equal(pv_rng_bits(&rng), (uint64_t)block.v[0] << 32 | block.v[1]);
            assert_int_equal(pv_rng_bits(&rng), (uint64_t)block.v[2] << 32 | block.v[3]);
        }
    }
}

static void checksum(void **state) {
    (void)state;
    uint32_t ours = 0;
    uLong theirs = 0;
    for (size_t at = 0, n = 0; at + n <= BYTES; at += n, n = (n * 7 + 1) % 501) {
        ours = pv__crc32(ours, bytes + at, n);
        theirs = crc32_z(theirs, bytes + at, n);
        assert_int_equal(ours, theirs);
    }
    assert_int_equal(pv__crc32(0, "123456789", 9), 0xCBF43926); /* from the standard */
}

/* ---- deflate ------------------------------------------------------------------------------------------------------
 */

static size_t deflated(const unsigned char *from, size_t n, int level, int strategy, bool gzip, unsigned char *to,
                       size_t room) {
    z_stream z = {.avail_in = (uInt)n, .avail_out = (uInt)room};
    memcpy(&z.next_in, &from, sizeof from); /* zlib only reads the input */
    z.next_out = to;
    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, gzip ? 31 : -15, 8, strategy), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return room - z.avail_out;
}

/* Steps with limited numbers of input and output bytes, until nothing more is produced. */
static pv__inflate_state unpack(const unsigned char *from, size_t n, bool gzip, size_t most, unsigned char *to,
                                size_t room, size_t *made) {
    static pv__inflater z;
    size_t given = 0;
    z.in_left = 0;
    pv__inflater_begin(&z, gzip);
    for (*made = 0;;) {
        if (z.in_left == 0) {
            z.in = from + given;
            z.in_left = most < n - given ? most : n - given;
            given += z.in_left;
        }
        size_t wanted = most < room - *made ? most : room - *made, before = z.in_left;
        z.out = to + *made;
        z.out_left = wanted;
        pv__inflate_state state = pv__inflater_step(&z);
        *made += wanted - z.out_left;
        if (state != PV_INFLATE_MORE || (z.out_left == wanted && z.in_left == before && given == n))
            return state;
    }
}

static size_t draw_text(pv_rng *rng, int kind, unsigned char *to, size_t n) {
    static const char *const words[] = {"0.25", ",", "female", "\n", "17", "-0.003", "NA", "control"};
    size_t at = 0;
    while (kind == 0 && at + 8 < n) {
        const char *word = words[pv_rng_below(rng, 8)];
        memcpy(to + at, word, strlen(word));
        at += strlen(word);
    }
    for (; at < n; at++)
        to[at] = kind == 1   ? (unsigned char)pv_rng_bits(rng)
                 : kind == 2 ? 'a'
                             : (unsigned char)(pv_rng_bits(rng) & pv_rng_bits(rng) & 63);
    return n;
}

static void inflates(void **state) {
    (void)state;
    enum { ROOM = 3 * BYTES };
    static unsigned char text[BYTES], packed[ROOM], ours[ROOM], theirs[ROOM];
    pv_rng rng = pv_rng_stream(3, 0, 0);
    for (int t = 0; t < (SANITIZED ? 200 : 1500); t++) {
        bool gzip = t % 2;
        size_t n = draw_text(&rng, t % 4, text, pv_rng_below(&rng, t % 7 ? 3000 : BYTES)), made,
               most = (size_t[]){1, 7, 999, ROOM}[t / 4 % 4];
        size_t size = deflated(text, n, (int)pv_rng_below(&rng, 10), (int)pv_rng_below(&rng, 5), gzip, packed, ROOM);
        assert_int_equal(unpack(packed, size, gzip, most, ours, ROOM, &made), PV_INFLATE_END);
        assert_int_equal(made, n);
        assert_memory_equal(ours, text, n);
        /* Damaged or truncated: the same result as zlib, and the same bytes. */
        size_t cut = t % 3 ? size : pv_rng_below(&rng, size + 1);
        packed[10 * gzip + pv_rng_below(&rng, size - 10 * gzip)] ^= (unsigned char)(1u << pv_rng_below(&rng, 8));
        pv__inflate_state verdict = unpack(packed, cut, gzip, most, ours, ROOM, &made);
        z_stream z = {.avail_in = (uInt)cut, .avail_out = ROOM};
        z.next_in = packed;
        z.next_out = theirs;
        assert_int_equal(inflateInit2(&z, gzip ? 31 : -15), Z_OK);
        int code = inflate(&z, Z_FINISH);
        inflateEnd(&z);
        if (z.avail_out == 0)
            continue;
        assert_int_equal(verdict, code == Z_STREAM_END   ? PV_INFLATE_END
                                  : code == Z_DATA_ERROR ? PV_INFLATE_DAMAGED
                                                         : PV_INFLATE_MORE);
        if (verdict != PV_INFLATE_DAMAGED) {
            assert_int_equal(made, ROOM - z.avail_out);
            assert_memory_equal(ours, theirs, made);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(hash_of_every_length),
                                       cmocka_unit_test(hash_in_pieces),
                                       cmocka_unit_test(hash_of_numbers),
                                       cmocka_unit_test(streams),
                                       cmocka_unit_test(checksum),
                                       cmocka_unit_test(inflates)};
    return cmocka_run_group_tests(tests, fill, NULL);
}

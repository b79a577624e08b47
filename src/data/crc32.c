/* CRC-32 of ISO 3309 by table lookup, in four independent lanes of eight bytes that are combined at the end.
 *
 * A table entry is the CRC of one byte followed by a number of zero bytes: 0 to 7, and 24 to 31, the distance from a
 * byte of a lane to the end of that lane's next eight. The CRC is linear: an entry is the XOR of the entries of its
 * bits.
 */
#include <string.h>

#include "data/inflate.h"

#define SUM(i, a, b, c, d, e, f, g, h)                                                                                 \
    (((i)&1 ? (a) : 0u) ^ ((i)&2 ? (b) : 0u) ^ ((i)&4 ? (c) : 0u) ^ ((i)&8 ? (d) : 0u) ^ ((i)&16 ? (e) : 0u) ^         \
     ((i)&32 ? (f) : 0u) ^ ((i)&64 ? (g) : 0u) ^ ((i)&128 ? (h) : 0u))
#define AFTER_0(i)                                                                                                     \
    SUM(i, 0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8, 0x76dc4190, 0xedb88320)
#define AFTER_1(i)                                                                                                     \
    SUM(i, 0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2, 0xf0794f05, 0x3b83984b)
#define AFTER_2(i)                                                                                                     \
    SUM(i, 0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0, 0x709a8dc0, 0xe1351b80)
#define AFTER_3(i)                                                                                                     \
    SUM(i, 0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e, 0x9b14583d, 0xed59b63b)
#define AFTER_4(i)                                                                                                     \
    SUM(i, 0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04, 0x58f35849, 0xb1e6b092)
#define AFTER_5(i)                                                                                                     \
    SUM(i, 0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536, 0x0f580a6c, 0x1eb014d8)
#define AFTER_6(i)                                                                                                     \
    SUM(i, 0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c, 0x440b7579, 0x8816eaf2)
#define AFTER_7(i)                                                                                                     \
    SUM(i, 0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256, 0x299dc2ed, 0x533b85da)
#define AFTER_24(i)                                                                                                    \
    SUM(i, 0xa58b900e, 0x9066265d, 0xfbbd4afb, 0x2c0b93b7, 0x5817276e, 0xb02e4edc, 0xbb2d9bf9, 0xad2a31b3)
#define AFTER_25(i)                                                                                                    \
    SUM(i, 0xe71da697, 0x154a4b6f, 0x2a9496de, 0x55292dbc, 0xaa525b78, 0x8fd5b0b1, 0xc4da6723, 0x52c5c807)
#define AFTER_26(i)                                                                                                    \
    SUM(i, 0x6e8c1b41, 0xdd183682, 0x61416b45, 0xc282d68a, 0x5e74ab55, 0xbce956aa, 0xa2a3ab15, 0x9e36506b)
#define AFTER_27(i)                                                                                                    \
    SUM(i, 0x01b5fd1d, 0x036bfa3a, 0x06d7f474, 0x0dafe8e8, 0x1b5fd1d0, 0x36bfa3a0, 0x6d7f4740, 0xdafe8e80)
#define AFTER_28(i)                                                                                                    \
    SUM(i, 0x6307d924, 0xc60fb248, 0x576e62d1, 0xaedcc5a2, 0x86c88d05, 0xd6e01c4b, 0x76b13ed7, 0xed627dae)
#define AFTER_29(i)                                                                                                    \
    SUM(i, 0x3c60e308, 0x78c1c610, 0xf1838c20, 0x38761e01, 0x70ec3c02, 0xe1d87804, 0x18c1f649, 0x3183ec92)
#define AFTER_30(i)                                                                                                    \
    SUM(i, 0x0ee7e8d1, 0x1dcfd1a2, 0x3b9fa344, 0x773f4688, 0xee7e8d10, 0x078c1c61, 0x0f1838c2, 0x1e307184)
#define AFTER_31(i)                                                                                                    \
    SUM(i, 0xf1da05aa, 0x38c50d15, 0x718a1a2a, 0xe3143454, 0x1d596ee9, 0x3ab2ddd2, 0x7565bba4, 0xeacb7748)
#define FOUR(entry, i) entry(i), entry((i) + 1), entry((i) + 2), entry((i) + 3)
#define SIXTEEN(entry, i) FOUR(entry, i), FOUR(entry, (i) + 4), FOUR(entry, (i) + 8), FOUR(entry, (i) + 12)
#define SIXTY_FOUR(entry, i)                                                                                           \
    SIXTEEN(entry, i), SIXTEEN(entry, (i) + 16), SIXTEEN(entry, (i) + 32), SIXTEEN(entry, (i) + 48)
#define TABLE(entry)                                                                                                   \
    { SIXTY_FOUR(entry, 0), SIXTY_FOUR(entry, 64), SIXTY_FOUR(entry, 128), SIXTY_FOUR(entry, 192) }

static const uint32_t near[8][256] = {TABLE(AFTER_0), TABLE(AFTER_1), TABLE(AFTER_2), TABLE(AFTER_3),
                                      TABLE(AFTER_4), TABLE(AFTER_5), TABLE(AFTER_6), TABLE(AFTER_7)};
static const uint32_t far[8][256] = {TABLE(AFTER_24), TABLE(AFTER_25), TABLE(AFTER_26), TABLE(AFTER_27),
                                     TABLE(AFTER_28), TABLE(AFTER_29), TABLE(AFTER_30), TABLE(AFTER_31)};

static inline uint64_t word(const unsigned char *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

static inline uint32_t look_up(const uint32_t table[8][256], uint64_t x) {
    return table[7][x & 255] ^ table[6][x >> 8 & 255] ^ table[5][x >> 16 & 255] ^ table[4][x >> 24 & 255] ^
           table[3][x >> 32 & 255] ^ table[2][x >> 40 & 255] ^ table[1][x >> 48 & 255] ^ table[0][x >> 56];
}

uint32_t pv__crc32(uint32_t crc, const void *bytes, size_t size) {
    const unsigned char *p = bytes;
    crc = ~crc;
    if (size >= 64) {
        uint32_t lane[4] = {crc, 0, 0, 0};
        for (; size >= 64; p += 32, size -= 32)
            for (size_t l = 0; l < 4; l++)
                lane[l] = look_up(far, lane[l] ^ word(p + 8 * l));
        crc = 0;
        for (size_t l = 0; l < 4; l++, p += 8, size -= 8)
            crc = look_up(near, (uint64_t)(crc ^ lane[l]) ^ word(p));
    }
    for (; size >= 8; p += 8, size -= 8)
        crc = look_up(near, crc ^ word(p));
    for (; size > 0; p++, size--)
        crc = crc >> 8 ^ near[0][(crc ^ *p) & 255];
    return ~crc;
}

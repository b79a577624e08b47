/* Decompression of deflate (RFC 1951) and gzip (RFC 1952).
 *
 * Input arrives in pieces of any size. Each unit of decoding (a header, a length, a symbol with its extra bits) needs
 * at most 48 bits; if the bits read ahead are not enough, it waits for the next step. Output goes through a buffer
 * whose last 32 KiB are kept for copies. Never more bytes are read ahead than gzip's trailer has, so no byte of a
 * following member is consumed.
 */
#include "data/inflate.h"

#include <string.h>

enum {
    GZIP_HEAD,
    GZIP_EXTRA_SIZE,
    GZIP_EXTRA,
    GZIP_NAME,
    GZIP_COMMENT,
    GZIP_CRC,
    BLOCK,
    STORED_SIZE,
    STORED,
    SIZES,
    CODE_LENGTHS,
    LENGTHS,
    SYMBOLS,
    TRAILER,
    TOTAL,
    ENDED,
    BAD
};
enum { FLAG_CRC = 2, FLAG_EXTRA = 4, FLAG_NAME = 8, FLAG_COMMENT = 16, FLAG_RESERVED = 0xE0 };
enum { BITS_MOST = 15, COPY_MOST = 258 };

/* ---- bits ---------------------------------------------------------------------------------------------------------
 */

static inline void read_ahead(pv__inflater *z) {
    if (z->in_left >= 8) {
        uint64_t word = 0;
        memcpy(&word, z->in, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        int bytes = (63 - z->held) >> 3;
        z->bits |= word << z->held;
        z->in += bytes;
        z->in_left -= (size_t)bytes;
        z->held += 8 * bytes;
        z->bits &= UINT64_MAX >> (64 - z->held) >> (z->held == 0);
        return;
    }
    while (z->held <= 55 && z->in_left > 0) {
        z->bits |= (uint64_t)*z->in++ << z->held;
        z->in_left--;
        z->held += 8;
    }
}

/* Reads ahead only as far as needed: n <= 32. */
static bool need(pv__inflater *z, int n) {
    while (z->held < n && z->in_left > 0) {
        z->bits |= (uint64_t)*z->in++ << z->held;
        z->in_left--;
        z->held += 8;
    }
    return z->held >= n;
}

static unsigned take(pv__inflater *z, int n) {
    unsigned value = (unsigned)(z->bits & (((uint64_t)1 << n) - 1));
    z->bits >>= n;
    z->held -= n;
    return value;
}

/* ---- codes ----------------------------------------------------------------------------------------------------------
 */

static unsigned reversed(unsigned code, int bits) {
    unsigned back = 0;
    for (; bits > 0; bits--, code >>= 1)
        back = back << 1 | (code & 1);
    return back;
}

/* False if the code is over- or under-subscribed, except for a single code of one bit. */
static bool make_codes(pv__huffman *h, const uint8_t *length, unsigned n) {
    unsigned from[BITS_MOST + 2] = {0}, code = 0;
    memset(h->count, 0, sizeof h->count);
    memset(h->fast, 0, sizeof h->fast);
    for (unsigned s = 0; s < n; s++)
        h->count[length[s]]++;
    int room = 1;
    for (int bits = 1; bits <= BITS_MOST; bits++) {
        room = 2 * room - h->count[bits];
        if (room < 0)
            return false;
        from[bits + 1] = from[bits] + h->count[bits];
    }
    if (room > 0 && (h->count[0] + 1u != n || h->count[1] != 1) && h->count[0] != n)
        return false;
    for (unsigned s = 0; s < n; s++)
        if (length[s])
            h->symbol[from[length[s]]++] = (uint16_t)s;
    for (unsigned bits = 1, at = 0; bits <= PV_INFLATE_FAST; bits++, code <<= 1)
        for (unsigned i = 0; i < h->count[bits]; i++, at++, code++)
            for (unsigned slot = reversed(code, (int)bits); slot < 1u << PV_INFLATE_FAST; slot += 1u << bits)
                h->fast[slot] = (uint16_t)((unsigned)h->symbol[at] << 4 | bits);
    return true;
}

/* The symbol at the start of the bits, and its length; a length above 15 means there is none. */
static inline unsigned decode(const pv__huffman *h, uint64_t bits, int *length) {
    unsigned found = h->fast[bits & ((1u << PV_INFLATE_FAST) - 1)];
    if (found) {
        *length = found & 15;
        return found >> 4;
    }
    unsigned code = 0, first = 0, at = 0;
    for (*length = 1; *length <= BITS_MOST; ++*length, bits >>= 1) {
        code |= (unsigned)(bits & 1);
        unsigned count = h->count[*length];
        if (code < first + count)
            return h->symbol[at + code - first];
        at += count;
        first = (first + count) << 1;
        code <<= 1;
    }
    return 0;
}

/* ---- blocks ---------------------------------------------------------------------------------------------------------
 */

static int fixed_codes(pv__inflater *z) {
    for (unsigned s = 0; s < 288; s++)
        z->length[s] = s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8;
    make_codes(&z->literal, z->length, 288);
    memset(z->length, 5, 32);
    make_codes(&z->distance, z->length, 32);
    return SYMBOLS;
}

static int begin_block(pv__inflater *z) {
    z->last = take(z, 1);
    switch (take(z, 2)) {
    case 0:
        take(z, z->held & 7);
        return STORED_SIZE;
    case 1:
        return fixed_codes(z);
    case 2:
        return SIZES;
    default:
        return BAD;
    }
}

/* Reads the lengths of the code-length codes, then of the codes. False: not enough input. */
static bool read_code_lengths(pv__inflater *z) {
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    for (; z->left < z->code_lengths; z->left++) {
        if (!need(z, 3))
            return false;
        z->length[order[z->left]] = (uint8_t)take(z, 3);
    }
    z->step = make_codes(&z->literal, z->length, 19) ? LENGTHS : BAD;
    z->left = 0;
    return true;
}

static bool read_lengths(pv__inflater *z) {
    static const struct { uint8_t bits, least; } repeat[3] = {{2, 3}, {3, 3}, {7, 11}};
    const unsigned all = z->literals + z->distances;
    while (z->left < all) {
        int bits;
        (void)need(z, 14);
        unsigned s = decode(&z->literal, z->bits, &bits), times = 1, value = s;
        int more = s >= 16 && bits <= BITS_MOST ? repeat[s - 16].bits : 0;
        if (bits <= BITS_MOST && bits + more > z->held)
            return false;
        if (bits > BITS_MOST) {
            z->step = BAD;
            return true;
        }
        take(z, bits);
        if (s >= 16) {
            times = repeat[s - 16].least + take(z, more);
            value = s == 16 && z->left > 0 ? z->length[z->left - 1] : 0;
        }
        if (times > all - z->left || (s == 16 && z->left == 0)) {
            z->step = BAD;
            return true;
        }
        memset(z->length + z->left, (int)value, times);
        z->left += times;
    }
    bool good = z->length[256] != 0 && make_codes(&z->literal, z->length, z->literals) &&
                make_codes(&z->distance, z->length + z->literals, z->distances);
    z->step = good ? SYMBOLS : BAD;
    return true;
}

/* Copies within the buffer; source and destination may overlap. */
static inline void copy(unsigned char *to, size_t back, unsigned length) {
    const unsigned char *from = to - back, *end = to + length;
    if (back >= 8) { /* the buffer has space for the excess */
        do {
            memcpy(to, from, 8);
            to += 8;
            from += 8;
        } while (to < end);
        return;
    }
    while (to < end)
        *to++ = *from++;
}

/* Decodes symbols until input or output space ends. False: not enough input. */
static bool read_symbols(pv__inflater *z) {
    static const uint16_t length_from[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                             31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t length_bits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                            2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const uint16_t back_from[30] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                           33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                           1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    while (z->made < PV_INFLATE_ROOM - COPY_MOST - 8) {
        if (z->held < 48)
            read_ahead(z);
        int used, more;
        unsigned s = decode(&z->literal, z->bits, &used);
        if (used <= BITS_MOST && used > z->held)
            return false;
        if (used > BITS_MOST || s > 285) {
            z->step = used > z->held ? z->step : BAD;
            return z->step == BAD;
        }
        if (s < 256) {
            z->buffer[z->made++] = (unsigned char)s;
            z->bits >>= used;
            z->held -= used;
            continue;
        }
        if (s == 256) {
            take(z, used);
            z->step = z->last ? TRAILER : BLOCK;
            return true;
        }
        uint64_t rest = z->bits >> used;
        unsigned length = length_from[s - 257] + (unsigned)(rest & ((1u << length_bits[s - 257]) - 1));
        used += length_bits[s - 257];
        rest = z->bits >> used;
        unsigned d = decode(&z->distance, rest, &more);
        int back_bits = more <= BITS_MOST && d < 30 ? (int)(d < 2 ? 0 : d / 2 - 1) : 0;
        if (used + (more <= BITS_MOST ? more : 0) + back_bits > z->held)
            return false;
        if (more > BITS_MOST || d >= 30) {
            z->step = BAD;
            return true;
        }
        size_t back = back_from[d] + (size_t)(rest >> more & ((1u << back_bits) - 1));
        if (back > z->made) {
            z->step = BAD;
            return true;
        }
        z->bits = rest >> (more + back_bits);
        z->held -= used + more + back_bits;
        copy(z->buffer + z->made, back, length);
        z->made += length;
    }
    return true;
}

static bool copy_stored(pv__inflater *z) {
    for (; z->left > 0 && z->held > 0 && z->made < PV_INFLATE_ROOM; z->left--)
        z->buffer[z->made++] = (unsigned char)take(z, 8);
    size_t some = PV_INFLATE_ROOM - z->made;
    some = some < z->left ? some : z->left;
    some = some < z->in_left ? some : z->in_left;
    if (some > 0)
        memcpy(z->buffer + z->made, z->in, some);
    z->in += some;
    z->in_left -= some;
    z->made += some;
    z->left -= (unsigned)some;
    if (z->left == 0)
        z->step = z->last ? TRAILER : BLOCK;
    return z->left == 0 || z->made == PV_INFLATE_ROOM;
}

/* ---- gzip -----------------------------------------------------------------------------------------------------------
 */

/* Reads n bytes of gzip's header into *value and adds them to the header's checksum. */
static bool header_bytes(pv__inflater *z, int n, unsigned *value) {
    if (!need(z, 8 * n))
        return false;
    *value = take(z, 8 * n);
    const unsigned char byte[4] = {(unsigned char)*value, (unsigned char)(*value >> 8), (unsigned char)(*value >> 16),
                                   (unsigned char)(*value >> 24)};
    z->crc = pv__crc32(z->crc, byte, (size_t)n);
    return true;
}

/* Reads the fixed part of the header, ten bytes, of which z->left have been read. */
static bool read_head(pv__inflater *z) {
    static const unsigned char magic[3] = {0x1f, 0x8b, 8};
    for (unsigned byte; z->left < 10; z->left++) {
        if (!header_bytes(z, 1, &byte))
            return false;
        if (z->left == 3)
            z->flags = byte;
        if ((z->left < 3 && byte != magic[z->left]) || (z->left == 3 && (byte & FLAG_RESERVED))) {
            z->step = BAD;
            return true;
        }
    }
    z->step = GZIP_EXTRA_SIZE;
    return true;
}

/* Skips a text up to its NUL. */
static bool skip_text(pv__inflater *z, unsigned flag, int then) {
    unsigned byte = z->flags & flag;
    while (byte)
        if (!header_bytes(z, 1, &byte))
            return false;
    z->step = then;
    return true;
}

static bool read_gzip(pv__inflater *z) {
    unsigned value, own;
    switch (z->step) {
    case GZIP_HEAD:
        return read_head(z);
    case GZIP_EXTRA_SIZE:
        z->left = 0;
        if ((z->flags & FLAG_EXTRA) && !header_bytes(z, 2, &z->left))
            return false;
        z->step = GZIP_EXTRA;
        return true;
    case GZIP_EXTRA:
        for (; z->left > 0; z->left--)
            if (!header_bytes(z, 1, &value))
                return false;
        z->step = GZIP_NAME;
        return true;
    case GZIP_NAME:
        return skip_text(z, FLAG_NAME, GZIP_COMMENT);
    case GZIP_COMMENT:
        return skip_text(z, FLAG_COMMENT, GZIP_CRC);
    default:
        own = z->crc & 0xFFFF;
        if ((z->flags & FLAG_CRC) && !header_bytes(z, 2, &value))
            return false;
        z->step = (z->flags & FLAG_CRC) && value != own ? BAD : BLOCK;
        z->crc = 0;
        return true;
    }
}

/* ---- steps ----------------------------------------------------------------------------------------------------------
 */

/* False: not enough input. */
static bool read_step(pv__inflater *z) {
    switch (z->step) {
    case BLOCK:
        if (!need(z, 3))
            return false;
        z->step = begin_block(z);
        return true;
    case STORED_SIZE:
        if (!need(z, 32))
            return false;
        z->left = take(z, 16);
        z->step = take(z, 16) == (z->left ^ 0xFFFF) ? STORED : BAD;
        return true;
    case STORED:
        return copy_stored(z);
    case SIZES:
        if (!need(z, 14))
            return false;
        z->literals = 257 + take(z, 5);
        z->distances = 1 + take(z, 5);
        z->code_lengths = 4 + take(z, 4);
        z->left = 0;
        memset(z->length, 0, 19);
        z->step = z->literals > 286 || z->distances > 30 ? BAD : CODE_LENGTHS;
        return true;
    case CODE_LENGTHS:
        return read_code_lengths(z);
    case LENGTHS:
        return read_lengths(z);
    case SYMBOLS:
        return read_symbols(z);
    case TRAILER:
    case TOTAL:
        take(z, z->held & 7);
        if (!z->gzip) {
            z->step = ENDED;
            return true;
        }
        if (!need(z, 32))
            return false;
        z->step = take(z, 32) != (z->step == TRAILER ? z->crc : z->total) ? BAD : z->step == TRAILER ? TOTAL : ENDED;
        return true;
    default:
        return read_gzip(z);
    }
}

/* Copies finished output to the caller. */
static void give(pv__inflater *z) {
    size_t some = z->made - z->given < z->out_left ? z->made - z->given : z->out_left;
    if (some == 0)
        return;
    memcpy(z->out, z->buffer + z->given, some);
    z->out += some;
    z->out_left -= some;
    z->given += some;
}

static void move_window(pv__inflater *z) {
    memmove(z->buffer, z->buffer + z->made - PV_INFLATE_WINDOW, PV_INFLATE_WINDOW);
    z->made = z->given = PV_INFLATE_WINDOW;
}

void pv__inflater_begin(pv__inflater *z, bool gzip) {
    z->gzip = gzip;
    z->step = gzip ? GZIP_HEAD : BLOCK;
    z->bits = 0;
    z->held = 0;
    z->left = z->flags = 0;
    z->crc = z->total = 0;
    z->made = z->given = 0;
}

pv__inflate_state pv__inflater_step(pv__inflater *z) {
    for (bool enough = true;;) {
        give(z);
        if (z->given < z->made || (!enough && z->step != BAD))
            return PV_INFLATE_MORE;
        if (z->step == BAD)
            return PV_INFLATE_DAMAGED;
        if (z->step == ENDED)
            return PV_INFLATE_END;
        if (z->made > PV_INFLATE_ROOM - COPY_MOST - 9)
            move_window(z);
        size_t before = z->made;
        bool body = z->step > BLOCK && z->step < TRAILER;
        enough = read_step(z);
        if (body && z->gzip && z->made > before) {
            z->crc = pv__crc32(z->crc, z->buffer + before, z->made - before);
            z->total += (uint32_t)(z->made - before);
        }
    }
}

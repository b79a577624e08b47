/* src/data/inflate.h: streaming decompression of deflate (RFC 1951) and gzip (RFC 1952); CRC-32. */
#ifndef PV_SRC_DATA_INFLATE_H
#define PV_SRC_DATA_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pv__inflate_state {
    PV_INFLATE_MORE,   /* needs more input or output space */
    PV_INFLATE_END,    /* end of the stream; for gzip, the input is consumed exactly up to there */
    PV_INFLATE_DAMAGED /* damaged input; the state does not change any more */
} pv__inflate_state;

enum {
    PV_INFLATE_FAST = 10,      /* bits of a code that are looked up in a table; longer ones are searched */
    PV_INFLATE_WINDOW = 32768, /* maximum distance of a copy */
    PV_INFLATE_ROOM = 2 * PV_INFLATE_WINDOW + 512
};

typedef struct pv__huffman {
    uint16_t fast[1 << PV_INFLATE_FAST]; /* 16 symbol + bits; 0: must be searched */
    uint16_t count[16];                  /* number of codes of each length */
    uint16_t symbol[288];                /* ordered by code */
} pv__huffman;

/* The caller sets the first four fields before each step, which advances them. */
typedef struct pv__inflater {
    const unsigned char *in;
    size_t in_left;
    unsigned char *out;
    size_t out_left;

    bool gzip;
    int step;
    uint64_t bits; /* bits read ahead */
    int held;
    bool last;            /* this is the last block */
    unsigned left, flags; /* bytes or lengths still to read; flags of gzip's header */
    unsigned literals, distances, code_lengths;
    uint32_t crc, total;
    uint8_t length[320];
    pv__huffman literal, distance;
    size_t made, given; /* positions in the buffer */
    unsigned char buffer[PV_INFLATE_ROOM];
} pv__inflater;

void pv__inflater_begin(pv__inflater *inflater, bool gzip); /* leaves in and out unchanged */
pv__inflate_state pv__inflater_step(pv__inflater *inflater);

uint32_t pv__crc32(uint32_t crc, const void *bytes, size_t size); /* crc: that of the preceding bytes; 0 at the start */

#endif

/* The wire format of protocol buffers: a field is its number and type as a varint, followed by a varint or by a length
 * and bytes.
 */
#include "export/protobuf.h"

#include <string.h>

enum { VARINT = 0, BYTES = 2 };

static void varint(pv__out *out, uint64_t value) {
    unsigned char byte[10];
    size_t n = 0;
    do {
        byte[n] = (unsigned char)(value & 0x7F);
        value >>= 7;
        byte[n++] |= value ? 0x80 : 0;
    } while (value);
    pv__out_add(out, byte, n);
}

static void key(pv__out *out, int field, int type) {
    varint(out, (uint64_t)field << 3 | (uint64_t)type);
}

void pv__pb_integer(pv__out *message, int field, int64_t value) {
    key(message, field, VARINT);
    varint(message, (uint64_t)value);
}

void pv__pb_bytes(pv__out *message, int field, const void *bytes, size_t size) {
    key(message, field, BYTES);
    varint(message, size);
    pv__out_add(message, bytes, size);
}

void pv__pb_text(pv__out *message, int field, const char *text) {
    pv__pb_bytes(message, field, text, strlen(text));
}

void pv__pb_part(pv__out *message, int field, pv__out *part) {
    pv__pb_bytes(message, field, part->bytes, part->size);
    if (message->status == PV_OK)
        message->status = part->status;
    pv__free(part->ctx, part->bytes);
    *part = (pv__out){.ctx = part->ctx};
}

void pv__pb_numbers(pv__out *message, int field, const double *value, size_t n, bool single) {
    size_t size = single ? sizeof(float) : sizeof(double);
    key(message, field, BYTES);
    varint(message, n * size);
    for (size_t i = 0; i < n && message->status == PV_OK; i++) {
        double swapped;
        float narrow = (float)value[i], turned;
        if (single)
            pv__out_add(message, pv__little_endian(&narrow, size, 1, &turned), size);
        else
            pv__out_add(message, pv__little_endian(&value[i], size, 1, &swapped), size);
    }
}

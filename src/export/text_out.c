/* Text and bytes that grow in memory: a file is written only when its content is complete. */
#include <math.h>
#include <string.h>

#include "export/export.h"

void pv__out_add(pv__out *out, const void *bytes, size_t size) {
    if (out->status != PV_OK || size == 0)
        return;
    if (size > out->room - out->size) {
        size_t room = out->room + out->room / 2 + size + 256;
        out->status = pv__resize(out->ctx, room, 1, &out->bytes);
        if (out->status != PV_OK)
            return;
        out->room = room;
    }
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

void pv__out_text(pv__out *out, const char *text) {
    pv__out_add(out, text, strlen(text));
}

void pv__out_format(pv__out *out, const char *format, ...) {
    char text[512]; /* callers format only numbers and short names */
    va_list arguments;
    va_start(arguments, format);
    int length = pv__vformat(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof text && out->status == PV_OK)
        out->status = pv__fail(out->ctx, PV_ERR_INTERNAL, "a line of an exported model is too long");
    else
        pv__out_text(out, text);
}

void pv__out_number(pv__out *out, double value) {
    char text[32];
    (void)pv_format_double(value, text, sizeof text);
    pv__out_text(out, text);
}

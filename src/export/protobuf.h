/* src/export/protobuf.h: writing protocol buffers. A message is a sequence of fields, each with its number. A nested
 * message is built first and then added as a field.
 */
#ifndef PV_SRC_PROTOBUF_H
#define PV_SRC_PROTOBUF_H

#include "export/export.h"

void pv__pb_integer(pv__out *message, int field, int64_t value);
void pv__pb_bytes(pv__out *message, int field, const void *bytes, size_t size);
void pv__pb_text(pv__out *message, int field, const char *text);
/* Adds a nested message as a field and empties it; a failure of the part becomes that of the message. */
void pv__pb_part(pv__out *message, int field, pv__out *part);
/* An array of numbers as one field of little-endian bytes, in double or single precision. */
void pv__pb_numbers(pv__out *message, int field, const double *value, size_t n, bool single);

#endif

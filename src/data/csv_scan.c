/* The CSV reader's input window and its scanner of fields. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/csv.h"

enum { BLOCK = 1 << 18, PADDING = 16 };

pv_status pv__input_open(pv_ctx *ctx, const char *path, pv__input *input) {
    *input = (pv__input){.name = path, .line = 1, .descriptor = STDIN_FILENO, .room = BLOCK};
    if (strcmp(path, "-") == 0) {
        input->name = "standard input";
    } else {
        PV_TRY(pv__file_open(ctx, path, &input->stream));
        input->descriptor = fileno(input->stream);
    }
    struct stat about;
    if (fstat(input->descriptor, &about) == 0 && S_ISREG(about.st_mode))
        input->expected = (uint64_t)about.st_size;
    pv__hasher_begin(&input->hash);
    return pv__alloc(ctx, BLOCK + PADDING, 1, &input->buffer);
}

void pv__input_close(pv_ctx *ctx, pv__input *input) {
    if (input->stream)
        fclose(input->stream);
    pv__free(ctx, input->buffer);
    pv__unpacker_free(ctx, input->unpacker);
    *input = (pv__input){0};
}

static size_t count_breaks(const char *from, const char *to) {
    size_t n = 0;
    while ((from = memchr(from, '\n', (size_t)(to - from)))) {
        n++;
        from++;
    }
    return n;
}

pv_status pv__read_some(pv_ctx *ctx, const char *name, int descriptor, char *to, size_t size, size_t *got) {
    ssize_t n;
    do {
        pv__waiting(ctx, true);
        n = pv__wait_readable(ctx, descriptor) ? read(descriptor, to, size) : 0;
        pv__waiting(ctx, false);
        if (pv__interrupted(ctx))
            return pv__fail_at(ctx, PV_ERR_INTERRUPTED, name, 0, 0, "reading was interrupted");
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return pv__fail_at(ctx, PV_ERR_PATH, name, 0, 0,
                           "cannot be read: %s;\ngive a readable file, such as a copy on another disk",
                           strerror(errno));
    *got = (size_t)n;
    return PV_OK;
}

/* Checks the first bytes, which tell whether the file is compressed. A pipe may deliver them one by one. */
static pv_status begin_reading(pv_ctx *ctx, pv__input *input) {
    enum { HEAD = 4 };
    size_t got = 1;
    while (input->end < HEAD && got > 0) {
        PV_TRY(pv__read_some(ctx, input->name, input->descriptor, input->buffer + input->end, input->room - input->end,
                             &got));
        input->end += got;
    }
    input->final = got == 0;
    if (!pv__is_packed(input->buffer, input->end))
        return PV_OK;
    PV_TRY(pv__unpacker_new(ctx, input->name, input->descriptor, input->buffer, input->end, &input->unpacker));
    input->end = 0;
    input->final = false;
    input->expected = 0; /* the size of the table is unknown */
    return PV_OK;
}

/* Fills the free part of the window; returns less only at the end of the file. */
static pv_status read_block(pv_ctx *ctx, pv__input *input) {
    size_t begin = input->end;
    if (input->read == 0 && input->from == 0 && begin == 0)
        PV_TRY(begin_reading(ctx, input));
    while (input->end < input->room && !input->final) {
        char *to = input->buffer + input->end;
        size_t room = input->room - input->end, got;
        if (input->unpacker)
            PV_TRY(pv__unpacker_read(ctx, input->unpacker, to, room, &got));
        else
            PV_TRY(pv__read_some(ctx, input->name, input->descriptor, to, room, &got));
        input->final = got == 0;
        input->end += got;
    }
    char *from = input->buffer + begin;
    size_t size = input->end - begin;
    input->read += size;
    pv__hasher_add(&input->hash, from, size);
    const char *zero = memchr(from, '\0', size);
    if (zero && begin == 0 && input->from == 0 && strncmp(from, "prevail-model ", 14) == 0)
        return pv__fail_at(ctx, PV_ERR_INPUT, input->name, 0, 0,
                           "is a prevail model, not data; the order is MODEL, then DATA");
    if (zero)
        return pv__fail_at(ctx, PV_ERR_INPUT, input->name, input->line + count_breaks(input->buffer, zero), 0,
                           "a NUL byte: this is not a CSV file; if it is compressed, unpack it; if it is UTF-16, save "
                           "it as UTF-8");
    return PV_OK;
}

pv_status pv__input_fill(pv_ctx *ctx, pv__input *input) {
    size_t left = input->end - input->at;
    memmove(input->buffer, input->buffer + input->at, left);
    input->at = 0;
    input->end = left;
    if (left > input->room / 2) {
        PV_TRY(pv__resize(ctx, 2 * input->room + PADDING, 1, &input->buffer));
        input->room *= 2;
    }
    PV_TRY(read_block(ctx, input));
    /* At the end of the file, read_block leaves space for the line break. */
    if (input->final && input->end > 0 && input->buffer[input->end - 1] != '\n') {
        input->buffer[input->end++] = '\n';
        input->mended = true;
    }
    memset(input->buffer + input->end, 0, PADDING);
    return PV_OK;
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

void pv__scanner_delimiter(pv__scanner *scanner, char delimiter) {
    scanner->delimiter = delimiter;
    memset(scanner->stop, 0, sizeof scanner->stop);
    scanner->stop[(unsigned char)delimiter] = 1;
    scanner->stop['\n'] = scanner->stop['\r'] = scanner->stop['\0'] = 1;
}

static const char *skip_blanks(const pv__scanner *scanner, const char *text) {
    while (*text == ' ' || (*text == '\t' && scanner->delimiter != '\t'))
        text++;
    return text;
}

bool pv__scan_blank(const pv__scanner *scanner, const char *text, const char **next) {
    text = skip_blanks(scanner, text);
    if (*text == '\r' && text[1] != '\0')
        text++;
    else if (*text == '\r')
        text = "";
    *next = *text == '\n' ? text + 1 : NULL;
    return *text == '\n' || *text == '\0';
}

static pv_status too_long(const pv__scanner *scanner, bool quoted) {
    return pv__fail_at(scanner->ctx, PV_ERR_INPUT, scanner->input->name, scanner->line, scanner->column,
                       "a field of more than 1 MiB%s",
                       quoted ? "; it begins with a quote that may lack its partner"
                              : ";\nlook for a missing delimiter or line end");
}

static pv_status scan_plain(pv__scanner *scanner, const char *text, pv__field *field) {
    const char *at = text;
    for (;; at++) {
        while (!scanner->stop[(unsigned char)*at])
            at++;
        if (*at != '\r' || at[1] == '\n' || at[1] == '\0')
            break; /* a carriage return elsewhere is part of the text */
    }
    if (at - text > PV__FIELD_MAX)
        return too_long(scanner, false);
    bool window_ends = *at == '\0' || (*at == '\r' && at[1] == '\0');
    field->next = window_ends ? NULL : at + (*at == '\r');
    while (at > text && (at[-1] == ' ' || at[-1] == '\t'))
        at--;
    field->text = text;
    field->length = (size_t)(at - text);
    return PV_OK;
}

/* Copies text [n] to the scratch, with "" replaced by ". */
static pv_status unescape(pv__scanner *scanner, const char *text, size_t n, pv__field *field) {
    if (n + 1 > scanner->scratch_room) {
        PV_TRY(pv__resize(scanner->ctx, 2 * n + 64, 1, &scanner->scratch));
        scanner->scratch_room = 2 * n + 64;
    }
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        scanner->scratch[used++] = text[i];
        i += text[i] == scanner->quote;
    }
    scanner->scratch[used] = '\0';
    field->text = scanner->scratch;
    field->length = used;
    return PV_OK;
}

/* text begins after the opening quote. */
static pv_status scan_quoted(pv__scanner *scanner, const char *text, pv__field *field) {
    const char *at = text;
    const char quote = scanner->quote;
    size_t breaks = 0;
    bool escaped = false;
    for (; *at != '\0' && (*at != quote || at[1] == quote); at++) {
        breaks += *at == '\n';
        if (*at == quote) {
            escaped = true;
            at++;
        }
    }
    field->next = NULL;
    if (at - text > PV__FIELD_MAX)
        return too_long(scanner, true);
    if (*at == '\0' && scanner->input->final)
        return pv__fail_at(scanner->ctx, PV_ERR_INPUT, scanner->input->name, scanner->line, scanner->column,
                           "the quoted field that begins here is never closed;\nadd the missing %s quote",
                           quote == '"' ? "double" : "single");
    if (*at == '\0')
        return PV_OK;
    const char *after = skip_blanks(scanner, at + 1);
    if (*after == '\0' || (*after == '\r' && after[1] == '\0'))
        return PV_OK;
    after += *after == '\r' && after[1] == '\n';
    if (*after != scanner->delimiter && *after != '\n') {
        size_t rest = strcspn(after, "\r\n");
        if (after[rest] == '\0' && !scanner->input->final && rest < sizeof(pv__shown))
            return PV_OK; /* the message should show the text, wherever blocks end */
        return pv__fail_at(scanner->ctx, PV_ERR_INPUT, scanner->input->name, scanner->line + breaks, scanner->column,
                           "text after a closing %s quote: '%s'; a quote inside a quoted field is written twice",
                           quote == '"' ? "double" : "single", pv__show_n(after, rest).text);
    }
    field->next = after;
    scanner->line += breaks;
    if (escaped)
        return unescape(scanner, text, (size_t)(at - text), field);
    field->text = text;
    field->length = (size_t)(at - text);
    return PV_OK;
}

pv_status pv__scan_field(pv__scanner *scanner, const char *text, pv__field *field) {
    text = skip_blanks(scanner, text);
    return *text == scanner->quote && *text ? scan_quoted(scanner, text + 1, field) : scan_plain(scanner, text, field);
}

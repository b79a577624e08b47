/* Text in messages, lists of names, sorted labels, CSV fields. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

/* Length in bytes of the UTF-8 character at text [n]; 0 if it is invalid. */
static size_t utf8_length(const unsigned char *text, size_t n) {
    size_t length = text[0] < 0x80 ? 1 : text[0] >= 0xF0 ? 4 : text[0] >= 0xE0 ? 3 : 2;
    if ((text[0] >= 0x80 && text[0] < 0xC2) || text[0] > 0xF4 || length > n)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    return length;
}

pv__shown pv__show_n(const char *text, size_t n) {
    static const char more[] = "...";
    pv__shown shown = {{0}};
    size_t used = 0, limit = sizeof shown.text - sizeof more;
    for (size_t i = 0; i < n;) {
        const unsigned char *at = (const unsigned char *)text + i;
        size_t length = utf8_length(at, n - i);
        bool plain = length > 0 && at[0] >= 0x20 && at[0] != 0x7F && !(length == 2 && at[0] == 0xC2 && at[1] < 0xA0);
        char escaped[8];
        if (at[0] == '\n' || at[0] == '\r' || at[0] == '\t')
            pv__format(escaped, sizeof escaped, "\\%c", at[0] == '\n' ? 'n' : at[0] == '\r' ? 'r' : 't');
        else
            pv__format(escaped, sizeof escaped, "\\x%02X", at[0]);
        size_t size = plain ? length : strlen(escaped);
        if (used + size > limit) {
            memcpy(shown.text + used, more, sizeof more);
            break;
        }
        memcpy(shown.text + used, plain ? (const char *)at : escaped, size);
        used += size;
        i += plain ? length : 1;
    }
    return shown;
}

pv__shown pv__show(const char *text) {
    return pv__show_n(text, strlen(text));
}

pv__shown pv__show_item(const char *name) {
    pv__shown shown = pv__show(name), item = {{0}};
    bool listed = strpbrk(name, ",\"") || name[0] == ' ' || (*name && name[strlen(name) - 1] == ' ');
    size_t used = 0, room = sizeof item.text - 4;
    if (strcmp(shown.text, name) != 0) { /* once escaped or cut, it is no longer the name */
        listed = false;
        name = shown.text;
    }
    if (listed)
        item.text[used++] = '"';
    for (; *name && used < room; name++) {
        if (*name == '`' || (*name == '"' && listed))
            item.text[used++] = *name;
        item.text[used++] = *name;
    }
    if (listed)
        item.text[used++] = '"';
    return *name ? shown : item;
}

void pv__join(char *const *words, size_t n, size_t most, char *joined, size_t size) {
    size_t used = 0, shown = n < most ? n : most;
    joined[0] = '\0';
    for (size_t i = 0; i < shown && used < size; i++) {
        int length = pv__format(joined + used, size - used, "%s%s", i == 0 ? "" : ", ", pv__show(words[i]).text);
        used += length > 0 ? (size_t)length : 0;
    }
    if (n > shown && used < size)
        pv__format(joined + used, size - used, " and %zu more", n - shown);
}

/* ---- lists of names ---------------------------------------------------------------------------------------------- */

void pv_string_list_free(pv_ctx *ctx, char **list, size_t n) {
    if (list)
        for (size_t i = 0; i < n; i++)
            pv__free(ctx, list[i]);
    pv__free(ctx, list);
}

bool pv__names_have(char *const *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

pv_status pv__names_copy(pv_ctx *ctx, const char *const *from, size_t n, char ***to) {
    PV_TRY(pv__alloc(ctx, n, sizeof **to, to));
    for (size_t i = 0; i < n; i++)
        PV_TRY(pv__strdup(ctx, from[i], &(*to)[i]));
    return PV_OK;
}

/* Copies one name at *text to name, which has at least strlen(*text) + 1 bytes, and moves *text past the comma or to
 * the end. */
static bool split_one(const char **text, char *name) {
    const char *at = *text;
    size_t n = 0;
    bool closed = true;
    at += strspn(at, " \t");
    if (*at == '"') {
        closed = false;
        for (at++; *at && !closed; at++)
            if (*at != '"')
                name[n++] = *at;
            else if (at[1] == '"')
                name[n++] = *at++;
            else
                closed = true;
        at += strspn(at, " \t");
    } else {
        for (; *at && *at != ','; at++)
            name[n++] = *at;
        while (n > 0 && (name[n - 1] == ' ' || name[n - 1] == '\t'))
            n--;
    }
    name[n] = '\0';
    bool good = closed && n > 0 && (*at == ',' || *at == '\0');
    *text = at + (*at == ',');
    return good && !(*at == ',' && at[1] == '\0'); /* a trailing comma means that a name is missing */
}

size_t pv__names_entries(const char *text) {
    size_t count = *text != '\0';
    bool quoted = false, begins = true;
    for (; *text; text++) {
        if (*text == '"' && quoted && text[1] == '"') {
            text++;
        } else if (*text == '"' && (quoted || begins)) {
            quoted = !quoted;
        } else if (*text == ',' && !quoted) {
            count++;
            begins = true;
            continue;
        }
        begins = begins && (*text == ' ' || *text == '\t');
    }
    return count;
}

pv_status pv__names_split(pv_ctx *ctx, const char *option, const char *text, char ***list, size_t *n) {
    *list = NULL;
    *n = 0;
    if (!text || *text == '\0')
        return PV_OK;
    size_t room = 1;
    for (const char *at = text; *at; at++)
        room += *at == ',';
    char *name = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, room, sizeof **list, list));
    PV_GOTO(done, pv__alloc(ctx, strlen(text) + 1, 1, &name));
    for (const char *at = text; *at;) {
        if (!split_one(&at, name)) {
            status =
                pv__fail(ctx, PV_ERR_USAGE,
                         "%s: '%s' is not a list of names;\nwrite A,B,C, in double quotes where a name has a comma",
                         option, pv__show(text).text);
            goto done;
        }
        if (!pv__names_have(*list, *n, name)) {
            PV_GOTO(done, pv__strdup(ctx, name, &(*list)[*n]));
            (*n)++;
        }
    }
done:
    pv__free(ctx, name);
    if (status != PV_OK) {
        pv_string_list_free(ctx, *list, *n);
        *list = NULL;
        *n = 0;
    }
    return status;
}

typedef struct named {
    const char *name;
    size_t index;
} named;

static int compare_named(const void *a, const void *b) {
    const named *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : (left->index > right->index) - (left->index < right->index);
}

pv_status pv__names_duplicate(pv_ctx *ctx, char *const *names, size_t n, size_t *at, size_t *earlier) {
    *at = *earlier = n;
    named *sorted;
    PV_TRY(pv__alloc(ctx, n, sizeof *sorted, &sorted));
    for (size_t i = 0; i < n; i++)
        sorted[i] = (named){names[i], i};
    qsort(sorted, n, sizeof *sorted, compare_named);
    for (size_t i = 1; i < n; i++)
        if (sorted[i].index < *at && strcmp(sorted[i - 1].name, sorted[i].name) == 0) {
            *at = sorted[i].index;
            *earlier = sorted[i - 1].index;
        }
    pv__free(ctx, sorted);
    return PV_OK;
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

typedef struct sortable {
    char *text;
    double value;
    int32_t index;
} sortable;

static int compare_bytes(const void *a, const void *b) {
    return strcmp(((const sortable *)a)->text, ((const sortable *)b)->text);
}

static int compare_values(const void *a, const void *b) {
    double left = ((const sortable *)a)->value, right = ((const sortable *)b)->value;
    int order = (left > right) - (left < right);
    return order != 0 ? order : compare_bytes(a, b);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Compares consecutive digits as one number; leading zeros break ties. */
static int compare_natural(const void *a, const void *b) {
    const char *left = ((const sortable *)a)->text, *right = ((const sortable *)b)->text;
    int below = (*right == '<') - (*left == '<');
    while (below == 0 && *left && *right) {
        if (is_digit(*left) && is_digit(*right)) {
            left += strspn(left, "0");
            right += strspn(right, "0");
            size_t n = strspn(left, "0123456789"), m = strspn(right, "0123456789");
            below = n != m ? (n > m) - (n < m) : strncmp(left, right, n);
            left += n;
            right += m;
            continue;
        }
        below = (*left > *right) - (*left < *right);
        left++;
        right++;
    }
    below = below ? below : (*left != '\0') - (*right != '\0');
    return below ? below : compare_bytes(a, b);
}

static pv_status sort_texts(pv_ctx *ctx, char **labels, int32_t n, int32_t *order,
                            int (*compare)(const void *, const void *)) {
    sortable *item;
    PV_TRY(pv__alloc(ctx, (size_t)n, sizeof *item, &item));
    bool numbers = true;
    for (int32_t i = 0; i < n; i++) {
        item[i] = (sortable){labels[i], 0, i};
        numbers = numbers && pv__number_parse(labels[i], strlen(labels[i]), &item[i].value);
    }
    qsort(item, (size_t)n, sizeof *item, numbers ? compare_values : compare);
    for (int32_t i = 0; i < n; i++) {
        labels[i] = item[i].text;
        if (order)
            order[i] = item[i].index;
    }
    pv__free(ctx, item);
    return PV_OK;
}

pv_status pv__labels_sort(pv_ctx *ctx, char **labels, int32_t n, int32_t *order) {
    return sort_texts(ctx, labels, n, order, compare_bytes);
}

pv_status pv__levels_sort(pv_ctx *ctx, char **levels, int32_t n, int32_t *order) {
    return sort_texts(ctx, levels, n, order, compare_natural);
}

int32_t pv__label_find(char *const *labels, int32_t n, const char *text, size_t length) {
    for (int32_t i = 0; i < n; i++)
        if (strncmp(labels[i], text, length) == 0 && labels[i][length] == '\0')
            return i;
    double wanted, value;
    if (pv__number_prefix(text, &wanted) != length || length == 0)
        return -1;
    for (int32_t i = 0; i < n; i++)
        if (pv__number_parse(labels[i], strlen(labels[i]), &value) && value == wanted)
            return i;
    return -1;
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

/* Quotes a field that the reader would otherwise change or misread: structural characters, blanks that it strips, a
 * delimiter that it might detect, a byte-order mark that it skips, the beginning of an archive (NPY's byte 0x93; others
 * have control characters). */
static bool needs_quotes(const char *text, size_t n) {
    bool quotes = n > 0 && (text[0] == ' ' || text[n - 1] == ' ' || text[0] == '\xEF' || text[0] == '\x93');
    for (size_t i = 0; i < n && !quotes; i++)
        quotes = (unsigned char)text[i] < ' ' || text[i] == ',' || text[i] == ';' || text[i] == '"';
    return quotes;
}

size_t pv_csv_quote(const char *text, char *quoted) {
    size_t n = strlen(text), at = 0;
    if (!needs_quotes(text, n)) {
        return (size_t)(stpcpy(quoted, text) - quoted);
    }
    quoted[at++] = '"';
    for (; *text; text++) {
        if (*text == '"')
            quoted[at++] = '"';
        quoted[at++] = *text;
    }
    quoted[at++] = '"';
    return at;
}

void pv_csv_field(void *stream, const char *text) {
    size_t n = strlen(text);
    if (!needs_quotes(text, n)) {
        fwrite(text, 1, n, stream);
        return;
    }
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

bool pv__text_begins(const char *text, const char *with) {
    for (; *with; text++, with++)
        if (pv__lower(*text) != pv__lower(*with))
            return false;
    return true;
}

bool pv__text_ends(const char *text, const char *with) {
    size_t length = strlen(text), tail = strlen(with);
    return length > tail && pv__text_begins(text + length - tail, with);
}

bool pv__text_contains(const char *text, const char *part) {
    for (; *text; text++)
        if (pv__text_begins(text, part))
            return true;
    return false;
}

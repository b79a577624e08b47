/* A CSV file read by several ranks: each parses the lines that begin in its share of the bytes, and all get all rows.
 *
 * A share starts after its first line break, which might lie within quotes. Therefore each share reports where its last
 * row ended. If that is where the next share began, for every pair of neighbours, then all shares began at a row, as
 * the first one did. Otherwise, and also if any row is malformed or two shares disagree about a column's type, every
 * rank reads the whole file, and errors are reported as in a single process.
 *
 * Levels are numbered in the order of the shares, which is their order of first appearance. Each rank hashes the whole
 * file, which serves to verify that all ranks have the same file.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/reduce.h"
#include "data/csv.h"
#include "data/schema_learn.h"

enum { SMALL = 1 << 16 }; /* bytes; smaller files are not divided */

typedef struct share {
    uint64_t sound;      /* no errors were found in it */
    uint64_t begin, end; /* file offsets of its first row and of the first row after it */
    uint64_t rows, lines;
    uint64_t plain; /* every line holds one row */
} share;

uint64_t pv__input_place(const pv__input *input) {
    size_t unused = input->end - input->at;
    return input->from + input->read - (unused - (input->mended && unused > 0));
}

static pv_status go_to(pv__reader *r, uint64_t place, size_t line) {
    pv__input *input = &r->input;
    if (lseek(input->descriptor, (off_t)place, SEEK_SET) < 0)
        return pv__fail_at(r->ctx, PV_ERR_PATH, input->name, 0, 0, "cannot be read from an offset");
    input->from = place;
    input->at = input->end = input->read = 0;
    input->final = input->mended = false;
    input->line = line;
    return pv__input_fill(r->ctx, input);
}

/* Skips past the next line break. */
static pv_status skip_line(pv__reader *r) {
    pv__input *input = &r->input;
    for (;;) {
        const char *from = input->buffer + input->at, *found = memchr(from, '\n', input->end - input->at);
        input->at = found ? (size_t)(found + 1 - input->buffer) : input->end;
        if (found || input->final)
            return PV_OK;
        PV_TRY(pv__input_fill(r->ctx, input));
    }
}

static void forget_rows(pv__reader *r) {
    for (size_t c = 0; c < r->table->columns; c++) {
        pv_column *column = &r->table->column[c];
        pv__free(r->ctx, column->number);
        pv__free(r->ctx, column->code);
        pv_string_list_free(r->ctx, column->level, (size_t)column->levels);
        column->number = NULL;
        column->code = NULL;
        column->level = NULL;
        column->levels = 0;
        r->kind[c] = PV__UNDECIDED;
        r->question[c] = false;
        pv__dictionary_free(r->ctx, &r->dictionary[c]);
    }
    pv__free(r->ctx, r->table->line);
    r->table->line = NULL;
    r->table->rows = 0;
}

/* Parses the rows of this rank's share. If there is any error, the share is not marked as sound. */
static pv_status read_share(pv__reader *r, uint64_t first, uint64_t size, share *own) {
    int rank, ranks = pv_ctx_ranks(r->ctx, &rank);
    uint64_t begin = first + pv__share_of(size - first, rank, ranks);
    size_t line = rank == 0 ? r->input.line : 2;
    pv_status status = PV_OK;
    if (rank > 0) {
        status = go_to(r, begin - 1, 1);
        if (status == PV_OK)
            status = skip_line(r);
        r->input.line = line;
    }
    r->until = rank + 1 < ranks ? first + pv__share_of(size - first, rank + 1, ranks) : UINT64_MAX;
    r->input.expected = (r->until < size ? r->until : size) - begin;
    pv__csv_room(r);
    own->begin = pv__input_place(&r->input);
    if (status == PV_OK)
        status = pv__csv_rows(r);
    if (status != PV_OK && status != PV_ERR_INPUT)
        return status;
    if (status != PV_OK) /* reported again, with more context, when the whole file is read */
        r->ctx->error = (pv_error){0};
    own->sound = status == PV_OK;
    own->end = pv__input_place(&r->input);
    own->rows = r->table->rows;
    own->lines = r->input.line - line;
    own->plain = !r->table->line;
    return PV_OK;
}

static bool fit_together(const share *all, int ranks) {
    bool sound = true;
    for (int i = 0; i < ranks; i++)
        sound = sound && all[i].sound && (i == 0 || all[i].begin == all[i - 1].end);
    return sound;
}

/* ---- what all ranks have read ------------------------------------------------------------------------------------ */

/* Determines each column's type from the first share that knows it; *agreed is false if two shares differ. */
static pv_status agree(pv__reader *r, int ranks, bool *agreed) {
    size_t n = r->table->columns;
    unsigned char *mine = NULL, *all = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(r->ctx, n, 2, &mine));
    PV_GOTO(done, pv__alloc(r->ctx, (size_t)ranks * n, 2, &all));
    for (size_t c = 0; c < n; c++) {
        mine[2 * c] = r->kind[c];
        mine[2 * c + 1] = r->question[c];
    }
    PV_GOTO(done, pv__gather(r->ctx, mine, 2 * n, all));
    for (size_t c = 0; c < n; c++)
        for (size_t i = 0; i < (size_t)ranks; i++) {
            unsigned char kind = all[(i * n + c) * 2];
            *agreed = *agreed && (r->kind[c] == PV__UNDECIDED || kind == PV__UNDECIDED || kind == r->kind[c]);
            r->kind[c] = r->kind[c] == PV__UNDECIDED ? kind : r->kind[c];
            r->question[c] |= all[(i * n + c) * 2 + 1] != 0;
        }
done:
    pv__free(r->ctx, mine);
    pv__free(r->ctx, all);
    return status;
}

static pv_status merge_numbers(pv__reader *r, pv_column *column) {
    size_t rows = r->table->rows, size;
    void *all;
    if (!column->number) { /* no numbers in this share */
        PV_TRY(pv__resize(r->ctx, rows, sizeof *column->number, &column->number));
        for (size_t i = 0; i < rows; i++)
            column->number[i] = (double)NAN;
    }
    PV_TRY(pv__collect(r->ctx, true, column->number, rows * sizeof *column->number, &all, &size));
    pv__free(r->ctx, column->number);
    column->number = all;
    column->type = PV_COLUMN_NUMBER;
    return PV_OK;
}

/* texts [size]: the levels of all shares, each with its NUL. Writes the codes of this rank's `own` levels, the first of
 * which has index `first`, to map. */
static pv_status number_levels(pv__reader *r, const char *texts, size_t size, size_t first, size_t own, int32_t *map,
                               pv_column *column, pv__dictionary *dictionary) {
    size_t at = 0;
    for (const char *text = texts; text < texts + size; text += strlen(text) + 1, at++) {
        uint64_t hash;
        size_t length = strlen(text);
        int32_t code = pv__dictionary_find(dictionary, column, text, length, &hash);
        if (code < 0) {
            code = column->levels;
            PV_TRY(pv__dictionary_add(r->ctx, dictionary, column, text, length, hash));
        }
        if (at >= first && at < first + own)
            map[at - first] = code;
    }
    return PV_OK;
}

/* Collects the levels of all ranks; *before: the number that precede this rank's own. */
static pv_status collect_levels(pv__reader *r, const pv_column *column, void **texts, size_t *size, size_t *before) {
    int rank, ranks = pv_ctx_ranks(r->ctx, &rank);
    size_t bytes = 0, at = 0;
    uint64_t own = (uint64_t)column->levels, *counts = NULL;
    char *mine = NULL;
    pv_status status;
    for (int32_t l = 0; l < column->levels; l++)
        bytes += strlen(column->level[l]) + 1;
    PV_GOTO(done, pv__alloc(r->ctx, (size_t)ranks, sizeof *counts, &counts));
    PV_GOTO(done, pv__alloc(r->ctx, bytes, 1, &mine));
    for (int32_t l = 0; l < column->levels; l++) {
        size_t length = strlen(column->level[l]) + 1;
        memcpy(mine + at, column->level[l], length);
        at += length;
    }
    PV_GOTO(done, pv__gather(r->ctx, &own, sizeof own, counts));
    status = pv__collect(r->ctx, true, mine, bytes, texts, size);
    *before = 0;
    for (int i = 0; i < rank; i++)
        *before += (size_t)counts[i];
done:
    pv__free(r->ctx, counts);
    pv__free(r->ctx, mine);
    return status;
}

static pv_status merge_texts(pv__reader *r, pv_column *column) {
    size_t rows = r->table->rows, size, before, codes;
    pv_column merged = {.name = column->name};
    pv__dictionary dictionary = {0};
    int32_t *map = NULL;
    void *texts = NULL, *all = NULL;
    pv_status status;
    PV_GOTO(done, collect_levels(r, column, &texts, &size, &before));
    PV_GOTO(done, pv__alloc(r->ctx, (size_t)column->levels + 1, sizeof *map, &map));
    PV_GOTO(done, number_levels(r, texts, size, before, (size_t)column->levels, map, &merged, &dictionary));
    if (!column->code)
        PV_GOTO(done, pv__resize(r->ctx, rows, sizeof *column->code, &column->code));
    for (size_t i = 0; i < rows; i++)
        column->code[i] = column->levels > 0 && column->code[i] >= 0 ? map[column->code[i]] : -1;
    PV_GOTO(done, pv__collect(r->ctx, true, column->code, rows * sizeof *column->code, &all, &codes));
    pv_string_list_free(r->ctx, column->level, (size_t)column->levels);
    pv__free(r->ctx, column->code);
    column->level = merged.level;
    column->levels = merged.levels;
    column->code = all;
    column->type = PV_COLUMN_TEXT;
    merged.level = NULL;
    merged.levels = 0;
done:
    pv_string_list_free(r->ctx, merged.level, (size_t)merged.levels);
    pv__dictionary_free(r->ctx, &dictionary);
    pv__free(r->ctx, map);
    pv__free(r->ctx, texts);
    return status;
}

/* Merges the line numbers of rows if they are not consecutive from line 2 on. */
static pv_status merge_lines(pv__reader *r, const share *all, int ranks, size_t header) {
    pv_table *table = r->table;
    int rank;
    size_t line = header, own_line = header, rows = 0, size;
    void *lines;
    bool plain = true;
    (void)pv_ctx_ranks(r->ctx, &rank);
    for (int i = 0; i < ranks; i++) {
        plain = plain && all[i].plain && (all[i].rows == 0 || line == rows + 2);
        own_line = i == rank ? line : own_line;
        line += (size_t)all[i].lines;
        rows += (size_t)all[i].rows;
    }
    if (plain)
        return PV_OK;
    bool given = table->line != NULL;
    if (!given)
        PV_TRY(pv__resize(r->ctx, table->rows, sizeof *table->line, &table->line));
    for (size_t i = 0; i < table->rows; i++)
        table->line[i] = rank == 0 && given ? table->line[i] : own_line + (given ? table->line[i] - 2 : i);
    PV_TRY(pv__collect(r->ctx, true, table->line, table->rows * sizeof *table->line, &lines, &size));
    pv__free(r->ctx, table->line);
    table->line = lines;
    return PV_OK;
}

static pv_status merge(pv__reader *r, const share *all, int ranks, size_t header) {
    pv_table *table = r->table;
    size_t rows = 0;
    for (size_t c = 0; c < table->columns; c++) {
        pv__dictionary_free(r->ctx, &r->dictionary[c]);
        if (r->kind[c] == PV__NUMBER)
            PV_TRY(merge_numbers(r, &table->column[c]));
        else if (r->kind[c] == PV__TEXT)
            PV_TRY(merge_texts(r, &table->column[c]));
    }
    PV_TRY(merge_lines(r, all, ranks, header));
    for (int i = 0; i < ranks; i++)
        rows += (size_t)all[i].rows;
    table->rows = r->capacity = rows;
    return PV_OK;
}

/* ---- the whole file ---------------------------------------------------------------------------------------------- */

static pv_status hash_file(pv__reader *r) {
    pv__input *input = &r->input;
    size_t got = 1;
    if (lseek(input->descriptor, 0, SEEK_SET) < 0)
        return pv__fail_at(r->ctx, PV_ERR_PATH, input->name, 0, 0, "cannot be read from its beginning");
    pv__hasher_begin(&input->hash);
    while (got > 0) {
        PV_TRY(pv__read_some(r->ctx, input->name, input->descriptor, input->buffer, input->room, &got));
        pv__hasher_add(&input->hash, input->buffer, got);
    }
    return PV_OK;
}

static pv_status share_rows(pv__reader *r, uint64_t size) {
    int ranks = pv_ctx_ranks(r->ctx, NULL);
    size_t header = r->input.line;
    uint64_t first = pv__input_place(&r->input);
    share own = {0}, *all;
    PV_TRY(pv__alloc(r->ctx, (size_t)ranks, sizeof *all, &all));
    pv_status status;
    PV_GOTO(done, read_share(r, first, size, &own));
    PV_GOTO(done, pv__gather(r->ctx, &own, sizeof own, all));
    bool together = fit_together(all, ranks);
    if (together)
        PV_GOTO(done, agree(r, ranks, &together));
    r->until = UINT64_MAX;
    if (together) {
        PV_GOTO(done, merge(r, all, ranks, header));
    } else {
        forget_rows(r);
        PV_GOTO(done, go_to(r, first, header));
        r->input.expected = size;
        pv__csv_room(r);
        PV_GOTO(done, pv__csv_rows(r));
    }
    status = hash_file(r);
done:
    pv__free(r->ctx, all);
    return status;
}

/* Hashes the options: ranks that read the same bytes with different options must not build one table. */
static uint64_t hash_form(const pv__reader *r) {
    const pv__csv_form *form = &r->form;
    const char marks[] = {r->scanner.delimiter, form->decimal, (char)form->usual};
    uint64_t hash = pv__hash_seeded(marks, sizeof marks, pv__hash(r->forced, r->table->columns));
    for (size_t i = 0; i < form->n_na; i++)
        hash = pv__hash_seeded(form->na[i], strlen(form->na[i]), hash);
    return hash;
}

pv_status pv__csv_share(pv__reader *r, bool *shared) {
    char data[80], way[80];
    const pv__input *input = &r->input;
    uint64_t size = input->expected;
    *shared = false;
    if (!pv__shares(r->ctx))
        return PV_OK;
    bool begun = r->ctx->ranks.begun;
    pv__format(data, sizeof data, "the data=%llu bytes, %zu columns\n", (unsigned long long)size, r->table->columns);
    pv__format(way, sizeof way, "the way they are read=%016llx\n", (unsigned long long)hash_form(r));
    pv_status status = pv__roles_compare(r->ctx, r->options ? r->options->roles : NULL, data, way);
    *shared = status == PV_OK && input->stream && !input->unpacker && !(r->options && r->options->spelling) &&
              size / SMALL >= (uint64_t)pv_ctx_ranks(r->ctx, NULL);
    if (*shared)
        status = share_rows(r, size);
    r->ctx->ranks.begun = begun;
    return status;
}

/* Tables: construction, lookup of columns, line numbers, hashes. */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "data/data.h"

void pv_table_free(pv_ctx *ctx, pv_table *table) {
    if (!table)
        return;
    for (size_t c = 0; !table->borrowed && table->column && c < table->columns; c++) {
        pv_column *column = &table->column[c];
        pv__free(ctx, column->name);
        pv__free(ctx, column->borrowed ? NULL : column->number);
        pv__free(ctx, column->code);
        pv__free(ctx, column->rank);
        pv_string_list_free(ctx, column->level, (size_t)column->levels);
    }
    pv__free(ctx, table->column);
    pv_archive_free(ctx, table->archive);
    pv__free(ctx, table->source);
    pv__free(ctx, table->borrowed ? NULL : table->line);
    pv__written_free(ctx, &table->written);
    pv__packed_close(ctx, table->packed);
    pv__free(ctx, table);
}

bool pv__listed(const char *const *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

pv_status pv__table_new(pv_ctx *ctx, const char *source, const char *const *names, size_t columns, size_t rows,
                        pv_table **table) {
    *table = NULL;
    pv_table *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    pv_status status;
    made->rows = rows;
    PV_GOTO(fail, pv__strdup(ctx, source, &made->source));
    PV_GOTO(fail, pv__alloc(ctx, columns, sizeof *made->column, &made->column));
    made->columns = columns;
    for (size_t c = 0; names && c < columns; c++)
        PV_GOTO(fail, pv__strdup(ctx, names[c], &made->column[c].name));
    *table = made;
    return PV_OK;
fail:
    pv_table_free(ctx, made);
    return status;
}

static pv_status take_column(pv_ctx *ctx, const pv_column *from, size_t n, const size_t *row, pv_column *to) {
    to->type = from->type;
    to->respelled = from->respelled;
    if (from->type == PV_COLUMN_NUMBER) {
        PV_TRY(pv__alloc(ctx, n, sizeof *to->number, &to->number));
        for (size_t i = 0; i < n; i++)
            to->number[i] = pv__cell_number(from, row[i]);
    }
    if (!from->code)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, n, sizeof *to->code, &to->code));
    for (size_t i = 0; i < n; i++)
        to->code[i] = from->code[row[i]];
    to->levels = from->levels; /* set first, so that a failed copy can be freed */
    if (from->rank) {
        PV_TRY(pv__alloc(ctx, (size_t)from->levels, sizeof *to->rank, &to->rank));
        memcpy(to->rank, from->rank, (size_t)from->levels * sizeof *to->rank);
    }
    return from->levels > 0 ? pv__names_copy(ctx, (const char *const *)from->level, (size_t)from->levels, &to->level)
                            : PV_OK;
}

pv_status pv_table_take(pv_ctx *ctx, const pv_table *table, size_t n, const size_t *row, pv_table **taken) {
    *taken = NULL;
    pv_table *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    pv_status status;
    made->rows = n;
    made->hash = table->hash;
    PV_GOTO(fail, pv__strdup(ctx, table->source, &made->source));
    PV_GOTO(fail, pv__alloc(ctx, n, sizeof *made->line, &made->line));
    for (size_t i = 0; i < n; i++)
        made->line[i] = pv_table_line(table, row[i]);
    PV_GOTO(fail, pv__alloc(ctx, table->columns, sizeof *made->column, &made->column));
    made->columns = table->columns;
    for (size_t c = 0; c < table->columns; c++) {
        PV_GOTO(fail, pv__strdup(ctx, table->column[c].name, &made->column[c].name));
        PV_GOTO(fail, take_column(ctx, &table->column[c], n, row, &made->column[c]));
    }
    *taken = made;
    return PV_OK;
fail:
    pv_table_free(ctx, made);
    return status;
}

size_t pv_table_line(const pv_table *table, size_t row) {
    return table->line ? table->line[row] : table->before + row + 2;
}

bool pv__cell_missing(const pv_column *column, size_t row) {
    return column->type == PV_COLUMN_NUMBER ? isnan(pv__cell_number(column, row)) : column->code[row] < 0;
}

uint64_t pv__table_hash(const pv_table *table) {
    pv__hasher state;
    pv__hasher_begin(&state);
    for (size_t c = 0; c < table->columns; c++) {
        const pv_column *column = &table->column[c];
        pv__hasher_add(&state, column->name, strlen(column->name) + 1);
        if (column->type == PV_COLUMN_NUMBER) {
            pv__hasher_add_numbers(&state, column->number, sizeof *column->number, table->rows);
            if (!column->code)
                continue;
        }
        pv__hasher_add_numbers(&state, column->code, sizeof *column->code, table->rows);
        for (int32_t i = 0; i < column->levels; i++)
            pv__hasher_add(&state, column->level[i], strlen(column->level[i]) + 1);
    }
    return pv__hasher_end(&state);
}

size_t pv__table_lookup(const pv_table *table, const char *name) {
    size_t c = 0;
    while (c < table->columns && strcmp(table->column[c].name, name) != 0)
        c++;
    return c;
}

void pv__table_suggest(pv_ctx *ctx, const pv_table *table, const char *given, char *text, size_t size) {
    text[0] = '\0';
    if (table->columns == 0)
        pv__format(text, size, "; there are none");
    char **names;
    if (table->columns == 0 || pv__alloc(ctx, table->columns, sizeof *names, &names) != PV_OK)
        return; /* the caller is about to report a more important error */
    for (size_t c = 0; c < table->columns; c++)
        names[c] = table->column[c].name;
    const char *near = pv_nearest(given, (const char *const *)names, table->columns);
    if (near) {
        pv__format(text, size, "; did you mean '%s'?", pv__show(near).text);
    } else {
        char joined[300];
        size_t most = 12;
        do /* if names are long, shows fewer of them and how many more there are */
            pv__join(names, table->columns, most, joined, sizeof joined);
        while (strlen(joined) + 1 == sizeof joined && --most > 0);
        pv__format(text, size, "; the columns are %s", joined);
    }
    pv__free(ctx, names);
}

pv_status pv_table_find(pv_ctx *ctx, const pv_table *table, const char *option, const char *name, size_t *column) {
    *column = pv__table_lookup(table, name);
    if (*column < table->columns)
        return PV_OK;
    char suggestion[340], first[80];
    pv__format(first, sizeof first, "%.70s.1", name);
    if (table->arrays && pv__table_lookup(table, first) < table->columns)
        return pv__fail_at(ctx, PV_ERR_USAGE, table->source, 0, 0,
                           "%s: the array '%s' has several numbers per row; %s, or name one of them, as in '%s'",
                           option, pv__show(name).text, "name readers' votes with `votes`", pv__show(first).text);
    pv__table_suggest(ctx, table, name, suggestion, sizeof suggestion);
    return pv__fail_at(ctx, PV_ERR_USAGE, table->source, 0, 0, "%s: there is no column '%s'%s", option,
                       pv__show(name).text, suggestion);
}

/* Tables in pieces: from an engine's stream, or as parts of a table that was read whole or is mapped. */
#include <string.h>

#include "data/query.h"

struct pv_pieces {
    pv__reading reading;
    pv__query query;
    pv__csv_form form;
    pv__arrow *arrow; /* NULL: there is a whole table */
    pv_table *whole;  /* NULL: there is a stream, or the table was already returned */
    size_t next;      /* its first row that was not yet returned */
    bool told;        /* as in pv_table */
};

void pv_pieces_free(pv_ctx *ctx, pv_pieces *pieces) {
    if (!pieces)
        return;
    pv__arrow_close(pieces->arrow);
    pv_table_free(ctx, pieces->whole);
    pv__csv_form_free(ctx, &pieces->form);
    pv__query_free(ctx, &pieces->query);
    pv__reading_free(ctx, &pieces->reading);
    pv__free(ctx, pieces);
}

static pv_status open_query(pv_ctx *ctx, pv_pieces *p) {
    struct ArrowArrayStream stream = {0};
    PV_TRY(pv__query_open(ctx, &p->query, &p->reading.options, &stream, &p->form));
    return pv__arrow_open(ctx, p->query.name, &p->reading.options, &stream, &p->arrow);
}

pv_status pv_pieces_open(pv_ctx *ctx, const char *path, const pv_csv_options *options, pv_pieces **pieces) {
    pv_pieces *p;
    *pieces = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *p, &p));
    pv_status status;
    PV_GOTO(done, pv__query_parse(ctx, path, &p->query));
    if (p->query.engine == PV__ENGINE_NONE) {
        PV_GOTO(done, pv_table_read(ctx, path, options, &p->whole));
    } else {
        PV_GOTO(done, pv__reading_new(ctx, options, &p->reading));
        p->reading.options.roles = NULL; /* replaced by lists */
        PV_GOTO(done, open_query(ctx, p));
    }
    *pieces = p;
    p = NULL;
done:
    pv_pieces_free(ctx, p);
    return status;
}

/* A table that shares the cells of the whole one. */
static pv_status take_part(pv_ctx *ctx, const pv_table *whole, size_t first, size_t rows, pv_table **part) {
    pv_table *made;
    PV_TRY(pv__table_new(ctx, whole->source, NULL, whole->columns, rows, &made));
    made->borrowed = true;
    made->before = first;
    made->piece = rows < whole->rows;
    made->hash = whole->hash;
    made->line = whole->line ? whole->line + first : NULL;
    made->packed = whole->packed ? pv__packed_share(whole->packed) : NULL;
    for (size_t c = 0; c < whole->columns; c++) {
        made->column[c] = whole->column[c];
        made->column[c].number = whole->column[c].number ? whole->column[c].number + first : NULL;
        made->column[c].single = whole->column[c].single ? whole->column[c].single + first : NULL;
        made->column[c].code = whole->column[c].code ? whole->column[c].code + first : NULL;
    }
    *part = made;
    return PV_OK;
}

static pv_status next_part(pv_ctx *ctx, pv_pieces *p, size_t rows, pv_table **table) {
    if (p->whole && p->whole->arrays) { /* images belong to the whole table */
        *table = p->whole;
        p->whole = NULL;
    }
    if (!p->whole)
        return PV_OK;
    if (p->next == p->whole->rows)
        return pv__packed_unchanged(ctx, p->whole);
    size_t left = p->whole->rows - p->next, n = left < rows ? left : rows;
    PV_TRY(take_part(ctx, p->whole, p->next, n, table));
    p->next += n;
    return PV_OK;
}

pv_status pv_pieces_next(pv_ctx *ctx, pv_pieces *pieces, size_t rows, pv_table **table) {
    *table = NULL;
    pv_status status = pieces->arrow ? pv__arrow_next(pieces->arrow, rows, table) : next_part(ctx, pieces, rows, table);
    if (status == PV_OK && *table && pieces->arrow)
        status = pv__query_finish(ctx, &pieces->reading.options, &pieces->form, *table);
    if (status != PV_OK) {
        pv_table_free(ctx, *table);
        *table = NULL;
    } else if (*table && (*table)->piece) {
        (*table)->told = &pieces->told;
    }
    return status;
}

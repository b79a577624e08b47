/* Probabilities and decisions as CSV, and the costs behind the decisions. */
#include "cli/predictions.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- text that grows --------------------------------------------------------------------------------------------- */

typedef struct text {
    char *bytes;
    size_t length, room;
} text;

static char *reserve(text *t, size_t more) {
    if (t->length + more > t->room) {
        t->room = 2 * (t->length + more) + 4096;
        t->bytes = cli_resize(t->bytes, t->room, 1);
    }
    return t->bytes + t->length;
}

static void add_byte(text *t, char byte) {
    *reserve(t, 1) = byte;
    t->length++;
}

static void add_field(text *t, const char *field) {
    char *at = reserve(t, 2 * strlen(field) + 2);
    t->length += pv_csv_quote(field, at);
}

static void add_number(text *t, double value) {
    t->length += (size_t)pv_format_double(value, reserve(t, 32), 32);
}

static void add_cell(text *t, const pv_column *column, size_t row) {
    if (column->type == PV_COLUMN_TEXT)
        add_field(t, column->code[row] >= 0 ? column->level[column->code[row]] : "");
    else if (!isnan(column->number[row]))
        add_number(t, column->number[row]);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

typedef struct writer {
    const cli_predictions *what;
    int32_t *decision; /* [rows], an action with costs, a label without */
    double *expected;  /* [rows] with costs */
} writer;

/* The columns that are written, in their order. */
typedef struct header {
    pv_output_column *column; /* [columns] */
    char **name;              /* [columns], theirs */
    size_t columns;
} header;

static void add_column(header *h, const char *prefix, const char *label, pv_column_type type) {
    size_t size = strlen(prefix) + strlen(label) + 1;
    char *name = cli_alloc(size, 1);
    snprintf(name, size, "%s%s", prefix, label);
    h->column = cli_resize(h->column, h->columns + 1, sizeof *h->column);
    h->name = cli_resize(h->name, h->columns + 1, sizeof *h->name);
    h->name[h->columns] = name;
    h->column[h->columns++] = (pv_output_column){name, type};
}

static header header_of(const cli_predictions *what) {
    header h = {0};
    for (size_t i = 0; i < what->copies; i++) {
        const pv_column *copied = &what->table->column[what->copy[i]];
        add_column(&h, copied->name, "", copied->type);
    }
    if (what->copies == 0)
        add_column(&h, "row", "", PV_COLUMN_NUMBER);
    for (size_t i = 0; i < what->extras; i++)
        add_column(&h, what->extra[i].name, "", what->extra[i].word ? PV_COLUMN_TEXT : PV_COLUMN_NUMBER);
    for (int y = 0; y < what->classes; y++)
        add_column(&h, "p__", what->labels[y], PV_COLUMN_NUMBER);
    for (int y = 0; what->lo && y < what->classes; y++) {
        add_column(&h, "lo__", what->labels[y], PV_COLUMN_NUMBER);
        add_column(&h, "hi__", what->labels[y], PV_COLUMN_NUMBER);
    }
    add_column(&h, "decision__", "", PV_COLUMN_TEXT);
    if (what->costs)
        add_column(&h, "cost__", "", PV_COLUMN_NUMBER);
    return h;
}

static void free_header(header *h) {
    for (size_t i = 0; i < h->columns; i++)
        free(h->name[i]);
    free(h->name);
    free(h->column);
}

static void add_header(text *t, const header *h) {
    for (size_t i = 0; i < h->columns; i++) {
        if (i > 0)
            add_byte(t, ',');
        add_field(t, h->column[i].name);
    }
    add_byte(t, '\n');
}

static void add_extra(text *t, const cli_extra *extra, size_t n) {
    add_byte(t, ',');
    if (extra->word)
        add_field(t, extra->word[extra->code[n]]);
    else
        t->length += (size_t)snprintf(reserve(t, 24), 24, "%lld", (long long)extra->code[n] + 1);
}

static void add_row(text *t, const writer *w, size_t n) {
    const cli_predictions *what = w->what;
    size_t classes = (size_t)what->classes, row = what->row ? what->row[n] : n;
    const double *p = what->p + n * classes;
    for (size_t i = 0; i < what->copies; i++) {
        if (i > 0)
            add_byte(t, ',');
        add_cell(t, &what->table->column[what->copy[i]], row);
    }
    if (what->copies == 0)
        t->length += (size_t)snprintf(reserve(t, 24), 24, "%zu", row + 1);
    for (size_t i = 0; i < what->extras; i++)
        add_extra(t, &what->extra[i], n);
    for (size_t y = 0; y < classes; y++) {
        add_byte(t, ',');
        add_number(t, p[y]);
    }
    for (size_t y = 0; what->lo && y < classes; y++) {
        add_byte(t, ',');
        add_number(t, what->lo[n * classes + y]);
        add_byte(t, ',');
        add_number(t, what->hi[n * classes + y]);
    }
    add_byte(t, ',');
    add_field(t, (what->costs ? what->costs->action : what->labels)[w->decision[n]]);
    if (what->costs) {
        add_byte(t, ',');
        add_number(t, w->expected[n]);
    }
    add_byte(t, '\n');
}

/* Blocks of rows, formatted by all threads, written in order, until interrupted (true) or the stream fails (false). */
static bool write_rows(cli_call *call, FILE *out, const writer *w) {
    enum { BLOCK = 8192 };
    int threads = pv_ctx_threads(call->ctx);
    size_t rows = w->what->rows, turn = (size_t)threads * BLOCK;
    text *texts = cli_alloc((size_t)threads, sizeof *texts);
    bool fine = true;
    for (size_t first = 0; first < rows && fine; first += turn) {
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(static) if (rows > BLOCK)
        for (int t = 0; t < threads; t++) {
            texts[t].length = 0;
            size_t begin = first + (size_t)t * BLOCK, end = begin + BLOCK < rows ? begin + BLOCK : rows;
            for (size_t n = begin; n < end; n++)
                add_row(&texts[t], w, n);
        }
        for (int t = 0; t < threads && fine; t++)
            fine = texts[t].length == 0 || fwrite(texts[t].bytes, 1, texts[t].length, out) == texts[t].length;
        if (pv_ctx_interrupted(call->ctx))
            break;
    }
    for (int t = 0; t < threads; t++)
        free(texts[t].bytes);
    free(texts);
    return fine;
}

static int write_to(cli_call *call, const writer *w, const header *h, const char *path) {
    pv_output output = {0};
    bool file = path && strcmp(path, "-") != 0;
    if (file) {
        pv_status status = pv_output_is_parquet(path) ? pv_output_check_parquet(call->ctx, path) : PV_OK;
        if (status == PV_OK)
            status = pv_output_open(call->ctx, path, &output);
        if (status != PV_OK)
            return cli_fail(call, status);
    }
    FILE *out = file ? output.stream : stdout;
    text names = {0};
    add_header(&names, h);
    errno = 0;
    bool fine = fwrite(names.bytes, 1, names.length, out) == names.length && write_rows(call, out, w);
    int cause = errno;
    free(names.bytes);
    if (pv_ctx_interrupted(call->ctx)) {
        if (file)
            pv_output_discard(call->ctx, &output);
        return cli_error(call, PV_ERR_INTERRUPTED, file ? path : "standard output", "writing was interrupted%s",
                         file ? "; what was there before is unchanged" : "");
    }
    if (!fine) {
        int code = cli_error(call, PV_ERR_WRITE, file ? output.path : "standard output",
                             "could not be written completely: %s%s", cause ? strerror(cause) : "the disk may be full",
                             file ? "; what was there before is unchanged" : "");
        if (file)
            pv_output_discard(call->ctx, &output);
        return code;
    }
    if (!file)
        return CLI_OK; /* cli_finish looks after standard output */
    pv_status status = pv_output_is_parquet(path) ? pv_output_commit_parquet(call->ctx, &output, h->columns, h->column)
                                                  : pv_output_commit(call->ctx, &output);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

int cli_write_predictions(cli_call *call, const cli_predictions *predictions, const char *output) {
    size_t rows = predictions->rows;
    writer w = {.what = predictions, .decision = cli_alloc(rows, sizeof *w.decision)};
    pv_status status;
    if (predictions->costs) {
        w.expected = cli_alloc(rows, sizeof *w.expected);
        status = pv_decide(call->ctx, predictions->costs, rows, predictions->p, w.decision, w.expected);
    } else {
        status = pv_decide_label(call->ctx, rows, predictions->classes, predictions->p, w.decision);
    }
    header h = header_of(predictions);
    int code = status == PV_OK ? write_to(call, &w, &h, output) : cli_fail(call, status);
    free_header(&h);
    free(w.decision);
    free(w.expected);
    return code;
}

/* ---- costs ------------------------------------------------------------------------------------------------------- */

int cli_read_costs(cli_call *call, const char *path, char *const *labels, int classes, pv_costs **costs) {
    *costs = NULL;
    if (!path)
        return CLI_OK;
    pv_status status = pv_costs_read(call->ctx, path, labels, classes, costs);
    if (status != PV_OK)
        return cli_fail(call, status);
    for (size_t a = 0; a < (*costs)->actions; a++)
        for (int y = 0; y < classes; y++) {
            double cost = (*costs)->cost[a * (size_t)classes + (size_t)y];
            if (cost < 0)
                cli_note(call, "note: %s: the cost of %s for label %s is %g; below 0 it is a gain", path,
                         (*costs)->action[a], labels[y], cost);
        }
    return CLI_OK;
}

/* The envelope's actions and thresholds; both are freed by the caller. */
static size_t envelope(const pv_costs *costs, size_t **action, double **threshold) {
    *action = cli_alloc(costs->actions, sizeof **action);
    *threshold = cli_alloc(costs->actions, sizeof **threshold);
    return pv_cost_thresholds(costs, *action, *threshold);
}

void cli_note_costs(cli_call *call, const pv_costs *costs, char *const *labels) {
    if (!costs || costs->classes != 2)
        return;
    size_t *action;
    double *threshold;
    size_t count = envelope(costs, &action, &threshold);
    for (size_t i = 0; i + 1 < count; i++)
        cli_note(call, "decision: %s below p(%s) = %.6g, %s from there on", costs->action[action[i]], labels[1],
                 threshold[i], costs->action[action[i + 1]]);
    for (size_t a = 0; a < costs->actions; a++) {
        bool used = false;
        for (size_t i = 0; i < count; i++)
            used = used || action[i] == a;
        if (!used)
            cli_note(call, "decision: %s is never the cheapest", costs->action[a]);
    }
    free(action);
    free(threshold);
}

json_t *cli_json_costs(const pv_costs *costs, char *const *labels) {
    if (!costs)
        return json_null();
    json_t *object = cli_json_object(), *names = cli_json_array();
    for (size_t a = 0; a < costs->actions; a++)
        cli_json_append(names, cli_json_text(costs->action[a]));
    cli_json_set(object, "actions", names);
    if (costs->classes != 2) {
        cli_json_set(object, "thresholds", json_null());
        return object;
    }
    size_t *action;
    double *threshold;
    size_t count = envelope(costs, &action, &threshold);
    json_t *list = cli_json_array();
    for (size_t i = 0; i + 1 < count; i++) {
        json_t *entry = cli_json_object();
        cli_json_set(entry, "label", cli_json_text(labels[1]));
        cli_json_set(entry, "at", cli_json_real(threshold[i]));
        cli_json_set(entry, "below", cli_json_text(costs->action[action[i]]));
        cli_json_set(entry, "from", cli_json_text(costs->action[action[i + 1]]));
        cli_json_append(list, entry);
    }
    cli_json_set(object, "thresholds", list);
    free(action);
    free(threshold);
    return object;
}

/* Probabilities and decisions as CSV, and the costs behind the decisions. */
#include "cli/predictions.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- growing text ------------------------------------------------------------------------------------------------ */

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

static void add_cell(text *t, const pv_table *table, size_t c, size_t row) {
    const pv_column *column = &table->column[c];
    if (column->type == PV_COLUMN_TEXT)
        add_field(t, column->code[row] >= 0 ? column->level[column->code[row]] : "");
    else if (!isnan(pv_table_number(table, c, row)))
        add_number(t, pv_table_number(table, c, row));
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

typedef struct writer {
    const cli_predictions *what;
    int32_t *decision; /* [rows], the action if there are costs, else the label */
    double *expected;  /* [rows] with costs */
} writer;

/* The output columns in order; they have cells [rows] if the piece becomes a table. */
typedef struct made {
    pv_column *column; /* [columns]; owns lists of levels, but not their texts */
    size_t columns;
    size_t rows;
    bool cells;
} made;

static pv_column *add_column(made *m, const char *prefix, const char *label, pv_column_type type) {
    size_t size = strlen(prefix) + strlen(label) + 1;
    char *name = cli_alloc(size, 1);
    snprintf(name, size, "%s%s", prefix, label);
    m->column = cli_resize(m->column, m->columns + 1, sizeof *m->column);
    pv_column *added = &m->column[m->columns++];
    *added = (pv_column){.name = name, .type = type};
    if (m->cells && type == PV_COLUMN_NUMBER)
        added->number = cli_alloc(m->rows, sizeof *added->number);
    else if (m->cells)
        added->code = cli_alloc(m->rows, sizeof *added->code);
    return added;
}

static void list_levels(pv_column *to, char *const *levels, size_t n) {
    to->level = cli_alloc(n, sizeof *to->level);
    to->levels = (int32_t)n;
    for (size_t i = 0; i < n; i++)
        to->level[i] = levels[i];
}

static void add_copy(made *m, const cli_predictions *what, size_t c) {
    const pv_column *from = &what->table->column[c];
    pv_column *to = add_column(m, from->name, "", from->type);
    if (from->type == PV_COLUMN_TEXT)
        list_levels(to, from->level, (size_t)from->levels);
    for (size_t n = 0; m->cells && n < m->rows; n++) {
        size_t row = what->row ? what->row[n] : n;
        if (to->number)
            to->number[n] = pv_table_number(what->table, c, row);
        else
            to->code[n] = from->code[row];
    }
}

static void add_numbers(made *m, const char *prefix, const cli_predictions *what, int label, const double *from) {
    pv_column *to = add_column(m, prefix, what->labels[label], PV_COLUMN_NUMBER);
    for (size_t n = 0; m->cells && n < m->rows; n++)
        to->number[n] = from[n * (size_t)what->classes + (size_t)label];
}

static void add_own(made *m, const cli_extra *extra) {
    pv_column *to = add_column(m, extra->name, "", extra->word ? PV_COLUMN_TEXT : PV_COLUMN_NUMBER);
    int32_t last = 0;
    for (size_t n = 0; m->cells && n < m->rows; n++) {
        last = extra->code[n] > last ? extra->code[n] : last;
        if (extra->word)
            to->code[n] = extra->code[n];
        else
            to->number[n] = (double)extra->code[n] + 1;
    }
    if (extra->word)
        list_levels(to, extra->word, (size_t)last + 1);
}

static void add_row_numbers(made *m, const cli_predictions *what) {
    pv_column *to = add_column(m, "row", "", PV_COLUMN_NUMBER);
    for (size_t n = 0; m->cells && n < m->rows; n++)
        to->number[n] = (double)(what->before + (what->row ? what->row[n] : n) + 1);
}

static made columns_of(const writer *w, bool cells) {
    const cli_predictions *what = w->what;
    made m = {.cells = cells, .rows = what->rows};
    for (size_t i = 0; i < what->copies; i++)
        add_copy(&m, what, what->copy[i]);
    if (what->copies == 0)
        add_row_numbers(&m, what);
    for (size_t i = 0; i < what->extras; i++)
        add_own(&m, &what->extra[i]);
    if (what->lp) {
        const pv_column *lp = add_column(&m, "lp__", "", PV_COLUMN_NUMBER);
        if (cells)
            memcpy(lp->number, what->lp, what->rows * sizeof *what->lp);
        return m;
    }
    for (int y = 0; y < what->classes; y++)
        add_numbers(&m, "p__", what, y, what->p);
    for (int y = 0; what->lo && y < what->classes; y++) {
        add_numbers(&m, "lo__", what, y, what->lo);
        add_numbers(&m, "hi__", what, y, what->hi);
    }
    if (what->undecided)
        return m;
    pv_column *decision = add_column(&m, "decision__", "", PV_COLUMN_TEXT);
    list_levels(decision, what->costs ? what->costs->action : what->labels,
                what->costs ? what->costs->actions : (size_t)what->classes);
    if (cells)
        memcpy(decision->code, w->decision, what->rows * sizeof *w->decision);
    if (!what->costs)
        return m;
    const pv_column *cost = add_column(&m, "cost__", "", PV_COLUMN_NUMBER);
    if (cells)
        memcpy(cost->number, w->expected, what->rows * sizeof *w->expected);
    return m;
}

static void free_columns(made *m) {
    for (size_t i = 0; i < m->columns; i++) {
        free(m->column[i].name);
        free(m->column[i].number);
        free(m->column[i].code);
        free(m->column[i].level);
    }
    free(m->column);
    *m = (made){0};
}

static void add_header(text *t, const made *m) {
    for (size_t i = 0; i < m->columns; i++) {
        if (i > 0)
            add_byte(t, ',');
        add_field(t, m->column[i].name);
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
    for (size_t i = 0; i < what->copies; i++) {
        if (i > 0)
            add_byte(t, ',');
        add_cell(t, what->table, what->copy[i], row);
    }
    if (what->copies == 0)
        t->length += (size_t)snprintf(reserve(t, 24), 24, "%zu", what->before + row + 1);
    for (size_t i = 0; i < what->extras; i++)
        add_extra(t, &what->extra[i], n);
    if (what->lp) {
        add_byte(t, ',');
        add_number(t, what->lp[n]);
        add_byte(t, '\n');
        return;
    }
    const double *p = what->p + n * classes;
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
    if (what->undecided) {
        add_byte(t, '\n');
        return;
    }
    add_byte(t, ',');
    add_field(t, (what->costs ? what->costs->action : what->labels)[w->decision[n]]);
    if (what->costs) {
        add_byte(t, ',');
        add_number(t, w->expected[n]);
    }
    add_byte(t, '\n');
}

/* Formats blocks of rows with all threads and writes them in order. True if interrupted; false if done or on write
 * errors. */
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

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* The state of writing: the pieces, and the decisions of the current one. */
typedef struct run {
    cli_call *call;
    const cli_pieces *pieces;
    bool begun; /* the first piece has been used */
    writer w;
    made made;      /* of the current piece, for Parquet */
    pv_table table; /* of the current piece, for Parquet */
    int code;       /* exit code of what has failed */
} run;

static void end_piece(run *r) {
    free(r->w.decision);
    free(r->w.expected);
    free_columns(&r->made);
    r->w = (writer){0};
}

static void add_decided(cli_decided *to, const writer *w) {
    const cli_predictions *what = w->what;
    const pv_costs *costs = what->costs;
    size_t k = (size_t)what->classes;
    double *sum = cli_alloc(k, sizeof *sum); /* sums of probabilities, by label */
    if (!to->count) {
        to->count = cli_alloc(costs->actions, sizeof *to->count);
        to->alone = cli_alloc(costs->actions, sizeof *to->alone);
    }
    to->rows += what->rows;
    for (size_t n = 0; n < what->rows; n++) {
        to->count[w->decision[n]]++;
        to->cost += w->expected[n];
        for (size_t y = 0; y < k; y++)
            sum[y] += what->p[n * k + y];
    }
    for (size_t a = 0; a < costs->actions; a++)
        for (size_t y = 0; y < k; y++)
            to->alone[a] += sum[y] * costs->cost[a * k + y];
    free(sum);
}

/* Begins the next piece and computes its decisions; `what` is NULL at the end. */
static int begin_piece(run *r) {
    const cli_pieces *pieces = r->pieces;
    bool more = !r->begun; /* the first was read already */
    int code = CLI_OK;
    end_piece(r);
    if (r->begun)
        code = pieces->read(r->call, pieces->state, &more);
    if (code == CLI_OK && more && r->begun)
        code = pieces->compute(r->call, pieces->state);
    if (code != CLI_OK || !more)
        return code;
    r->begun = true;
    const cli_predictions *what = pieces->show(pieces->state);
    r->w = (writer){.what = what, .decision = cli_alloc(what->rows, sizeof *r->w.decision)};
    pv_status status = PV_OK;
    if (what->lp) {
        return CLI_OK;
    } else if (what->costs) {
        r->w.expected = cli_alloc(what->rows, sizeof *r->w.expected);
        status = pv_decide(r->call->ctx, what->costs, what->rows, what->p, r->w.decision, r->w.expected);
        if (status == PV_OK && pieces->decided)
            add_decided(pieces->decided, &r->w);
    } else {
        status = pv_decide_label(r->call->ctx, what->rows, what->classes, what->p, r->w.decision);
    }
    return status == PV_OK ? CLI_OK : cli_fail(r->call, status);
}

/* A pv_pieces_source. */
static pv_status next_table(void *state, const pv_table **piece) {
    run *r = state;
    r->code = begin_piece(r);
    *piece = NULL;
    if (r->code != CLI_OK)
        return PV_ERR_INTERRUPTED; /* the error was already printed */
    if (!r->w.what)
        return PV_OK;
    r->made = columns_of(&r->w, true);
    r->table = (pv_table){.rows = r->made.rows, .columns = r->made.columns, .column = r->made.column};
    *piece = &r->table;
    return PV_OK;
}

static int write_parquet(run *r, const char *path) {
    pv_status status = pv_parquet_write(r->call->ctx, path, next_table, r);
    return status == PV_OK || r->code != CLI_OK ? r->code : cli_fail(r->call, status);
}

static int write_csv(run *r, FILE *out, const char *path, bool file) {
    text names = {0};
    bool fine = true;
    errno = 0;
    for (bool first = true; fine; first = false) {
        int code = begin_piece(r);
        if (code != CLI_OK || !r->w.what)
            return code;
        if (first) {
            made header = columns_of(&r->w, false);
            add_header(&names, &header);
            fine = fwrite(names.bytes, 1, names.length, out) == names.length;
            free_columns(&header);
            free(names.bytes);
        }
        fine = fine && write_rows(r->call, out, &r->w);
        if (pv_ctx_interrupted(r->call->ctx))
            return cli_error(r->call, PV_ERR_INTERRUPTED, path, "writing was interrupted%s",
                             file ? "; what was there before is unchanged" : "");
    }
    return cli_error(r->call, PV_ERR_WRITE, path, "could not be written completely: %s%s",
                     errno ? strerror(errno) : "the disk may be full",
                     file ? "; what was there before is unchanged" : "");
}

static int write_file(run *r, const char *path) {
    pv_output output = {0};
    pv_status status = pv_output_open(r->call->ctx, path, &output);
    if (status != PV_OK)
        return cli_fail(r->call, status);
    int code = write_csv(r, output.stream, output.path, true);
    status = code == CLI_OK ? pv_output_commit(r->call->ctx, &output) : PV_OK;
    if (status != PV_OK)
        code = cli_fail(r->call, status);
    pv_output_discard(r->call->ctx, &output);
    return code;
}

static bool to_file(const char *output) {
    return output && strcmp(output, "-") != 0;
}

bool cli_replaces_file(const char *output) {
    struct stat about;
    return to_file(output) && (stat(output, &about) != 0 || S_ISREG(about.st_mode));
}

int cli_check_output(cli_call *call, const char *output) {
    pv_status status = to_file(output) && pv_output_is_parquet(output) ? pv_parquet_check(call->ctx, output) : PV_OK;
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

int cli_write_pieces(cli_call *call, const cli_pieces *pieces, const char *output) {
    run r = {.call = call, .pieces = pieces};
    int code = !to_file(output)
                   ? write_csv(&r, stdout, "standard output", false) /* cli_finish checks for write errors */
                   : (pv_output_is_parquet(output) ? write_parquet : write_file)(&r, output);
    end_piece(&r);
    return code;
}

/* There is only one piece. */
static int read_none(cli_call *call, void *state, bool *more) {
    (void)call;
    (void)state;
    *more = false;
    return CLI_OK;
}

static int compute_none(cli_call *call, void *state) {
    (void)call;
    (void)state;
    return CLI_OK;
}

static const cli_predictions *show_alone(void *state) {
    return *(const cli_predictions *const *)state;
}

int cli_write_predictions(cli_call *call, const cli_predictions *predictions, const char *output) {
    const cli_pieces alone = {.read = read_none, .compute = compute_none, .show = show_alone, .state = &predictions};
    return cli_write_pieces(call, &alone, output);
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
                cli_note(call, "note: %s: the cost of %s for label %s is %g; a negative cost is a gain", path,
                         (*costs)->action[a], labels[y], cost);
        }
    return CLI_OK;
}

/* The actions and thresholds of the lower envelope; the caller frees both. */
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

void cli_note_decided(cli_call *call, const pv_costs *costs, const cli_decided *decided) {
    if (!costs || !decided->count)
        return;
    for (size_t a = 0; a < costs->actions; a++)
        cli_note(call, "decision: %s for %zu of %zu rows; for all rows it would cost %.6g", costs->action[a],
                 decided->count[a], decided->rows, decided->alone[a]);
    cli_note(call, "expected total cost of the decisions: %.6g, %.4g per row", decided->cost,
             decided->cost / (double)decided->rows);
}

pv_result *cli_json_decided(const pv_costs *costs, const cli_decided *decided) {
    if (!costs || !decided->count)
        return pv__value_null();
    pv_result *object = pv__value_object(), *count = pv__value_object(), *alone = pv__value_object();
    for (size_t a = 0; a < costs->actions; a++) {
        pv__value_set(count, costs->action[a], pv__value_integer((int64_t)decided->count[a]));
        pv__value_set(alone, costs->action[a], pv__value_real(decided->alone[a]));
    }
    pv__value_set(object, "count", count);
    pv__value_set(object, "expected_cost", pv__value_real(decided->cost));
    pv__value_set(object, "expected_cost_for_all", alone);
    return object;
}

void cli_decided_free(cli_decided *decided) {
    free(decided->count);
    free(decided->alone);
    *decided = (cli_decided){0};
}

pv_result *cli_json_costs(const pv_costs *costs, char *const *labels) {
    if (!costs)
        return pv__value_null();
    pv_result *object = pv__value_object(), *names = pv__value_list();
    for (size_t a = 0; a < costs->actions; a++)
        pv__value_append(names, pv__value_text(costs->action[a]));
    pv__value_set(object, "actions", names);
    if (costs->classes != 2) {
        pv__value_set(object, "thresholds", pv__value_null());
        return object;
    }
    size_t *action;
    double *threshold;
    size_t count = envelope(costs, &action, &threshold);
    pv_result *list = pv__value_list();
    for (size_t i = 0; i + 1 < count; i++) {
        pv_result *entry = pv__value_object();
        pv__value_set(entry, "label", pv__value_text(labels[1]));
        pv__value_set(entry, "at", pv__value_real(threshold[i]));
        pv__value_set(entry, "below", pv__value_text(costs->action[action[i]]));
        pv__value_set(entry, "from", pv__value_text(costs->action[action[i + 1]]));
        pv__value_append(list, entry);
    }
    pv__value_set(object, "thresholds", list);
    free(action);
    free(threshold);
    return object;
}

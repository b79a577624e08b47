/* Reads another model's probabilities from a table. They are treated as the features of a model whose schema changes
 * nothing, so that labels, weights and missing cells are handled as in any other table.
 */
#include "prevail/probs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/data.h"
#include "data/schema_learn.h"

static const double SUM_TOLERANCE = 1e-3;
static const char PREFIX[] = "p__";

/* Labels and their columns. */
typedef struct pairs {
    size_t n;
    char **label;  /* [n] */
    char **column; /* [n] */
} pairs;

static void pairs_clear(pv_ctx *ctx, pairs *made) {
    pv_string_list_free(ctx, made->label, made->n);
    pv_string_list_free(ctx, made->column, made->n);
    *made = (pairs){0};
}

/* Counts the pairs. Rejects duplicate columns and duplicate labels. */
static pv_status pairs_count(pv_ctx *ctx, const pairs *made) {
    if (made->n < PV__LABELS_MAX)
        return PV_OK;
    return pv__fail(ctx, PV_ERR_INPUT,
                    "there are more than %d columns of probabilities;\nname those meant with `columns`",
                    PV__LABELS_MAX);
}

static pv_status pairs_room(pv_ctx *ctx, size_t most, pairs *made) {
    *made = (pairs){0};
    PV_TRY(pv__alloc(ctx, most, sizeof *made->label, &made->label));
    return pv__alloc(ctx, most, sizeof *made->column, &made->column);
}

/* Both lists must have capacity. The pair is counted as soon as its first text is stored; the second may then be
 * NULL. */
static pv_status pairs_add(pv_ctx *ctx, const char *label, size_t length, const char *column, pairs *made) {
    PV_TRY(pairs_count(ctx, made));
    size_t at = made->n++;
    PV_TRY(pv__alloc(ctx, length + 1, 1, &made->label[at]));
    memcpy(made->label[at], label, length);
    return pv__strdup(ctx, column, &made->column[at]);
}

/* "LABEL=COLUMN,...". */
static pv_status pairs_parse(pv_ctx *ctx, const char *option, const char *text, pairs *made) {
    char **names;
    size_t n;
    PV_TRY(pv__names_split(ctx, option, text, &names, &n));
    pv_status status = pairs_room(ctx, n, made);
    if (status == PV_OK && n == 0)
        status = pv__fail(ctx, PV_ERR_USAGE, "%s:\nname a column for each label, as LABEL=COLUMN,...", option);
    for (size_t i = 0; status == PV_OK && i < n; i++) {
        const char *equals = strchr(names[i], '=');
        if (!equals || equals == names[i] || !equals[1])
            status = pv__fail(ctx, PV_ERR_USAGE, "%s: '%s' is not of the form LABEL=COLUMN", option,
                              pv__show(names[i]).text);
        else
            status = pairs_add(ctx, names[i], (size_t)(equals - names[i]), equals + 1, made);
    }
    pv_string_list_free(ctx, names, n);
    return status;
}

static pv_status pairs_by_prefix(pv_ctx *ctx, const pv_table *table, pairs *made) {
    PV_TRY(pairs_room(ctx, table->columns, made));
    for (size_t c = 0; c < table->columns; c++) {
        const char *name = table->column[c].name;
        if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0 || !name[sizeof PREFIX - 1])
            continue;
        const char *label = name + sizeof PREFIX - 1;
        PV_TRY(pairs_add(ctx, label, strlen(label), name, made));
    }
    if (made->n == 0)
        return pv__fail_at(
            ctx, PV_ERR_INPUT, table->source, 0, 0,
            "no column is named p__LABEL;\nname those with the probabilities: `columns=LABEL=COLUMN,...`");
    return PV_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Sets the CSV options such that every probability column is kept, as numbers. The caller frees *number. */
static pv_status reading_of(pv_ctx *ctx, const pv_probs_options *options, pairs *named, const char ***number,
                            pv_csv_options *csv) {
    *csv = options->csv ? *options->csv : (pv_csv_options){0};
    csv->text = &options->target;
    csv->n_text = options->target ? 1 : 0;
    if (options->columns)
        PV_TRY(pairs_parse(ctx, "`columns`", options->columns, named));
    if (!options->all)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, named->n + 1, sizeof **number, number));
    csv->number_prefix = options->columns ? "" : PREFIX;
    csv->number = *number;
    for (size_t i = 0; i < named->n; i++)
        (*number)[csv->n_number++] = named->column[i];
    if (options->weights)
        (*number)[csv->n_number++] = options->weights;
    return PV_OK;
}

/* Reads only the columns that are used. Their names must be known for that, so a file is opened twice. */
static pv_status read_table(pv_ctx *ctx, const char *path, const pv_probs_options *options, pairs *found,
                            pv_table **table) {
    const char *nothing[] = {NULL}, **keep = NULL, **number = NULL;
    char **also = NULL;
    size_t n_also = 0, n_keep = 0;
    pv_status status;
    pv_csv_options csv, glance = options->csv ? *options->csv : (pv_csv_options){0};
    glance.keep = nothing;
    PV_GOTO(done, reading_of(ctx, options, found, &number, &csv));
    if (options->all || strcmp(path, "-") == 0) {
        PV_GOTO(done, pv_table_read(ctx, path, &csv, table));
        status = options->columns ? PV_OK : pairs_by_prefix(ctx, *table, found);
        goto done;
    }
    if (!options->columns) {
        pv_table *names;
        PV_GOTO(done, pv_table_read(ctx, path, &glance, &names));
        status = pairs_by_prefix(ctx, names, found);
        pv_table_free(ctx, names);
        if (status != PV_OK)
            goto done;
    }
    PV_GOTO(done, pv__names_split(ctx, "`votes`", options->also, &also, &n_also));
    PV_GOTO(done, pv__alloc(ctx, found->n + 2 * n_also + 3, sizeof *keep, &keep));
    for (size_t i = 0; i < found->n; i++)
        keep[n_keep++] = found->column[i];
    for (size_t i = 0; i < n_also; i++) {
        const char *equals = strchr(also[i], '=');
        keep[n_keep++] = also[i];
        if (equals)
            keep[n_keep++] = equals + 1;
    }
    if (options->target)
        keep[n_keep++] = options->target;
    if (options->weights)
        keep[n_keep++] = options->weights;
    if (options->cluster)
        keep[n_keep++] = options->cluster;
    csv.keep = keep;
    csv.n_keep = n_keep;
    status = pv_table_read(ctx, path, &csv, table);
done:
    pv_string_list_free(ctx, also, n_also);
    pv__free(ctx, number);
    pv__free(ctx, keep);
    return status;
}

/* Inserts the label at the front and takes ownership of it. */
static pv_status put_first(pv_ctx *ctx, char *label, pairs *found) {
    pv_status status = pv__resize(ctx, 2, sizeof *found->label, &found->label);
    if (status != PV_OK) {
        pv__free(ctx, label);
        return status;
    }
    found->label[1] = found->label[0];
    found->label[0] = label;
    return PV_OK;
}

/* The usual name of the opposite of a label; NULL if there is none. */
static const char *opposite(const char *label) {
    static char *const usual[][2] = {{"0", "1"},         {"no", "yes"},     {"No", "Yes"},     {"NO", "YES"},
                                     {"false", "true"},  {"False", "True"}, {"FALSE", "TRUE"}, {"negative", "positive"},
                                     {"control", "case"}};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        for (int side = 0; side < 2; side++)
            if (pv__label_find(&usual[i][side], 1, label, strlen(label)) == 0) /* 1.0 equals 1 */
                return usual[i][1 - side];
    return NULL;
}

/* Without an outcome the other label has no name: uses the usual one, or "not LABEL". Only if the one label was named
 * explicitly, because otherwise the other's column might just be missing. */
static pv_status name_other_label(pv_ctx *ctx, bool named, pairs *found) {
    const char *label = found->label[0];
    if (!named)
        return pv__fail(ctx, PV_ERR_INPUT,
                        "'%s' is the only column of probabilities; if it belongs to one of two labels, name the label "
                        "with `columns=%s=%s`",
                        pv__show(found->column[0]).text, pv__show(label).text, pv__show(found->column[0]).text);
    const char *usual = opposite(label);
    size_t room = (usual ? strlen(usual) : strlen(label) + 4) + 1;
    char *other;
    PV_TRY(pv__alloc(ctx, room, 1, &other));
    pv__format(other, room, "%s%s", usual ? "" : "not ", usual ? usual : label);
    return put_first(ctx, other, found);
}

/* One column for two classes: the other label is that of the outcome, and comes first. */
static pv_status find_other_label(pv_ctx *ctx, const pv_table *table, const char *target, pairs *found) {
    size_t c;
    PV_TRY(pv_table_find(ctx, table, "`outcome`", target, &c));
    const pv_column *column = &table->column[c];
    char *other = NULL, number[PV__NUMBER_TEXT];
    int32_t *label;
    pv_status status;
    PV_TRY(pv__alloc(ctx, table->rows, sizeof *label, &label));
    PV_GOTO(done, pv__labels_match(ctx, column, found->label, 1, table->rows, NULL, label));
    for (size_t i = 0; i < table->rows; i++) {
        if (label[i] != PV__UNSEEN)
            continue;
        const char *text = pv__cell_text(column, i, number);
        if (!other) {
            PV_GOTO(done, pv__strdup(ctx, text, &other));
        } else if (strcmp(text, other) != 0) {
            PV_GOTO(done, pv__fail(ctx, PV_ERR_USAGE,
                                   "the outcome '%s' has labels '%s' and '%s' in addition to '%s'; each label needs a "
                                   "column of probabilities (`columns`)",
                                   pv__show(target).text, pv__show(other).text, pv__show(text).text,
                                   pv__show(found->label[0]).text));
        }
    }
    if (!other)
        PV_GOTO(
            done,
            pv__fail(ctx, PV_ERR_USAGE,
                     "the outcome '%s' has no label but '%s', so the other label is unknown:\nname a column for each",
                     pv__show(target).text, pv__show(found->label[0]).text));
    status = put_first(ctx, other, found);
    other = NULL;
done:
    pv__free(ctx, other);
    pv__free(ctx, label);
    return status;
}

/* Replaces "not LABEL", the name given without an outcome, by the outcome's only other label.
 */
static pv_status name_by_target(pv_ctx *ctx, const pv_table *table, const char *target, pairs *found) {
    int unnamed = 0;
    while (unnamed < 2 && !(strncmp(found->label[unnamed], "not ", 4) == 0 &&
                            strcmp(found->label[unnamed] + 4, found->label[1 - unnamed]) == 0))
        unnamed++;
    if (unnamed == 2)
        return PV_OK;
    size_t c;
    PV_TRY(pv_table_find(ctx, table, "`outcome`", target, &c));
    int32_t *label;
    char *other = NULL, number[PV__NUMBER_TEXT];
    bool one = true;
    PV_TRY(pv__alloc(ctx, table->rows, sizeof *label, &label));
    pv_status status;
    PV_GOTO(done, pv__labels_match(ctx, &table->column[c], &found->label[1 - unnamed], 1, table->rows, NULL, label));
    for (size_t i = 0; i < table->rows && one; i++) {
        if (label[i] != PV__UNSEEN)
            continue;
        const char *text = pv__cell_text(&table->column[c], i, number);
        one = !other || strcmp(text, other) == 0;
        if (!other)
            PV_GOTO(done, pv__strdup(ctx, text, &other));
    }
    if (other && one) {
        pv__free(ctx, found->label[unnamed]);
        found->label[unnamed] = other;
        other = NULL;
    }
done:
    pv__free(ctx, other);
    pv__free(ctx, label);
    return status;
}

/* Rejects observed labels for which there is no probability. */
static pv_status check_target(pv_ctx *ctx, const char *target, const pv_probs *made) {
    const pv_table *table = made->table;
    size_t c, i = 0;
    int32_t *label;
    PV_TRY(pv_table_find(ctx, table, "`outcome`", target, &c));
    PV_TRY(pv__alloc(ctx, table->rows, sizeof *label, &label));
    pv_status status = pv__labels_match(ctx, &table->column[c], made->labels, made->classes, table->rows, NULL, label);
    while (status == PV_OK && i < table->rows && label[i] != PV__UNSEEN)
        i++;
    if (status == PV_OK && i < table->rows) {
        char joined[240], number[PV__NUMBER_TEXT];
        pv__join(made->labels, (size_t)made->classes, 8, joined, sizeof joined);
        status = PV__FAIL_CELL(
            ctx, table, i, c,
            "'%s' in column '%s' is not a label of the probabilities: %s;\nname them with `columns=LABEL=COL`",
            pv__show(pv__cell_text(&table->column[c], i, number)).text, pv__show(target).text, joined);
    }
    pv__free(ctx, label);
    return status;
}

/* Builds labels, weights and rows, with the probabilities as features of a schema that changes nothing. */
static pv_status make_dataset(pv_ctx *ctx, const pv_probs_options *options, const pairs *found, pv_probs *made) {
    pv_source_column *source;
    PV_TRY(pv__alloc(ctx, found->n, sizeof *source, &source));
    for (size_t i = 0; i < found->n; i++)
        source[i] = (pv_source_column){.name = found->column[i], .type = PV_COLUMN_NUMBER, .sd = 1};
    pv_schema schema = {.labels = made->labels,
                        .classes = made->classes,
                        .sources = found->n,
                        .source = source,
                        .features = (int)found->n,
                        .feature = found->column};
    pv_roles roles = {.target = options->target,
                      .weights = options->weights,
                      .cluster = options->cluster,
                      .missing = options->drop_missing ? PV_MISSING_DROP : PV_MISSING_REFUSE};
    pv_status status = pv_schema_apply(ctx, &schema, made->table, &roles, &made->data);
    pv__free(ctx, source);
    return status;
}

/* Explains why p is not a probability, and what may have been meant; NULL if it is one. */
static const char *wrong_probability(double p) {
    return p >= 0 && p <= 1    ? NULL
           : p > 1 && p <= 100 ? "; divide percentages by 100"
           : p < 0             ? ";\nconvert log probabilities and logits first"
                               : "";
}

/* p [rows][classes] from the data set's matrix [rows][width], where width may be classes - 1. */
static pv_status take_probabilities(pv_ctx *ctx, const size_t *column, size_t width, pv_probs *made) {
    size_t classes = (size_t)made->classes;
    double row_of[PV__LABELS_MAX]; /* buffer for rows assembled from columns */
    PV_TRY(pv__alloc(ctx, made->data->rows * classes, sizeof *made->p, &made->p));
    for (size_t n = 0; n < made->data->rows; n++) {
        size_t row = made->data->table_row[n];
        const double *from = pv_dataset_rows(ctx, made->data, n, 1, row_of);
        double *to = made->p + n * classes, sum = 0;
        for (size_t i = 0; i < width; i++) {
            const char *wrong = wrong_probability(from[i]);
            if (wrong)
                return PV__FAIL_CELL(ctx, made->table, row, column[i],
                                     "%g in column '%s' is not a probability: it must lie between 0 and 1%s", from[i],
                                     pv__show(made->table->column[column[i]].name).text, wrong);
            to[classes - width + i] = from[i];
            sum += from[i];
        }
        if (width < classes)
            to[0] = 1 - from[0];
        else if (!(fabs(sum - 1) <= SUM_TOLERANCE))
            return pv__fail_at(ctx, PV_ERR_INPUT, made->table->source, pv_table_line(made->table, row), 0,
                               "the probabilities of row %zu add up to %.6g, not to 1;\ncorrect them, or name the "
                               "right ones with `columns`",
                               made->table->before + row + 1, sum);
        else
            for (size_t y = 0; y < classes; y++)
                to[y] /= sum;
    }
    return PV_OK;
}

/* Two classes: moves the named label to the end. */
static pv_status put_last(pv_ctx *ctx, const char *positive, pv_probs *made) {
    int32_t y = pv__label_find(made->labels, made->classes, positive, strlen(positive));
    if (y < 0)
        return pv__no_label(ctx, "`positive`", positive, strlen(positive), made->labels, made->classes);
    if (made->classes > 2 || y == 1)
        return PV_OK;
    char *label = made->labels[0];
    size_t column = made->column[0];
    made->labels[0] = made->labels[1];
    made->labels[1] = label;
    made->column[0] = made->column[1];
    made->column[1] = column;
    for (size_t n = 0; n < made->data->rows; n++) {
        double p = made->p[2 * n];
        made->p[2 * n] = made->p[2 * n + 1];
        made->p[2 * n + 1] = p;
        if (made->data->label)
            made->data->label[n] = 1 - made->data->label[n];
    }
    return PV_OK;
}

static pv_status check_labels(pv_ctx *ctx, const pairs *found) {
    for (size_t a = 0; a < found->n; a++)
        if (pv__label_find(found->label, (int32_t)a, found->label[a], strlen(found->label[a])) >= 0)
            return pv__fail(ctx, PV_ERR_USAGE,
                            "label '%s' has two columns of probabilities;\nname the one that is meant with `columns`",
                            pv__show(found->label[a]).text);
    return PV_OK;
}

static pv_status learn_strata(pv_ctx *ctx, const char *columns, pv_probs *made) {
    const pv_roles roles = {.strata = columns};
    pv_schema schema = {.classes = made->classes};
    pv_status status = pv__strata_learn(ctx, made->table, &roles, &schema, made->data);
    made->strata = schema.strata; /* freed with the probabilities, also on failure */
    return status;
}

/* Probabilities of a table, of which they take ownership, also on failure. */
static pv_status probs_of(pv_ctx *ctx, const pv_probs_options *options, pairs *found, pv_table *table,
                          pv_probs **probs) {
    pv_probs *made = NULL;
    size_t *column = NULL;
    pv_status status = pv__alloc(ctx, 1, sizeof *made, &made);
    if (status != PV_OK) {
        pv_table_free(ctx, table);
        return status;
    }
    made->table = table;
    PV_GOTO(done, check_labels(ctx, found));
    PV_GOTO(done, pv__alloc(ctx, found->n, sizeof *column, &column));
    for (size_t i = 0; i < found->n; i++)
        PV_GOTO(done, pv__number_column(ctx, made->table, "`columns`", found->column[i], &column[i]));
    made->classes = found->n == 1 ? 2 : (int)found->n;
    if (found->n == 1)
        PV_GOTO(done, options->target ? find_other_label(ctx, made->table, options->target, found)
                                      : name_other_label(ctx, options->columns != NULL, found));
    else if (found->n == 2 && options->target)
        PV_GOTO(done, name_by_target(ctx, made->table, options->target, found));
    made->labels = found->label;
    found->label = NULL;
    PV_GOTO(done, pv__alloc(ctx, (size_t)made->classes, sizeof *made->column, &made->column));
    made->column[0] = made->table->columns;
    memcpy(made->column + made->classes - found->n, column, found->n * sizeof *column);
    if (options->target)
        PV_GOTO(done, check_target(ctx, options->target, made));
    PV_GOTO(done, make_dataset(ctx, options, found, made));
    PV_GOTO(done, take_probabilities(ctx, column, found->n, made));
    if (options->positive)
        PV_GOTO(done, put_last(ctx, options->positive, made));
    if (options->strata)
        PV_GOTO(done, learn_strata(ctx, options->strata, made));
    *probs = made;
    made = NULL;
done:
    pv__free(ctx, column);
    pv_probs_free(ctx, made);
    return status;
}

pv_status pv_probs_read(pv_ctx *ctx, const char *path, const pv_probs_options *options, pv_probs **probs) {
    pairs found = {0};
    pv_table *table = NULL;
    *probs = NULL;
    pv_status status = read_table(ctx, path, options, &found, &table);
    if (status == PV_OK)
        status = probs_of(ctx, options, &found, table, probs);
    else
        pv_table_free(ctx, table);
    pairs_clear(ctx, &found);
    return status;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

struct pv_probs_pieces {
    pv_probs_options options;
    pv_pieces *pieces;
    pairs named; /* the parsed `columns` option */
    const char **number;
};

void pv_probs_pieces_free(pv_ctx *ctx, pv_probs_pieces *pieces) {
    if (!pieces)
        return;
    pv_pieces_free(ctx, pieces->pieces);
    pairs_clear(ctx, &pieces->named);
    pv__free(ctx, pieces->number);
    pv__free(ctx, pieces);
}

pv_status pv_probs_pieces_open(pv_ctx *ctx, const char *path, const pv_probs_options *options,
                               pv_probs_pieces **pieces) {
    pv_probs_pieces *p;
    pv_csv_options csv;
    *pieces = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *p, &p));
    p->options = *options;
    p->options.all = true;
    pv_status status = reading_of(ctx, &p->options, &p->named, &p->number, &csv);
    if (status == PV_OK)
        status = pv_pieces_open(ctx, path, &csv, &p->pieces);
    if (status == PV_OK)
        *pieces = p;
    else
        pv_probs_pieces_free(ctx, p);
    return status;
}

pv_status pv_probs_pieces_next(pv_ctx *ctx, pv_probs_pieces *pieces, size_t rows, pv_probs **probs) {
    const char *columns = pieces->options.columns;
    pairs found = {0};
    pv_table *table;
    *probs = NULL;
    PV_TRY(pv_pieces_next(ctx, pieces->pieces, rows, &table));
    if (!table)
        return PV_OK;
    pv_status status = columns ? pairs_parse(ctx, "`columns`", columns, &found) : pairs_by_prefix(ctx, table, &found);
    if (status == PV_OK)
        status = probs_of(ctx, &pieces->options, &found, table, probs);
    else
        pv_table_free(ctx, table);
    pairs_clear(ctx, &found);
    return status;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static pv_status check_arrays(pv_ctx *ctx, size_t n, int classes, int width, const int32_t *label,
                              const double *weight) {
    if (n == 0 || classes < 2 || classes > PV__LABELS_MAX || (width != classes && !(width == 1 && classes == 2)))
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "%zu rows of %d probabilities for %d labels:\ngive one for each label, or with two labels that of the last",
            n, width, classes);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (label && !(label[i] >= 0 && label[i] < classes))
            return pv__fail(ctx, PV_ERR_INPUT, "row %zu: %d is not the number of one of %d labels", i + 1,
                            (int)label[i], classes);
        if (weight && !pv_weight_sound(weight[i]))
            return pv__fail(ctx, PV_ERR_INPUT, "row %zu: a weight of %g; weights are 0, or from 1e-100 to 1e100", i + 1,
                            weight[i]);
        sum += weight ? weight[i] : 1;
    }
    if (!(sum > 0))
        return pv__fail(ctx, PV_ERR_INPUT, "all weights are 0; at least one row needs a weight above 0");
    return PV_OK;
}

static pv_status copy_probabilities(pv_ctx *ctx, size_t n, size_t classes, size_t width, const double *p, double *to) {
    for (size_t i = 0; i < n; i++, p += width, to += classes) {
        double sum = 0;
        for (size_t y = 0; y < width; y++) {
            const char *wrong = wrong_probability(p[y]);
            if (wrong)
                return pv__fail(ctx, PV_ERR_INPUT, "%g in row %zu is not a probability: it must lie between 0 and 1%s",
                                p[y], i + 1, wrong);
            sum += p[y];
        }
        if (width == classes && !(fabs(sum - 1) <= SUM_TOLERANCE))
            return pv__fail(ctx, PV_ERR_INPUT, "the probabilities of row %zu add up to %.6g, not to 1;\ncorrect them",
                            i + 1, sum);
        for (size_t y = 0; y < width; y++)
            to[classes - width + y] = width == classes ? p[y] / sum : p[y];
        if (width < classes)
            to[0] = 1 - p[0];
    }
    return PV_OK;
}

pv_status pv_probs_new(pv_ctx *ctx, size_t n, const char *const *labels, int classes, int width, const double *p,
                       const int32_t *label, const double *weight, pv_probs **probs) {
    pv_probs *made = NULL;
    *probs = NULL;
    PV_TRY(check_arrays(ctx, n, classes, width, label, weight));
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *made, &made));
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *made->data, &made->data));
    made->classes = made->data->classes = classes;
    PV_GOTO(done, pv__names_copy(ctx, labels, (size_t)classes, &made->labels));
    made->data->rows = n;
    PV_GOTO(done, pv__resize(ctx, n, (size_t)classes * sizeof *made->p, &made->p));
    PV_GOTO(done, copy_probabilities(ctx, n, (size_t)classes, (size_t)width, p, made->p));
    if (label) {
        PV_GOTO(done, pv__resize(ctx, n, sizeof *label, &made->data->label));
        memcpy(made->data->label, label, n * sizeof *label);
    }
    if (weight) {
        PV_GOTO(done, pv__resize(ctx, n, sizeof *weight, &made->data->weight));
        memcpy(made->data->weight, weight, n * sizeof *weight);
    }
    *probs = made;
    made = NULL;
done:
    pv_probs_free(ctx, made);
    return status;
}

void pv_probs_free(pv_ctx *ctx, pv_probs *probs) {
    if (!probs)
        return;
    pv_table_free(ctx, probs->table);
    pv_dataset_free(ctx, probs->data);
    pv_string_list_free(ctx, probs->labels, probs->labels ? (size_t)probs->classes : 0);
    pv__free(ctx, probs->column);
    pv__free(ctx, probs->p);
    pv__strata_free(ctx, probs->strata);
    pv__free(ctx, probs->from);
    pv__free(ctx, probs);
}

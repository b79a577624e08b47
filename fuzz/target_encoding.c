/* Seven lines of roles (target, weights, id, exclude, features, categorical, positive), one line of references, or of
 * terms after a tilde, then a CSV file. Applying the learned schema to the same table must give the same matrix.
 */
#include "fuzz.h"

static void check_applied(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, const pv_schema *schema,
                          const pv_dataset *learned) {
    pv_dataset *applied;
    pv_status status = pv_schema_apply(ctx, schema, table, roles, &applied);
    FUZZ_CHECK(status == PV_OK, "what was learned cannot be applied: %s", pv_ctx_error(ctx)->message);
    FUZZ_CHECK(applied->rows == learned->rows && applied->features == learned->features, "the shapes differ");
    for (size_t i = 0; i < learned->rows * (size_t)learned->features; i++)
        FUZZ_CHECK(fuzz_same_bits(applied->x[i], learned->x[i]), "%.17g became %.17g", learned->x[i], applied->x[i]);
    for (size_t i = 0; i < learned->rows; i++) {
        FUZZ_CHECK(applied->label[i] == learned->label[i], "a label changed");
        FUZZ_CHECK(learned->label[i] >= 0 && learned->label[i] < learned->classes, "a label out of range");
    }
    pv_dataset_free(ctx, applied);
}

static void check_folds(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data) {
    int32_t *fold = fuzz_room(data->rows, sizeof *fold);
    pv_status status = pv_folds_make(ctx, schema, data, 2, 1, 0, fold);
    for (size_t i = 0; status == PV_OK && i < data->rows; i++)
        FUZZ_CHECK(fold[i] == 0 || fold[i] == 1, "fold %d", fold[i]);
}

enum { TERMS_LENGTH = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* A text column has up to 199 indicators of 8 bytes, and its cells take two bytes each. */
    pv_ctx *ctx = fuzz_begin_within(FUZZ_FIXED, 8 * FUZZ_PER_BYTE, size);
    fuzz_input in = {data, size};
    pv_roles roles = {.target = fuzz_line(&in),
                      .weights = fuzz_line(&in),
                      .id = fuzz_line(&in),
                      .exclude = fuzz_line(&in),
                      .features = fuzz_line(&in),
                      .categorical = fuzz_line(&in),
                      .positive = fuzz_line(&in),
                      .reference = fuzz_line(&in),
                      .missing = (int)(size % 4),
                      .collinear = (int)(size / 4 % 3),
                      .unseen = (int)(size / 12 % 4)};
    if (roles.reference && roles.reference[0] == '~') {
        /* An interaction of two-byte cells can have 200 features, so few terms are allowed. */
        roles.terms = strlen(roles.reference) <= TERMS_LENGTH ? roles.reference + 1 : NULL;
        roles.reference = NULL;
    }
    pv_table *table = NULL;
    pv_schema *schema = NULL;
    pv_dataset *learned = NULL;
    pv_csv_options csv = {.roles = &roles};
    pv_status status = pv_table_read(ctx, fuzz_file(0, in.data, in.size), &csv, &table);
    if (status == PV_OK)
        status = pv_schema_learn(ctx, table, &roles, &schema, &learned);
    if (status != PV_OK) {
        fuzz_refused(ctx, status);
    } else {
        check_applied(ctx, table, &roles, schema, learned);
        check_folds(ctx, schema, learned);
    }
    pv_dataset_free(ctx, learned);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    fuzz_end(ctx);
    return 0;
}

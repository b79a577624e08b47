/* From tables to matrices. */
#include "learned.h"

/* ---- learning ---------------------------------------------------------------------------------------------------- */

static void standardises(void **state) {
    (void)state;
    learned l;
    ok(learn("a,y,b\n1,0,10\n2,1,30\n3,0,20\n6,1,60\n", plain, &l));
    assert_int_equal(l.data->rows, 4);
    assert_int_equal(l.data->features, 2);
    assert_int_equal(l.schema->sources, 2);
    assert_string_equal(l.schema->feature[0], "a");
    assert_string_equal(l.schema->feature[1], "b");
    near(l.schema->source[0].mean, 3, 1e-15);
    near(l.schema->source[0].sd, sqrt(3.5), 1e-15);
    near(x(l.data, 3, 0), 3 / sqrt(3.5), 1e-15);
    near(l.schema->source[1].mean, 30, 1e-14);
    for (int f = 0; f < 2; f++) {
        double sum = 0, square = 0;
        for (size_t i = 0; i < 4; i++) {
            sum += x(l.data, i, f);
            square += x(l.data, i, f) * x(l.data, i, f);
        }
        near(sum, 0, 1e-14);
        near(square, 4, 1e-14);
    }
    assert_null(l.data->weight);
    assert_int_equal(l.data->dropped, 0);
    pv_targets targets = pv_dataset_targets(l.data);
    assert_int_equal(targets.n, 4);
    assert_int_equal(targets.classes, 2);
    assert_ptr_equal(targets.label, l.data->label);
    assert_null(targets.weight);
    assert_null(targets.frequency);
    assert_int_equal(l.data->label[1], 1);
    forget(&l);
}

/* Weights count rows: the same as repeating the row. */
static void weights_repeat_rows(void **state) {
    (void)state;
    learned l, repeated;
    ok(learn("a,y,n\n1,0,3\n2,1,1\n5,0,2\n9,1,0\n", ROLES(.weights = "n"), &l));
    ok(learn("a,y\n1,0\n1,0\n1,0\n2,1\n5,0\n5,0\n", plain, &repeated));
    near(l.schema->source[0].mean, repeated.schema->source[0].mean, 1e-15);
    near(l.schema->source[0].sd, repeated.schema->source[0].sd, 1e-15);
    assert_int_equal(l.data->rows, 3);
    assert_int_equal(l.data->zero_weight, 1);
    assert_int_equal(l.data->dropped, 0);
    near(l.data->weight[0], 3, 0);
    near(l.data->weight[2], 2, 0);
    assert_int_equal(l.data->features, 1);
    forget(&l);
    forget(&repeated);
}

static void scales_extremes(void **state) {
    (void)state;
    learned l;
    ok(learn("a,b,c,y\n1e300,1e15,1e-320,0\n-1e300,1000000000000001,2e-320,1\n3e300,1e15,1e-320,1\n2e300,1e15,0,0\n",
             plain, &l));
    for (int f = 0; f < 3; f++) {
        double square = 0;
        for (size_t i = 0; i < 4; i++)
            square += x(l.data, i, f) * x(l.data, i, f);
        near(square, 4, 0.01); /* subnormal numbers have few digits */
    }
    forget(&l);
    refused("a,y\n1.7e308,0\n-1.7e308,1\n1.7e308,1\n", plain, "too large", "'a'");
}

static void makes_indicators(void **state) {
    (void)state;
    learned l;
    ok(learn("g,k,y\nb,10,0\na,9,1\nc,9,0\nb,10,1\na,2,0\nb,2,0\n", ROLES(.categorical = "k"), &l));
    assert_int_equal(l.data->features, 4);
    assert_string_equal(l.schema->feature[0], "g=b");
    assert_string_equal(l.schema->feature[1], "g=c");
    assert_string_equal(l.schema->feature[2], "k=9"); /* sorted numerically: 2, 9, 10 */
    assert_string_equal(l.schema->feature[3], "k=10");
    assert_string_equal(l.schema->source[1].level[0], "2");
    static const double wanted[6][4] = {{1, 0, 0, 1}, {0, 0, 1, 0}, {0, 1, 1, 0},
                                        {1, 0, 0, 1}, {0, 0, 0, 0}, {1, 0, 0, 0}};
    for (size_t i = 0; i < 6; i++)
        for (int f = 0; f < 4; f++)
            near(x(l.data, i, f), wanted[i][f], 0);
    forget(&l);
}

static void sorts_labels(void **state) {
    (void)state;
    learned l;
    ok(learn("a,y\n1,10\n2,9\n3,-1\n5,10\n", plain, &l));
    assert_int_equal(l.data->classes, 3);
    assert_string_equal(l.schema->labels[0], "-1");
    assert_string_equal(l.schema->labels[1], "9");
    assert_string_equal(l.schema->labels[2], "10");
    assert_int_equal(l.data->label[0], 2);
    assert_int_equal(l.data->label[2], 0);
    forget(&l);
    ok(learn("a,y\n1,yes\n2,no\n4,yes\n", plain, &l));
    assert_string_equal(l.schema->labels[0], "no");
    assert_string_equal(l.schema->labels[1], "yes");
    forget(&l);
    ok(learn("a,y\n1,yes\n2,no\n4,yes\n", ROLES(.positive = "no"), &l));
    assert_string_equal(l.schema->labels[1], "no");
    assert_int_equal(l.data->label[0], 0);
    assert_int_equal(l.data->label[1], 1);
    forget(&l);
    ok(learn("a,y\n1,1\n2,0\n4,1\n", ROLES(.positive = "0.0"), &l)); /* as numbers */
    assert_string_equal(l.schema->labels[1], "0");
    forget(&l);
    refused("a,y\n1,yes\n2,no\n4,yes\n", ROLES(.positive = "yse"), "'yse'", "did you mean 'yes'");
    refused("a,y\n1,p\n2,q\n4,r\n", ROLES(.positive = "p"), "two classes", "p, q, r");
    refused("a,y\n1,1\n2,1.0\n4,0\n", plain, "'1'", "'1.0'");
}

static void takes_number_targets(void **state) {
    (void)state;
    pv_table *table;
    ok(pv_table_read(ctx, "builtin:contingency", NULL, &table));
    pv_schema *schema;
    pv_dataset *data;
    pv_roles roles = {.target = "y", .weights = "count"};
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    assert_string_equal(schema->labels[0], "0");
    assert_string_equal(schema->labels[1], "1");
    assert_int_equal(data->rows, 4);
    near(schema->source[0].mean, 0.09, 1e-15);
    near(schema->source[0].sd, sqrt(0.09 * 0.91), 1e-15);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    roles.categorical = "x"; /* a number column used as categories */
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    assert_string_equal(schema->feature[0], "x=1");
    near(x(data, 2, 0), 1, 0);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    pv_dataset_free(ctx, NULL);
    pv_schema_free(ctx, NULL);
    pv_string_list_free(ctx, NULL, 0);
}

static void follows_roles(void **state) {
    (void)state;
    static const char text[] = "id,a,b,\"c,d\",y\nu1,1,4,0,0\nu2,2,2,1,1\nu3,5,7,1,0\nu4,3,0,0,1\n";
    learned l;
    ok(learn(text, ROLES(.id = "id", .exclude = "a"), &l));
    assert_int_equal(l.data->features, 2);
    assert_string_equal(l.schema->feature[0], "b");
    assert_string_equal(l.schema->feature[1], "c,d");
    forget(&l);
    ok(learn(text, ROLES(.features = " \"c,d\" , a "), &l));
    assert_int_equal(l.data->features, 2);
    assert_string_equal(l.schema->feature[0], "a");
    forget(&l);
    refused(text, ROLES(.exclude = "id,aa"), "`exclude`", "'aa'");
    refused(text, ROLES(.features = "a,y"), "`features`", "outcome");
    refused(text, ROLES(.features = "a,,b"), "`features`", "list of names");
    refused(text, ROLES(.features = "a,"), "`features`", "list of names");
    refused(text, ROLES(.features = "\"a"), "`features`", "list of names");
    refused(text, ROLES(.weights = "id"), "`weights`", "'u1'");
    at(2, 1);
    refused(text, ROLES(.weights = "y"), "`outcome`", "`weights`");
    refused(text, ROLES(.weights = "nope"), "`weights`", "'nope'");
    refused(text, ROLES(.id = "nope"), "`id`", "'nope'");
    refused(text, ROLES(.features = "a", .exclude = "a", .constant = PV_CONSTANT_REFUSE), "no column is left",
            "`exclude`");
    refused(text, (pv_roles){.target = "yy"}, "`outcome`", "did you mean 'y'");
    refused(text, (pv_roles){0}, "`outcome`", "missing");
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void refuses_missing(void **state) {
    (void)state;
    static const char text[] = "a,b,y\n1,u,0\n2,,1\nNA,v,0\n4,u,\n5,v,1\n7,u,0\n";
    refused(text, plain, "'b' is missing", "`missing=drop`");
    at(3, 2);
    says("3 of 6");
    learned l;
    ok(learn(text, ROLES(.missing = true), &l));
    assert_int_equal(l.data->rows, 3);
    assert_int_equal(l.data->dropped, 3);
    assert_int_equal(l.data->table_row[0], 0);
    assert_int_equal(l.data->table_row[1], 4);
    assert_int_equal(l.data->table_row[2], 5);
    near(l.schema->source[0].mean, 13.0 / 3, 1e-14);
    forget(&l);
    ok(learn(text, ROLES(.missing = true, .exclude = "b"), &l)); /* unused columns may have missing cells */
    assert_int_equal(l.data->dropped, 2);
    forget(&l);
    refused("a,y\n,0\n,1\n", ROLES(.missing = true), "no row is left", "2 have missing cells");
    /* levels and labels that occur only in dropped rows are not learned */
    ok(learn("a,b,y\n1,u,0\n2,v,1\n,w,2\n3,v,0\n", ROLES(.missing = true), &l));
    assert_int_equal(l.data->classes, 2);
    assert_int_equal(l.schema->source[1].levels, 2);
    forget(&l);
}

static void refuses_infinite(void **state) {
    (void)state;
    refused("a,y\n1,0\n1e999,1\n2,1\n", plain, "'a' is infinite", "correct the cell");
    at(3, 1);
    refused("a,y\n1,0\n-inf,1\n2,1\n", ROLES(.missing = true), "infinite", "'a'");
    learned l;
    ok(learn("a,b,y\n1,inf,0\n3,4,1\n", ROLES(.exclude = "b"), &l));
    forget(&l);
}

static void refuses_weights(void **state) {
    (void)state;
    refused("a,y,w\n1,0,1\n2,1,-0.5\n", ROLES(.weights = "w"), "-0.5", "0, or from 1e-100 to 1e100");
    at(3, 3);
    refused("a,y,w\n1,0,inf\n2,1,1\n", ROLES(.weights = "w"), "inf", "0, or from 1e-100 to 1e100");
    refused("a,y,w\n1,0,0\n2,1,0\n", ROLES(.weights = "w"), "all weights", "'w'");
    refused("a,y,w\n1,0,1\n2,1,\n3,1,1\n", ROLES(.weights = "w"), "'w' is missing", "`missing=drop`");
    refused("a,y,w\n1,0,1e308\n2,1,1e308\n3,1,1e308\n", ROLES(.weights = "w"), "1e+308", "0, or from");
    learned l;
    ok(learn("a,y,w\n1,0,1\nNA,1,0\n3,1,2\n", ROLES(.weights = "w"),
             &l)); /* a row of weight 0 may have missing cells */
    assert_int_equal(l.data->rows, 2);
    assert_int_equal(l.data->zero_weight, 1);
    forget(&l);
}

static void refuses_targets(void **state) {
    (void)state;
    refused("a,y\n1,case\n2,case\n", plain, "'case'", "two labels are needed");
    refused("a,y,w\n1,p,1\n2,p,1\n3,q,0\n", ROLES(.weights = "w"), "'p'", "two labels are needed");
    char *text = malloc(100000), *end = text;
    assert_non_null(text);
    end += sprintf(end, "a,y\n");
    for (int i = 0; i < 301; i++)
        end += sprintf(end, "%d,%d.5\n", i * i % 97, i);
    refused(text, plain, "more than 300", "id");
    end = text + sprintf(text, "a,y\n");
    for (int i = 0; i < 600; i++)
        end += sprintf(end, "%d,%d\n", i * i % 97, i % 300);
    learned l;
    ok(learn(text, plain, &l));
    assert_int_equal(l.data->classes, 300);
    for (int i = 0; i < 600; i++)
        assert_int_equal(l.data->label[i], i % 300);
    forget(&l);
    free(text);
}

static void refuses_columns(void **state) {
    (void)state;
    refused("a,b,y\n1,7,0\n2,7,1\n", ROLES(.constant = PV_CONSTANT_REFUSE), "same value in every row: b",
            "`exclude=b`");
    refused("a,b,c,d,e,f,g,y\n1,1,1,k,1,1,1,0\n1,1,1,k,1,1,2,1\n", ROLES(.constant = PV_CONSTANT_REFUSE),
            "a, b, c, d, e and 1 more", "`exclude`");
    refused("a,b,y\n1,,0\n2,,1\n", plain, "'b' is missing", "drop");
    char *text = malloc(100000), *end = text;
    assert_non_null(text);
    end += sprintf(end, "a,name,y\n");
    for (int i = 0; i < 201; i++)
        end += sprintf(end, "%d,n%d,%d\n", i, i, i % 2);
    refused(text, plain, "more than 200", "`exclude=name`");
    end = text + sprintf(text, "a;name;y\n");
    for (int i = 0; i < 300; i++)
        end += sprintf(end, "%d;%d,5;%d\n", i, i, i % 2);
    refused(text, plain, "decimal comma", "`decimal=,`");
    refused("a;y\n5,8;1\n-4,0;0\n1.200,5;1\n", plain, "decimal comma", "`categorical=a`");
    refused("a;y\n1,148,000;1\n950,000;0\n", plain, "separators of thousands ('1,148,000')", "Write them without");
    refused("a;y\n1 148;1\n2 000;0\n", plain, "separators of thousands", "Write them without");
    refused("g,g=b,y\na,1,0\nb,2,1\na,4,1\nb,3,0\n", plain, "'g=b'", "rename");
    free(text);
}

static void refuses_collinear(void **state) {
    (void)state;
    const pv_roles strict = ROLES(.collinear = PV_COLLINEAR_REFUSE);
    refused("a,b,c,y\n1,3,2,0\n2,1,4,1\n4,5,8,0\n7,2,14,1\n5,5,10,1\n", strict, "collinear columns: 'c' is",
            "a linear function of a;");
    says("`exclude=c`");
    says("`collinear=keep`");
    refused("a,b,total,y\n1,3,4,0\n2,1,3,1\n4,5,9,0\n7,2,9,1\n5,5,10,1\n", strict, "determined exactly by a, b",
            "`exclude=total`");
    refused("g,h,y\nu,p,0\nv,q,1\nu,p,1\nv,q,0\nv,q,1\n", strict, "collinear columns: 'h=q' is",
            "is a linear function of g=v");
    refused("a,b,y\n1,5,0\n2,7,1\n", strict, "2 features on 2 rows", "`collinear=keep`");
    learned l;
    ok(learn("a,b,y\n1,3,0\n2,5,1\n4,9,0\n", ROLES(.collinear = PV_COLLINEAR_KEEP), &l));
    assert_int_equal(l.data->features, 2);
    forget(&l);
    ok(learn("a,b,y\n1,2.01,0\n2,4,1\n4,8,0\n7,14,1\n", plain, &l)); /* nearly collinear is allowed */
    forget(&l);
}

/* Columns that differ in a single row, which a sample of rows may miss, and columns that never differ. */
static void looks_at_all_rows(void **state) {
    (void)state;
    enum { ROWS = 60000 };
    static double a[ROWS], b[ROWS], y[ROWS];
    char names[3][2] = {"a", "b", "y"};
    pv_column column[3] = {
        {.name = names[0], .number = a}, {.name = names[1], .number = b}, {.name = names[2], .number = y}};
    char source[] = "memory";
    pv_table table = {.source = source, .rows = ROWS, .columns = 3, .column = column};
    for (int i = 0; i < ROWS; i++) {
        a[i] = sin(i);
        b[i] = 3 - 2 * a[i];
        y[i] = i % 2;
    }
    pv_schema *schema;
    pv_dataset *data;
    const pv_roles strict = ROLES(.collinear = PV_COLLINEAR_REFUSE);
    assert_int_equal(pv_schema_learn(ctx, &table, &strict, &schema, &data), PV_ERR_INPUT);
    says("collinear columns: 'b' is");
    for (int odd = 1; odd < 4; odd++) {
        b[ROWS - 1000 + odd] += 1;
        ok(pv_schema_learn(ctx, &table, &strict, &schema, &data));
        b[ROWS - 1000 + odd] -= 1;
        pv_dataset_free(ctx, data);
        pv_schema_free(ctx, schema);
    }
}

/* ---- applying ---------------------------------------------------------------------------------------------------- */

static const char training[] = "a,g,y,k\n1,u,no,1\n2,v,yes,2\n5,w,no,3\n4,u,yes,2\n9,v,yes,1\n2,w,no,2\n7,u,no,3\n";

static void applies(void **state) {
    (void)state;
    learned l;
    pv_table *table;
    pv_dataset *data;
    ok(learn(training, ROLES(.categorical = "k"), &l));
    ok(apply("extra,k,g,a,y\nz,2.0,v,3,yes\nz,1,u,-1,no\n", &l, plain, &table, &data));
    assert_int_equal(data->rows, 2);
    assert_int_equal(data->features, l.data->features);
    near(x(data, 0, 0), (3 - l.schema->source[0].mean) / l.schema->source[0].sd, 0);
    near(x(data, 0, 1), 1, 0); /* g=v */
    near(x(data, 0, 2), 0, 0);
    near(x(data, 0, 3), 1, 0); /* k=2 from 2.0 */
    near(x(data, 1, 3), 0, 0);
    assert_int_equal(data->label[0], 1);
    assert_int_equal(data->label[1], 0);
    assert_int_equal(data->classes, 2);
    pv_dataset_free(ctx, data);
    pv_table_free(ctx, table);
    ok(apply("a,g,k\n3,v,1\n", &l, (pv_roles){0}, &table, &data)); /* without an outcome */
    assert_null(data->label);
    assert_int_equal(data->classes, 0);
    pv_dataset_free(ctx, data);
    pv_table_free(ctx, table);
    forget(&l);
}

/* Encoding the training table again gives the training matrix. */
static void applies_to_itself(void **state) {
    (void)state;
    learned l;
    pv_table *table;
    pv_dataset *data;
    ok(learn(training, ROLES(.positive = "no", .weights = "k"), &l));
    ok(apply(training, &l, ROLES(.weights = "k"), &table, &data));
    assert_int_equal(data->rows, l.data->rows);
    assert_memory_equal(data->x, l.data->x, data->rows * (size_t)data->features * sizeof(double));
    assert_memory_equal(data->label, l.data->label, data->rows * sizeof *data->label);
    assert_memory_equal(data->weight, l.data->weight, data->rows * sizeof(double));
    pv_dataset_free(ctx, data);
    pv_table_free(ctx, table);
    forget(&l);
}

static void apply_refuses(void **state) {
    (void)state;
    learned l;
    pv_table *table;
    pv_dataset *data;
    ok(learn(training, ROLES(.categorical = "k"), &l));
    apply_refused("a,k,y\n1,1,no\n", &l, plain, "the model needs a column 'g'", "columns are a, k, y");
    apply_refused("a,g,k,y\n1,u,1,no\n1,u,4,no\n", &l, ROLES(.unseen = PV_UNSEEN_REFUSE), "'4' in column 'k'",
                  "a level the model knows: 1, 2, 3");
    at(3, 3);
    apply_refused("a,g,k,y\n1,u,1,no\n1,u,2,yess\n", &l, plain, "'yess' in column 'y'",
                  "a label the model knows: no, yes");
    at(3, 4);
    apply_refused("a,g,k,y\nx,u,1,no\n", &l, plain, "held numbers in training", "'x'");
    at(2, 1);
    apply_refused("a,g,k,y\n1,u,1,no\n,u,2,yes\n", &l, plain, "'a' is missing", "`missing=drop`");
    at(3, 1);
    apply_refused("a,g,k,y\n1,u,1,no\n2,u,2,\n", &l, plain, "'y' is missing", "`missing=drop`");
    at(3, 4);
    apply_refused("a,g,k,y\n1,u,1,no\ninf,u,2,no\n", &l, plain, "'a' is infinite", "correct");
    apply_refused("a,g,k,y\n1,u,1,no\n", &l, (pv_roles){.target = "z"}, "`outcome`", "'z'");
    ok(apply("a,g,k,y\n1,u,1,no\n2,,2,no\n3,v,2,\n4,v,3,yes\n", &l, ROLES(.missing = true), &table, &data));
    assert_int_equal(data->rows, 2);
    assert_int_equal(data->dropped, 2);
    assert_int_equal(data->table_row[1], 3);
    pv_dataset_free(ctx, data);
    pv_table_free(ctx, table);
    forget(&l);
}

static pv_column_type type_of(const pv_table *table, const char *name) {
    size_t c = 0;
    ok(pv_table_find(ctx, table, "a test", name, &c));
    return table->column[c].type;
}

/* How roles and a schema configure the reader. */
static void tables_are_read_for_them(void **state) {
    (void)state;
    static const char text[] = "y,k,\"a,b\",g,id,w,n\n0,1,2,3,4,5,6\n1,2,3,4,5,6,7\n0,2,4,4,6,7,9\n1,1,1,1,1,1,2\n";
    static const char *const texts[] = {"y", "k", "a,b", "g", "id"}, *const numbers[] = {"w", "n"};
    pv_roles roles = {
        .target = "y", .categorical = "k,k", .exclude = "\"a,b\",y", .group = "g", .id = "id", .weights = "w"};
    pv_table *table = table_of(text, &roles, NULL);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(type_of(table, texts[i]), PV_COLUMN_TEXT);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(type_of(table, numbers[i]), PV_COLUMN_NUMBER);
    pv_schema *schema;
    pv_dataset *data;
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    assert_string_equal(schema->group, "g");
    assert_int_equal(schema->sources, 2); /* k and n */
    const int32_t groups[] = {0, 1, 1, 2};
    assert_memory_equal(data->group, groups, sizeof groups);
    assert_string_equal(data->source, table->source);
    assert_true(data->hash != data->features_hash && data->hash != table->hash);
    pv_table_free(ctx, table);
    pv_dataset_free(ctx, data);

    /* With the schema all other columns are skipped, whatever they contain; columns that the caller keeps are kept. */
    static const char other[] = "n,junk,k,kept,y,w\n1,2,1,3,0,1\nx,x,2,4,0,1\n";
    static const char *const keep[] = {"kept"};
    put(other, strlen(other));
    assert_int_equal(pv_table_read(ctx, path, &(pv_csv_options){.schema = schema}, &table), PV_ERR_INPUT);
    says("'x'"); /* in column n */
    static const char fine[] = "n,junk,k,kept,y,w\n1,2,1,3,0,1\n3,x,2,4,0,1\n";
    put(fine, strlen(fine));
    table = must_read(&(pv_csv_options){.schema = schema, .keep = keep, .n_keep = 1});
    assert_true(pv_table_text(table, 1, 0) == NULL && pv_table_text(table, 1, 1) == NULL);
    assert_true(pv_table_number(table, 3, 1) == 4);
    assert_int_equal(type_of(table, "k"), PV_COLUMN_TEXT);
    assert_null(pv_table_text(table, 4, 0)); /* without roles there is no outcome */
    pv_table_free(ctx, table);
    pv_roles as_learned = pv_schema_roles(schema);
    ok(pv_dataset_read(ctx, schema, path, &as_learned, NULL, &data));
    assert_int_equal(data->rows, 2);
    assert_int_equal(data->label[1], 0);
    assert_true(data->weight[0] == 1);
    assert_null(data->group); /* only training data have groups */
    pv_dataset_free(ctx, data);
    ok(pv_dataset_read(ctx, schema, path, NULL, NULL, &data));
    assert_true(!data->label && !data->weight);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    roles.categorical = ",";
    assert_int_equal(pv_table_read(ctx, path, &(pv_csv_options){.roles = &roles}, &table), PV_ERR_USAGE);
}

static void groups_are_checked(void **state) {
    (void)state;
    static const char text[] = "x,g,w,y\n1,a,1,0\n2,,2,1\n3,b,1,0\n5,b,3,1\n";
    refused(text, (pv_roles){.target = "y", .group = "g"}, "no group in column 'g'; every row needs one", "");
    assert_int_equal(pv_ctx_error(ctx)->line, 3);
    refused(text, (pv_roles){.target = "y", .group = "y"}, "is the outcome", "");
    refused(text, (pv_roles){.target = "y", .group = "w", .weights = "w"}, "is the column of weights", "");
    refused(text, (pv_roles){.target = "y", .group = ""}, "needs the name of a column", "");
    refused(text, (pv_roles){.target = "y", .group = "h"}, "there is no column 'h'", "");
    /* For numbers in memory: by value. */
    const double x[] = {1, 2, 3, 5}, g[] = {7, 7, 2, 7}, y[] = {0, 1, 0, 1};
    const int32_t groups[] = {0, 0, 1, 0};
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    ok(pv_table_new(ctx, "memory", 4, &table));
    ok(pv_table_add_numbers(ctx, table, "x", PV_ARRAY_F64, x, PV_PACKED, NULL, false));
    ok(pv_table_add_numbers(ctx, table, "g", PV_ARRAY_F64, g, PV_PACKED, NULL, false));
    ok(pv_table_add_numbers(ctx, table, "y", PV_ARRAY_F64, y, PV_PACKED, NULL, false));
    ok(pv_schema_learn(ctx, table, &(pv_roles){.target = "y", .group = "g"}, &schema, &data));
    assert_int_equal(schema->features, 1);
    assert_memory_equal(data->group, groups, sizeof groups);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
}

/* A schema built by hand, and a copy: fits treat them like a learned one. */
static void schemas_by_hand(void **state) {
    (void)state;
    static const char *const labels[] = {"no", "yes"}, *const names[] = {"a", "b"};
    pv_schema *schema, *copy;
    assert_int_equal(pv_schema_new(ctx, "y", labels, 1, names, 2, &schema), PV_ERR_USAGE);
    assert_null(schema);
    ok(pv_schema_new(ctx, "y", labels, 2, NULL, 2, &schema));
    assert_string_equal(schema->feature[1], "x2");
    pv_schema_free(ctx, schema);
    ok(pv_schema_new(ctx, "y", labels, 2, names, 2, &schema));
    ok(pv_schema_copy(ctx, schema, &copy));
    pv_schema_free(ctx, schema);
    assert_string_equal(copy->target, "y");
    assert_string_equal(copy->labels[1], "yes");
    assert_string_equal(copy->feature[0], "a");
    assert_true(copy->source[1].mean == 0 && copy->source[1].sd == 1);
    pv_roles roles = pv_schema_roles(copy);
    assert_string_equal(roles.target, "y");
    assert_null(roles.weights);
    pv_table *table = table_of("b,a,y\n3,4,yes\n", &roles, copy);
    pv_dataset *data;
    ok(pv_schema_apply(ctx, copy, table, &roles, &data));
    assert_true(x(data, 0, 0) == 4 && x(data, 0, 1) == 3 && data->label[0] == 1);
    pv_dataset_free(ctx, data);
    pv_table_free(ctx, table);
    pv_schema_free(ctx, copy);
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static const pv_table *learn_from;

static pv_status learn_and_apply(pv_ctx *poor) {
    pv_roles roles = {.target = "y", .categorical = "k", .positive = "no", .exclude = "g"};
    pv_schema *schema = NULL;
    pv_dataset *data = NULL, *again = NULL;
    pv_status status = pv_schema_learn(poor, learn_from, &roles, &schema, &data);
    if (status == PV_OK)
        status = pv_schema_apply(poor, schema, learn_from, &roles, &again);
    pv_dataset_free(poor, data);
    pv_dataset_free(poor, again);
    pv_schema_free(poor, schema);
    return status;
}

static void survives_lack_of_memory(void **state) {
    (void)state;
    pv_table *table = table_of(training, NULL, NULL);
    learn_from = table;
    sweep_memory(learn_and_apply);
    pv_table_free(ctx, table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standardises),
        cmocka_unit_test(weights_repeat_rows),
        cmocka_unit_test(scales_extremes),
        cmocka_unit_test(makes_indicators),
        cmocka_unit_test(sorts_labels),
        cmocka_unit_test(takes_number_targets),
        cmocka_unit_test(follows_roles),
        cmocka_unit_test(refuses_missing),
        cmocka_unit_test(refuses_infinite),
        cmocka_unit_test(refuses_weights),
        cmocka_unit_test(refuses_targets),
        cmocka_unit_test(refuses_columns),
        cmocka_unit_test(refuses_collinear),
        cmocka_unit_test(looks_at_all_rows),
        cmocka_unit_test(applies),
        cmocka_unit_test(applies_to_itself),
        cmocka_unit_test(apply_refuses),
        cmocka_unit_test(tables_are_read_for_them),
        cmocka_unit_test(groups_are_checked),
        cmocka_unit_test(schemas_by_hand),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests_name("encode", tests, setup, teardown);
}

/* Trees in ONNX, built from operators that every runtime supports in double precision: all trees descend one level at a
 * time.
 */
#include <math.h>

#include "export/onnx.h"

/* One number of every node, [trees x nodes], as a column of a matrix. */
static pv__onnx_name put_node_numbers(pv__onnx *w, const pv__step *nodes, size_t which, double least) {
    pv__onnx_name called = pv__onnx_another(w);
    double *value = NULL;
    if (w->nodes.status == PV_OK)
        w->nodes.status = pv__alloc(w->ctx, nodes->rows, sizeof *value, &value);
    for (size_t i = 0; value && i < nodes->rows; i++)
        value[i] = fmax(least, nodes->value[i * PV__NODE_NUMBERS + which]);
    if (value)
        pv__onnx_tensor(w, called.text, DOUBLE, &nodes->rows, 1, value);
    pv__free(w->ctx, value);
    return called;
}

/* The column of x [rows][inputs] selected for each tree, [rows][trees]. */
static pv__onnx_name put_named_columns(pv__onnx *w, const char *x, const char *column) {
    pv__onnx_name whole = pv__onnx_another(w), value = pv__onnx_another(w);
    pv__onnx_cast(w, column, INT64, whole.text);
    pv__onnx_with_integer(w, "axis", 1);
    pv__onnx_node2(w, "GatherElements", x, whole.text, value.text);
    return value;
}

/* One level of descent for all trees: `at` [rows][trees] is the current node of each row, numbered over all trees. At a
 * leaf it does not change. */
static pv__onnx_name put_level_of_trees(pv__onnx *w, const char *x, const char *at, const pv__onnx_name *table,
                                        const char *first) {
    static const double half = 0.5, zero = 0;
    pv__onnx_name cell[PV__NODE_NUMBERS],
        constant[2] = {pv__onnx_another(w), pv__onnx_another(w)}, below = pv__onnx_another(w),
        above = pv__onnx_another(w), beside = pv__onnx_another(w), right = pv__onnx_another(w),
        number = pv__onnx_another(w), own = pv__onnx_another(w), twice = pv__onnx_another(w),
        next = pv__onnx_another(w), moved = pv__onnx_another(w), made = pv__onnx_another(w),
        inside = pv__onnx_another(w), one = pv__onnx_integer(w, 1), two = pv__onnx_integer(w, 2),
        leaf = pv__onnx_another(w);
    for (int i = 0; i < PV__NODE_NUMBERS; i++) {
        cell[i] = pv__onnx_another(w);
        pv__onnx_node2(w, "Gather", table[i].text, at, cell[i].text);
    }
    pv__onnx_tensor(w, constant[0].text, DOUBLE, NULL, 0, &half);
    pv__onnx_tensor(w, constant[1].text, DOUBLE, NULL, 0, &zero);
    pv__onnx_name input = pv__onnx_another(w), absent = pv__onnx_another(w), known = pv__onnx_another(w),
                  flag = pv__onnx_another(w), given = pv__onnx_another(w);
    pv__onnx_node2(w, "Max", cell[PV__NODE_INPUT].text, constant[1].text, input.text);
    pv__onnx_node2(w, "Max", cell[PV__NODE_ABSENT].text, constant[1].text, absent.text);
    pv__onnx_name value = put_named_columns(w, x, input.text), missing = put_named_columns(w, x, absent.text);
    pv__onnx_node2(w, "Less", value.text, cell[PV__NODE_VALUE].text, below.text);
    pv__onnx_node1(w, "Not", below.text, above.text);
    pv__onnx_node2(w, "Greater", missing.text, constant[0].text, flag.text);
    pv__onnx_node2(w, "GreaterOrEqual", cell[PV__NODE_ABSENT].text, constant[1].text, known.text);
    pv__onnx_node2(w, "And", flag.text, known.text, given.text);
    pv__onnx_node2(w, "Greater", cell[PV__NODE_RIGHT].text, constant[0].text, beside.text);
    pv__onnx_name known_right = pv__onnx_another(w), not_given = pv__onnx_another(w), told_right = pv__onnx_another(w);
    pv__onnx_node2(w, "And", given.text, beside.text, told_right.text);
    pv__onnx_node1(w, "Not", given.text, not_given.text);
    pv__onnx_node2(w, "And", not_given.text, above.text, known_right.text);
    pv__onnx_node2(w, "Or", told_right.text, known_right.text, right.text);
    pv__onnx_cast(w, right.text, INT64, number.text);
    pv__onnx_node2(w, "Sub", at, first, own.text); /* index within its tree */
    pv__onnx_node2(w, "Mul", own.text, two.text, twice.text);
    pv__onnx_node2(w, "Add", twice.text, one.text, next.text);
    pv__onnx_node2(w, "Add", next.text, number.text, inside.text);
    pv__onnx_node2(w, "Add", inside.text, first, moved.text);
    pv__onnx_node2(w, "GreaterOrEqual", cell[PV__NODE_INPUT].text, constant[1].text, leaf.text);
    const char *where[] = {leaf.text, moved.text, at};
    pv__onnx_node(w, "Where", NULL, where, 3, made.text);
    return made;
}

/* A tensor [1][trees] with the root of each tree. */
static pv__onnx_name put_roots(pv__onnx *w, size_t trees, size_t nodes) {
    int64_t *root = NULL;
    pv__onnx_name flat = {.text = ""}, called = pv__onnx_another(w), zero = pv__onnx_integer(w, 0);
    if (w->nodes.status == PV_OK)
        w->nodes.status = pv__alloc(w->ctx, trees, sizeof *root, &root);
    for (size_t t = 0; root && t < trees; t++)
        root[t] = (int64_t)(t * nodes);
    if (root)
        flat = pv__onnx_integers(w, root, trees);
    pv__free(w->ctx, root);
    pv__onnx_node2(w, "Unsqueeze", flat.text, zero.text, called.text);
    return called;
}

void pv__onnx_trees(pv__onnx *w, const pv__step *step, const char *out) {
    const pv__step *nodes = pv__onnx_step(w, step->from[1]);
    size_t each = ((size_t)2 << step->first) - 1, trees = nodes->rows / each;
    const double zero = 0;
    const int64_t rounds[] = {-1, (int64_t)(trees / step->width), (int64_t)step->width};
    pv__onnx_name x = pv__onnx_taken(w, step->from[0]), table[PV__NODE_NUMBERS], first = put_roots(w, trees, each),
                  at = pv__onnx_another(w), none = pv__onnx_another(w), column = pv__onnx_another(w),
                  begin = pv__onnx_integer(w, 0), end = pv__onnx_integer(w, 1), axis = pv__onnx_integer(w, 1),
                  flat = pv__onnx_another(w), whole = pv__onnx_another(w), leaf = pv__onnx_another(w),
                  shaped = pv__onnx_another(w), sum = pv__onnx_integer(w, 1), squeezed = pv__onnx_another(w);
    for (int i = 0; i < PV__NODE_NUMBERS; i++)
        table[i] = put_node_numbers(w, nodes, (size_t)i, i == PV__NODE_VALUE ? -INFINITY : -1);
    const char *slice[] = {x.text, begin.text, end.text, axis.text};
    pv__onnx_node(w, "Slice", NULL, slice, 4, column.text); /* repeated for the rows of x */
    pv__onnx_tensor(w, none.text, DOUBLE, NULL, 0, &zero);
    pv__onnx_node2(w, "Mul", column.text, none.text, flat.text);
    pv__onnx_cast(w, flat.text, INT64, whole.text);
    pv__onnx_node2(w, "Add", whole.text, first.text, at.text);
    for (size_t level = 0; level < step->first; level++)
        at = put_level_of_trees(w, x.text, at.text, table, first.text);
    pv__onnx_node2(w, "Gather", table[PV__NODE_VALUE].text, at.text, leaf.text);
    pv__onnx_reshaped(w, leaf.text, rounds, 3, shaped.text);
    pv__onnx_with_integer(w, "keepdims", 0);
    pv__onnx_node2(w, "ReduceSum", shaped.text, sum.text, squeezed.text);
    pv__onnx_node1(w, "Identity", squeezed.text, out);
}

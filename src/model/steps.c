/* Lists of steps: memory and construction. */
#include "model/steps.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

/* ---- memory ------------------------------------------------------------------------------------------------------ */

void pv__steps_clear(pv__steps *s) {
    for (int i = 0; i < s->count; i++) {
        pv__free(s->ctx, s->step[i].from);
        pv__free(s->ctx, s->step[i].value);
    }
    for (int i = 0; i < s->inputs; i++) {
        pv__free(s->ctx, s->input[i].name);
        pv__free(s->ctx, s->input[i].number);
        pv_string_list_free(s->ctx, s->input[i].level, s->input[i].levels);
    }
    pv_string_list_free(s->ctx, s->absent, s->absents);
    pv__free(s->ctx, s->step);
    pv__free(s->ctx, s->input);
    *s = (pv__steps){.ctx = s->ctx};
}

static bool failed(pv__steps *s, pv_status status) {
    if (s->status == PV_OK)
        s->status = status;
    return s->status != PV_OK;
}

/* Allocates a block, unless something has failed before. */
static bool get(pv__steps *s, size_t count, size_t size, void *block) {
    return s->status == PV_OK && !failed(s, pv__alloc(s->ctx, count, size, block));
}

/* Makes space for one more element, growing by half. */
static bool grow(pv__steps *s, int count, int *room, size_t size, void *block) {
    if (count < *room)
        return true;
    int more = *room + *room / 2 + 16;
    if (failed(s, pv__resize(s->ctx, (size_t)more, size, block)))
        return false;
    *room = more;
    return true;
}

/* Appends a step with a copy of its operands. Takes ownership of value in any case. */
static int append(pv__steps *s, pv__step step, const int *from, int inputs, double *value) {
    bool sound = s->status == PV_OK && grow(s, s->count, &s->room, sizeof *s->step, &s->step);
    int *own = NULL;
    if (sound && inputs > 0)
        sound = get(s, (size_t)inputs, sizeof *own, &own);
    if (!sound) {
        pv__free(s->ctx, value);
        return -1;
    }
    if (inputs > 0)
        memcpy(own, from, (size_t)inputs * sizeof *own);
    step.from = own;
    step.inputs = inputs;
    step.value = value;
    step.rows = step.rows > 0 ? step.rows : 1;
    s->step[s->count] = step;
    return s->count++;
}

/* Whether any of these steps is drawn. */
static bool any_drawn(const pv__steps *s, const int *from, int n) {
    for (int i = 0; i < n; i++)
        if (s->step[from[i]].drawn)
            return true;
    return false;
}

static bool all_there(pv__steps *s, const int *from, int n) {
    for (int i = 0; i < n && s->status == PV_OK; i++)
        if (from[i] < 0 || from[i] >= s->count)
            (void)failed(s, pv__fail(s->ctx, PV_ERR_INTERNAL, "a step takes what is not there"));
    return s->status == PV_OK;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* Whether all levels are numbers in their shortest form, so that number cells can be compared with them. */
static bool are_numbers(char *const *level, size_t levels, double *number) {
    for (size_t i = 0; i < levels; i++) {
        char text[32];
        if (!pv__number_parse(level[i], strlen(level[i]), &number[i]) || !isfinite(number[i]))
            return false;
        (void)pv_format_double(number[i], text, sizeof text);
        if (strcmp(text, level[i]) != 0)
            return false;
    }
    return levels > 0;
}

static bool fill_input(pv__steps *s, const char *name, char *const *level, size_t levels, pv__step_input *input) {
    *input = (pv__step_input){.levels = 0};
    if (failed(s, pv__strdup(s->ctx, name, &input->name)))
        return false;
    if (levels == 0)
        return true;
    input->levels = levels;
    if (failed(s, pv__names_copy(s->ctx, (const char *const *)level, levels, &input->level)))
        return false;
    if (!get(s, levels, sizeof *input->number, &input->number))
        return false;
    input->text = !are_numbers(level, levels, input->number);
    return true;
}

int pv__steps_input(pv__steps *s, const char *name, char *const *level, size_t levels) {
    for (int i = 0; s->status == PV_OK && i < s->inputs; i++)
        if (strcmp(s->input[i].name, name) == 0)
            return i;
    if (s->status != PV_OK || !grow(s, s->inputs, &s->inputs_room, sizeof *s->input, &s->input))
        return -1;
    bool whole = fill_input(s, name, level, levels, &s->input[s->inputs]);
    s->inputs++; /* now freed with the others, even if incomplete */
    return whole ? s->inputs - 1 : -1;
}

int pv__steps_numbers(pv__steps *s, const int *input, int n) {
    return append(s, (pv__step){.kind = PV__STEP_NUMBERS, .width = (size_t)n}, input, n, NULL);
}

int pv__steps_place(pv__steps *s, int input) {
    for (int i = 0; i < s->count; i++)
        if (s->step[i].kind == PV__STEP_PLACE && s->step[i].from[0] == input)
            return i;
    return append(s, (pv__step){.kind = PV__STEP_PLACE, .width = 1}, &input, 1, NULL);
}

int pv__steps_pixels(pv__steps *s, size_t views, size_t size) {
    s->views = views;
    s->size = size;
    return append(s, (pv__step){.kind = PV__STEP_PIXELS, .width = views * size * size}, NULL, 0, NULL);
}

int pv__steps_prevalence(pv__steps *s, size_t width) {
    return append(s, (pv__step){.kind = PV__STEP_PREVALENCE, .width = width}, NULL, 0, NULL);
}

int pv__steps_drawn(pv__steps *s, size_t draws, size_t rows, size_t width, const double *value) {
    size_t count = (draws ? draws : 1) * rows * width;
    double *own = NULL;
    if (!get(s, count, sizeof *own, &own))
        return -1;
    memcpy(own, value, count * sizeof *own);
    if (draws > 0)
        s->draws = draws;
    return append(s, (pv__step){.kind = PV__STEP_CONSTANT, .rows = rows, .width = width, .drawn = draws > 0}, NULL, 0,
                  own);
}

int pv__steps_matrix(pv__steps *s, size_t rows, size_t width, const double *value) {
    return pv__steps_drawn(s, 0, rows, width, value);
}

int pv__steps_number(pv__steps *s, double value) {
    return pv__steps_matrix(s, 1, 1, &value);
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

bool pv__parameters_drawn(const pv__parameters *p, size_t at) {
    return p->draws && at + p->dims >= p->count;
}

double pv__parameter(const pv__parameters *p, size_t draw, size_t at) {
    return pv__parameters_drawn(p, at) ? p->draws[draw * p->dims + at + p->dims - p->count] : p->w[at];
}

int pv__steps_gather(pv__steps *s, const pv__parameters *p, size_t rows, size_t width, const ptrdiff_t *place) {
    size_t n = rows * width, draws = 0;
    double *value = NULL;
    for (size_t i = 0; i < n; i++)
        if (place[i] >= 0 && pv__parameters_drawn(p, (size_t)place[i]))
            draws = p->draw_count;
    if (!get(s, (draws ? draws : 1) * n, sizeof *value, &value))
        return -1;
    for (size_t d = 0; d < (draws ? draws : 1); d++)
        for (size_t i = 0; i < n; i++)
            value[d * n + i] = place[i] >= 0 ? pv__parameter(p, d, (size_t)place[i]) : place[i] == PV__ONE;
    int made = pv__steps_drawn(s, draws, rows, width, value);
    pv__free(s->ctx, value);
    return made;
}

int pv__steps_parameters(pv__steps *s, const pv__parameters *p, size_t first, size_t rows, size_t width) {
    size_t n = rows * width;
    ptrdiff_t *place = NULL;
    if (!get(s, n, sizeof *place, &place))
        return -1;
    for (size_t i = 0; i < n; i++)
        place[i] = (ptrdiff_t)(first + i);
    int made = pv__steps_gather(s, p, rows, width, place);
    pv__free(s->ctx, place);
    return made;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

int pv__steps_one(pv__steps *s, pv__step_kind kind, int a) {
    if (!all_there(s, &a, 1))
        return -1;
    const pv__step *of = &s->step[a];
    pv__step step = {.kind = kind, .width = of->width, .drawn = of->drawn && kind != PV__STEP_MEAN};
    if (kind == PV__STEP_SUM || kind == PV__STEP_TOP)
        step.width = 1;
    return append(s, step, &a, 1, NULL);
}

int pv__steps_two(pv__steps *s, pv__step_kind kind, int a, int b) {
    const int from[] = {a, b};
    if (!all_there(s, from, 2))
        return -1;
    size_t left = s->step[a].width, right = s->step[b].width;
    bool matrix = kind == PV__STEP_MATMUL || kind == PV__STEP_LOOKUP;
    bool fits = kind == PV__STEP_MATMUL   ? left == s->step[b].rows
                : kind == PV__STEP_LOOKUP ? left == 1
                                          : left == right || left == 1 || right == 1;
    if (!fits)
        (void)failed(s, pv__fail(s->ctx, PV_ERR_INTERNAL, "arrays of %zu and %zu columns do not match", left, right));
    size_t width = matrix ? right : left > right ? left : right;
    return append(s, (pv__step){.kind = kind, .width = width, .drawn = any_drawn(s, from, 2)}, from, 2, NULL);
}

int pv__steps_trees(pv__steps *s, int x, size_t trees, int levels, size_t sums, const double *node) {
    const int from[] = {x, pv__steps_matrix(s, trees * (((size_t)2 << levels) - 1), PV__NODE_NUMBERS, node)};
    if (!all_there(s, from, 2))
        return -1;
    return append(s, (pv__step){.kind = PV__STEP_TREES, .width = sums, .first = (size_t)levels}, from, 2, NULL);
}

int pv__steps_select(pv__steps *s, int condition, int yes, int no) {
    const int from[] = {condition, yes, no};
    size_t width = 1;
    if (!all_there(s, from, 3))
        return -1;
    for (int i = 0; i < 3; i++)
        width = s->step[from[i]].width > width ? s->step[from[i]].width : width;
    return append(s, (pv__step){.kind = PV__STEP_SELECT, .width = width, .drawn = any_drawn(s, from, 3)}, from, 3,
                  NULL);
}

int pv__steps_slice(pv__steps *s, int a, size_t first, size_t width) {
    if (!all_there(s, &a, 1))
        return -1;
    if (first == 0 && width == s->step[a].width)
        return a;
    return append(s, (pv__step){.kind = PV__STEP_SLICE, .first = first, .width = width, .drawn = s->step[a].drawn}, &a,
                  1, NULL);
}

int pv__steps_concat(pv__steps *s, const int *part, int n) {
    size_t width = 0;
    if (!all_there(s, part, n))
        return -1;
    if (n == 1)
        return part[0];
    for (int i = 0; i < n; i++)
        width += s->step[part[i]].width;
    return append(s, (pv__step){.kind = PV__STEP_CONCAT, .width = width, .drawn = any_drawn(s, part, n)}, part, n,
                  NULL);
}

int pv__steps_image(pv__steps *s, pv__step_kind kind, const int *from, int n, const pv__node *node) {
    if (!all_there(s, from, n))
        return -1;
    if (any_drawn(s, from, n))
        (void)failed(s, pv__fail(s->ctx, PV_ERR_USAGE,
                                 "a posterior over all weights of a network of images cannot be exported:\nfit it with "
                                 "`infer=map`, or a posterior of the last layer"));
    size_t width = node->out.channels * node->out.height * node->out.width;
    return append(s, (pv__step){.kind = kind, .width = width, .node = *node}, from, n, NULL);
}

int pv__steps_views(pv__steps *s, int a, size_t features, size_t how) {
    if (!all_there(s, &a, 1))
        return -1;
    return append(s, (pv__step){.kind = PV__STEP_VIEWS, .width = features, .first = how}, &a, 1, NULL);
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* Whether `from` refers to steps rather than inputs. */
static bool takes_steps(const pv__step *step) {
    return step->kind > PV__STEP_CONSTANT;
}

void pv__steps_prune(pv__steps *s, int *last) {
    int *place = NULL; /* 0: not needed; otherwise the new number */
    if (!get(s, (size_t)s->count, sizeof *place, &place))
        return;
    place[*last] = 1;
    for (int i = s->count - 1; i >= 0; i--)
        for (int j = 0; place[i] && takes_steps(&s->step[i]) && j < s->step[i].inputs; j++)
            place[s->step[i].from[j]] = 1;
    int kept = 0;
    for (int i = 0; i < s->count; i++) {
        pv__step *step = &s->step[i];
        if (!place[i]) {
            pv__free(s->ctx, step->from);
            pv__free(s->ctx, step->value);
            continue;
        }
        for (int j = 0; takes_steps(step) && j < step->inputs; j++)
            step->from[j] = place[step->from[j]];
        place[i] = kept;
        s->step[kept++] = *step;
    }
    *last = place[*last];
    s->count = kept;
    pv__free(s->ctx, place);
}

pv_status pv__steps_phases(const pv__steps *s, pv__step_phase **phase) {
    PV_TRY(pv__alloc(s->ctx, (size_t)s->count, sizeof **phase, phase));
    for (int i = 0; i < s->count; i++) {
        const pv__step *step = &s->step[i];
        bool after = step->kind == PV__STEP_MEAN;
        for (int j = 0; takes_steps(step) && j < step->inputs; j++)
            after |= (*phase)[step->from[j]] == PV__AFTER_DRAWS;
        (*phase)[i] = step->drawn ? PV__EACH_DRAW : after ? PV__AFTER_DRAWS : PV__BEFORE_DRAWS;
    }
    return PV_OK;
}

/* ---- combinations of steps --------------------------------------------------------------------------------------- */

int pv__steps_log_softmax(pv__steps *s, int a) {
    int z = pv__steps_two(s, PV__STEP_SUBTRACT, a, pv__steps_one(s, PV__STEP_TOP, a));
    int sum = pv__steps_one(s, PV__STEP_SUM, pv__steps_one(s, PV__STEP_EXP, z));
    return pv__steps_two(s, PV__STEP_SUBTRACT, z, pv__steps_one(s, PV__STEP_LOG, sum));
}

int pv__steps_log_sigma(pv__steps *s, int a) {
    int zero = pv__steps_number(s, 0), one = pv__steps_number(s, 1);
    int size = pv__steps_one(s, PV__STEP_ABS, a);
    int tail = pv__steps_one(s, PV__STEP_EXP, pv__steps_two(s, PV__STEP_SUBTRACT, zero, size));
    int log = pv__steps_one(s, PV__STEP_LOG, pv__steps_two(s, PV__STEP_ADD, one, tail));
    return pv__steps_two(s, PV__STEP_SUBTRACT, pv__steps_two(s, PV__STEP_MIN, a, zero), log);
}

pv__parameters pv__parameters_from(const pv__parameters *p, size_t first, size_t count) {
    return (pv__parameters){.w = p->w + first, .count = count};
}

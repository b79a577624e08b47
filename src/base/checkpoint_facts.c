/* Facts of a checkpoint: lines NAME=VALUE that describe the work of a scope, compared before a state is used. A line
 * that begins with ~ may differ, which is logged; one that begins with ? is compared if both sides have it. */
#include <string.h>

#include "base/reduce.h"

static const char COMMAND[] = "command"; /* stored for display, not compared */

/* The value of NAME among lines NAME=VALUE, and its length; NULL if there is none. */
static const char *value_of(const char *facts, const char *name, size_t length, size_t *size) {
    for (const char *line = facts; *line;) {
        size_t whole = strcspn(line, "\n");
        if (whole > length && strncmp(line, name, length) == 0 && line[length] == '=') {
            *size = whole - length - 1;
            return line + length + 1;
        }
        line += whole + (line[whole] == '\n');
    }
    return NULL;
}

enum { SHOWN = 120 }; /* characters shown of a value */

static void tell(pv_ctx *ctx, const char *name, int length, const char *own, int own_size, const char *there,
                 int size) {
    pv__log(ctx, PV_LOG_WARNING,
            "%.*s is %.*s here but was %.*s when the checkpoint was started: the work continues, but the result may "
            "differ by rounding from that of a run with either alone",
            length, name, own_size, own, size, there);
}

static pv_status refuse(pv_ctx *ctx, const char *theirs, const char *what) {
    size_t size = 0;
    const char *command = value_of(theirs, COMMAND, strlen(COMMAND), &size);
    return pv__fail_at(
        ctx, PV_ERR_USAGE, pv__checkpoint_path(ctx), 0, 0,
        "is a checkpoint of a different run: %s;\nrepeat its options and data, or start again with another "
        "`checkpoint`%s%.*s",
        what, command ? "; it was started by: " : "", (int)(size < SHOWN ? size : SHOWN), command ? command : "");
}

/* Fails with the first line of `one` that differs in `other`; swapped: `one` is that of the file. Compares either
 * options or everything else. The command line is never compared: the same data may come from another file or other
 * options. */
static pv_status compare(pv_ctx *ctx, const char *one, const char *other, bool swapped, bool options) {
    for (const char *line = one; *line;) {
        size_t whole = strcspn(line, "\n"), name = strcspn(line, "="), size = 0;
        const char *there = value_of(other, line, name, &size), *own = line + name + 1;
        size_t own_size = whole > name ? whole - name - 1 : 0;
        bool same = there && (swapped || (size == own_size && memcmp(own, there, size) == 0));
        bool command = name == strlen(COMMAND) && strncmp(line, COMMAND, name) == 0;
        char what[3 * SHOWN + 64];
        if (*line == '~' && !same && there && !options)
            tell(ctx, line + 1, (int)name - 1, own, (int)own_size, there, (int)size);
        same = same || *line == '~' || (*line == '?' && !there);
        if (!same && !command && (*line == '`') == options) {
            int shown = (int)(own_size < SHOWN ? own_size : SHOWN), theirs = (int)(size < SHOWN ? size : SHOWN);
            const char *shown_name = line + (*line == '?');
            int length = (int)(name - (*line == '?'));
            if (swapped)
                pv__format(what, sizeof what, "%.*s was %.*s there and is not given here", length, shown_name, shown,
                           own);
            else
                pv__format(what, sizeof what, "%.*s is %.*s here and was %.*s there", length, shown_name, shown, own,
                           there ? theirs : 9, there ? there : "not given");
            return refuse(ctx, swapped ? one : other, what);
        }
        line += whole + (line[whole] == '\n');
    }
    return PV_OK;
}

/* Compares options first: if an option also changes the data, the message should name the option. */
static pv_status compare_all(pv_ctx *ctx, const char *ours, const char *theirs) {
    for (int options = 1; options >= 0; options--) {
        PV_TRY(compare(ctx, ours, theirs, false, options));
        PV_TRY(compare(ctx, theirs, ours, true, options));
    }
    return PV_OK;
}

/* All ranks must be about to do the same work; their command lines may differ. */
static pv_status compare_ranks(pv_ctx *ctx, const char *facts) {
    char *lines, *command;
    if (!pv__shares(ctx))
        return PV_OK;
    PV_TRY(pv__strdup(ctx, facts, &lines));
    for (char *line = lines; line; line = command ? command + 1 : NULL) {
        command = strchr(line, '\n');
        if (strncmp(line, COMMAND, strlen(COMMAND)) == 0 && line[strlen(COMMAND)] == '=')
            *line = '\0'; /* removes the last separator */
    }
    bool begun = ctx->ranks.begun;
    pv_status status = pv__ranks_compare(ctx, lines);
    ctx->ranks.begun = begun;
    pv__free(ctx, lines);
    return status;
}

pv_status pv_checkpoint_facts(pv_ctx *ctx, const char *facts) {
    PV_TRY(compare_ranks(ctx, facts));
    if (!ctx->checkpoint)
        return PV_OK;
    size_t size = pv_checkpoint_size(ctx, "facts");
    if (size == 0) {
        char *copy;
        PV_TRY(pv__strdup(ctx, facts, &copy));
        pv_field field = {copy, strlen(copy) + 1};
        pv_status status = pv_checkpoint_keep(ctx, "facts", &field, 1);
        pv__free(ctx, copy);
        return status;
    }
    char *theirs;
    bool found;
    PV_TRY(pv__alloc(ctx, size + 1, 1, &theirs));
    pv_status status = pv_checkpoint_recall(ctx, "facts", &(pv_field){theirs, size}, 1, &found);
    if (status == PV_OK)
        status = compare_all(ctx, facts, theirs);
    pv__free(ctx, theirs);
    return status;
}

/* The methods paragraph and the items of TRIPOD+AI, printed and in reports. */
#include "cli/methods.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"
#include "tool/report.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 96, ITEM = 6 };

static const char *text_of(const pv_result *object, const char *name) {
    const char *text = pv_result_text(pv_result_get(object, name));
    return text ? text : "";
}

/* In lines of at most WIDTH characters, each after so many spaces; the first stands where the line is already. */
static void print_wrapped(const char *text, int indent) {
    for (size_t room = (size_t)(WIDTH - indent); *text;) {
        size_t take = strlen(text);
        if (take > room) {
            for (take = room; take > 0 && text[take] != ' ';)
                take--;
            if (take == 0)
                take = strcspn(text, " ");
        }
        printf("%.*s\n", (int)take, text);
        text += take;
        text += strspn(text, " ");
        if (*text)
            printf("%*s", indent, "");
    }
}

static void print_text(const pv_result *methods) {
    print_wrapped(text_of(methods, "text"), 0);
    puts("\nReferences");
    const pv_result *citation = pv_result_get(methods, "citation"), *tripod = pv_result_get(methods, "tripod");
    for (size_t i = 0; i < pv_result_count(citation); i++) {
        fputs("  ", stdout);
        print_wrapped(pv_result_text(pv_result_child(citation, i)), 2);
    }
    puts("\nTRIPOD+AI: items that this fit answers");
    for (size_t i = 0; i < pv_result_count(tripod); i++) {
        const pv_result *item = pv_result_child(tripod, i);
        const char *authors = text_of(item, "authors");
        if (!*text_of(item, "text"))
            continue;
        printf("  %-*s%s\n%*s", ITEM - 2, text_of(item, "item"), text_of(item, "topic"), ITEM, "");
        print_wrapped(text_of(item, "text"), ITEM);
        if (*authors) {
            printf("%*sTo be filled by the authors: ", ITEM, "");
            print_wrapped(authors, ITEM);
        }
    }
    puts("\nTRIPOD+AI: items to be filled by the authors");
    for (size_t i = 0; i < pv_result_count(tripod); i++) {
        const pv_result *item = pv_result_child(tripod, i);
        const char *authors = text_of(item, "authors");
        if (!*text_of(item, "text"))
            printf("  %-*s%s%s%s\n", ITEM - 2, text_of(item, "item"), text_of(item, "topic"),
                   strcmp(authors, "all") == 0 ? "" : ": ", strcmp(authors, "all") == 0 ? "" : authors);
    }
}

int cli_print_methods(cli_call *call, const pv_classifier *classifier, const pv_methods_options *options, bool json) {
    pv_result *methods;
    pv_status status = pv_methods(call->ctx, classifier, options, &methods);
    if (status != PV_OK)
        return cli_fail(call, status);
    if (json) {
        cli_json_print(call, methods); /* frees it */
        return CLI_OK;
    }
    print_text(methods);
    pv_result_free(methods);
    return CLI_OK;
}

int report_put_methods(cli_call *call, pv_report *report, const pv_classifier *classifier,
                       const pv_methods_options *options) {
    static const char *const heads[] = {"item", "topic", "from this analysis", "to be filled by the authors"};
    pv_result *methods;
    pv_status status = pv_methods(call->ctx, classifier, options, &methods);
    if (status != PV_OK)
        return cli_fail(call, status);
    pv_report_section(report, "methods", "Methods, for a manuscript");
    pv_report_paragraph(report, text_of(methods, "text"));
    const pv_result *citation = pv_result_get(methods, "citation"), *tripod = pv_result_get(methods, "tripod");
    pv_report_paragraph(report, "References:");
    for (size_t i = 0; i < pv_result_count(citation); i++)
        pv_report_paragraph(report, pv_result_text(pv_result_child(citation, i)));
    report_cells cells = {0};
    for (size_t i = 0; i < pv_result_count(tripod); i++) {
        const pv_result *item = pv_result_child(tripod, i);
        report_cell(&cells, text_of(item, "item"));
        report_cell(&cells, text_of(item, "topic"));
        report_cell(&cells, text_of(item, "text"));
        report_cell(&cells, text_of(item, "authors"));
    }
    report_put_cells(report, &cells, "Items of the TRIPOD+AI checklist (BMJ 2024; 385: e078378)", "tttt", heads, true);
    pv_result_free(methods);
    return CLI_OK;
}

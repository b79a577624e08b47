/* Elements of SVG. Colours are classes: in a page they follow light and dark, in a file they are fixed. */
#include "report/svg.h"

#include <math.h>
#include <string.h>

#include "report/glyphs.h"

/* ---- colours ----------------------------------------------------------------------------------------------------- */

typedef struct ink {
    const char *word, *light, *dark;
} ink;

static const ink inks[] = {
#define INK(name, word, light, dark) {word, light, dark},
    PV_INK_LIST(INK)
#undef INK
};

const char *pv__ink_word(pv_ink which) {
    return inks[which].word;
}

void pv__put_palette(FILE *out, const char *root, bool dark) {
    fprintf(out, "%s{", root);
    for (int i = 0; i < PV_INKS; i++)
        fprintf(out, "--%s:%s;", inks[i].word, dark ? inks[i].dark : inks[i].light);
    fputs("}\n", out);
}

void pv__put_classes(FILE *out) {
    for (int i = 0; i < PV_INKS; i++)
        fprintf(out, ".l-%s{stroke:var(--%s);fill:none}.f-%s{fill:var(--%s)}\n", inks[i].word, inks[i].word,
                inks[i].word, inks[i].word);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static const struct pv_glyph *find_glyph(uint32_t code) {
    size_t low = 0, high = PV_GLYPHS;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (pv_glyphs[middle].code == code)
            return &pv_glyphs[middle];
        if (pv_glyphs[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static uint32_t next_character(const char **text) {
    uint32_t code = 0xFFFD;
    size_t length = pv_utf8_next(*text, &code);
    *text += length ? length : 1;
    return length ? code : 0xFFFD;
}

/* Characters that the font lacks count as wide ones. */
double pv__text_width(const char *text, double size) {
    double width = 0;
    while (*text) {
        const struct pv_glyph *glyph = find_glyph(next_character(&text));
        width += glyph ? (double)glyph->advance / PV_GLYPH_EM : 1.1;
    }
    return width * size;
}

static bool has_outlines(const char *text) {
    while (*text)
        if (!find_glyph(next_character(&text)))
            return false;
    return true;
}

static void put_outline(FILE *out, const struct pv_glyph *glyph, double x, double scale) {
    const int16_t *p = pv_glyph_outline + glyph->start;
    bool open = false;
    for (; *p; p += 3) {
        if (*p == 'M' && open)
            fputc('z', out);
        open = true;
        fprintf(out, "%c%.2f %.2f", (char)*p, x + scale * p[1], -scale * p[2]);
        if (*p == 'Q') {
            fprintf(out, " %.2f %.2f", x + scale * p[3], -scale * p[4]);
            p += 2;
        }
    }
    if (open)
        fputc('z', out);
}

static void put_path_text(pv__svg *svg, double x, double y, char anchor, double size, pv_ink color, bool bold,
                          bool turned, const char *text) {
    double width = pv__text_width(text, size), at = anchor == 's' ? 0 : anchor == 'm' ? -width / 2 : -width;
    fprintf(svg->out, "<path class=\"f-%s\"%s transform=\"translate(%.1f %.1f)%s\" d=\"", inks[color].word,
            bold ? " stroke=\"currentColor\" stroke-width=\"0.4\"" : "", x, y, turned ? " rotate(-90)" : "");
    while (*text) {
        const struct pv_glyph *glyph = find_glyph(next_character(&text));
        put_outline(svg->out, glyph, at, size / PV_GLYPH_EM);
        at += size * (double)glyph->advance / PV_GLYPH_EM;
    }
    fputs("\"/>\n", svg->out);
}

static void put_text(pv__svg *svg, double x, double y, char anchor, double size, pv_ink color, bool bold, bool turned,
                     const char *text, const char *whole) {
    if (svg->outlines && has_outlines(text)) {
        put_path_text(svg, x, y, anchor, size, color, bold, turned, text);
        return;
    }
    static const char *const anchors[] = {"start", "middle", "end"};
    fprintf(svg->out, "<text class=\"f-%s\" text-anchor=\"%s\" font-size=\"%g\"%s", inks[color].word,
            anchors[anchor == 's'   ? 0
                    : anchor == 'm' ? 1
                                    : 2],
            size, bold ? " font-weight=\"600\"" : "");
    if (turned)
        fprintf(svg->out, " transform=\"translate(%.1f %.1f) rotate(-90)\">", x, y);
    else
        fprintf(svg->out, " x=\"%.1f\" y=\"%.1f\">", x, y);
    pv__put_html(svg->out, text);
    if (whole) {
        char shown[1024];
        pv__shorten(whole, 300, shown, sizeof shown);
        fputs("<title>", svg->out);
        pv__put_html(svg->out, shown);
        fputs("</title>", svg->out);
    }
    fputs("</text>\n", svg->out);
}

void pv__svg_text(pv__svg *svg, double x, double y, char anchor, double size, pv_ink color, bool bold, bool turned,
                  const char *text) {
    put_text(svg, x, y, anchor, size, color, bold, turned, text, NULL);
}

void pv__svg_fitted(pv__svg *svg, double x, double y, char anchor, double size, pv_ink color, bool bold, bool turned,
                    double width, const char *text) {
    char shown[512];
    size_t most = 120;
    pv__shorten(text, most, shown, sizeof shown);
    while (most > 2 && pv__text_width(shown, size) > width)
        pv__shorten(text, --most, shown, sizeof shown);
    put_text(svg, x, y, anchor, size, color, bold, turned, shown, strcmp(shown, text) == 0 ? NULL : text);
}

/* SVG elements. Colours are classes: in a page they follow light or dark mode, in a file they are fixed. */
#include "report/svg.h"

#include <math.h>
#include <string.h>

#include "report/glyphs.h"

_Static_assert((int)PV_GLYPHS <= (int)PV_GLYPHS_MAX, "a font of more glyphs than pv__svg has room for");

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

pv_ink pv_ink_named(const char *word) {
    for (int i = 0; i < PV_INKS; i++)
        if (strcmp(inks[i].word, word) == 0)
            return (pv_ink)i;
    return PV_INK_TEXT;
}

void pv__put_palette(FILE *out, const char *root, bool dark) {
    pv__print(out, "%s{", root);
    for (int i = 0; i < PV_INKS; i++)
        pv__print(out, "--%s:%s;", inks[i].word, dark ? inks[i].dark : inks[i].light);
    fputs("}\n", out);
}

void pv__put_classes(FILE *out, bool fixed) {
    for (int i = 0; i < PV_INKS; i++) {
        const char *word = inks[i].word;
        char colour[32];
        pv__format(colour, sizeof colour, fixed ? "%s" : "var(--%s)", fixed ? inks[i].light : word);
        pv__print(out, ".l-%s{stroke:%s;fill:none}.f-%s{fill:%s}.s-%s{stroke:%s}\n", word, colour, word, colour, word,
                  colour);
    }
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

/* Characters that the font lacks are assumed to be wide. */
double pv__text_width(const char *text, double size) {
    double width = 0;
    while (*text) {
        const struct pv_glyph *glyph = find_glyph(next_character(&text));
        width += glyph ? (double)glyph->advance / PV_GLYPH_EM : 1.1;
    }
    return width * size;
}

static bool has_outlines(const char *text) {
    if (!PV_GLYPH_OUTLINES)
        return false;
    while (*text)
        if (!find_glyph(next_character(&text)))
            return false;
    return true;
}

/* Writes each glyph once, in font units; text refers to them. */
void pv__put_glyphs(const pv__svg *svg) {
    fputs("<defs>\n", svg->out);
    for (size_t g = 0; g < PV_GLYPHS; g++) {
        if (!svg->used[g])
            continue;
        pv__print(svg->out, "<path id=\"g%zu\" d=\"", g);
        const int16_t *p = pv_glyph_outline + pv_glyphs[g].start;
        for (bool open = false; *p; open = true) {
            pv__print(svg->out, "%s%c%d %d", *p == 'M' && open ? "z" : "", (char)*p, p[1], -p[2]);
            if (*p == 'Q')
                pv__print(svg->out, " %d %d", p[3], -p[4]);
            p += *p == 'Q' ? 5 : 3;
        }
        fputs("z\"/>\n", svg->out);
    }
    fputs("</defs>\n", svg->out);
}

static void put_path_text(pv__svg *svg, double x, double y, char anchor, double size, pv_ink color, bool bold,
                          bool turned, const char *text) {
    double scale = size / PV_GLYPH_EM, width = pv__text_width(text, size) / scale;
    long at = lround(anchor == 's' ? 0 : anchor == 'm' ? -width / 2 : -width);
    pv__print(svg->out, "<g class=\"f-%s\"%s transform=\"translate(%.1f %.1f)%s scale(%.5g)\">", inks[color].word,
              bold ? " stroke=\"currentColor\" stroke-width=\"70\"" : "", x, y, turned ? " rotate(-90)" : "", scale);
    while (*text) {
        const struct pv_glyph *glyph = find_glyph(next_character(&text));
        if (pv_glyph_outline[glyph->start]) { /* a space has no outline */
            svg->used[glyph - pv_glyphs] = true;
            pv__print(svg->out, "<use href=\"#g%zu\" x=\"%ld\"/>", (size_t)(glyph - pv_glyphs), at);
        }
        at += glyph->advance;
    }
    fputs("</g>\n", svg->out);
}

static void put_text(pv__svg *svg, double x, double y, char anchor, double size, pv_ink color, bool bold, bool turned,
                     const char *text, const char *whole) {
    if (svg->outlines && has_outlines(text)) {
        put_path_text(svg, x, y, anchor, size, color, bold, turned, text);
        return;
    }
    static const char *const anchors[] = {"start", "middle", "end"};
    pv__print(svg->out, "<text class=\"f-%s\" text-anchor=\"%s\" font-size=\"%g\"%s", inks[color].word,
              anchors[anchor == 's'   ? 0
                      : anchor == 'm' ? 1
                                      : 2],
              size, bold ? " font-weight=\"600\"" : "");
    if (turned)
        pv__print(svg->out, " transform=\"translate(%.1f %.1f) rotate(-90)\">", x, y);
    else
        pv__print(svg->out, " x=\"%.1f\" y=\"%.1f\">", x, y);
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

#!/usr/bin/python3
"""Relative links and pictures of the pages in docs/: the file exists, and so does the heading. Every page is in the navigation. The
options that guides name exist. usage: links.py PREVAIL
"""
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
DOCS = SOURCE / "docs"
MADE = {f"reference/{name}.md" for name in ("command", "python", "r", "c")} | {"lab/README.md", "CHANGELOG.md"}  # by scripts/site


def slugs(path):
    """Anchors of the headings, as Python-Markdown makes them."""
    text = re.sub(r"^ *```.*?^ *```", "", path.read_text(), flags=re.S | re.M)
    found = set()
    for title in re.findall(r"^#+ +(.*?)\s*$", text, re.M):
        title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).replace("`", "")
        slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower())
        number, unique = 0, slug
        while unique in found:
            number += 1
            unique = f"{slug}_{number}"
        found.add(unique)
    return found


def options(prevail):
    """All options of the command, and those of other programs that pages show."""
    names = re.findall(r"X\((\w+)\)", (SOURCE / "cli/commands.h").read_text().split("#define CLI_COMMAND_DECLARE")[0])
    found = {"--cflags", "--libs"}
    for name in names:
        shown = subprocess.run([prevail, name, "--help", "all"], check=True, capture_output=True, text=True).stdout
        found |= set(re.findall(r"^ +(?:-o, )?(--[a-z][a-z0-9-]*)", shown, re.M))
    return found


def main():
    known = options(sys.argv[1])
    wrong, links = [], 0
    pages = sorted(DOCS.rglob("*.md")) + [SOURCE / "README.md", DOCS / "llms.txt"]
    for page in pages:
        text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.S | re.M)
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
            if re.match(r"[a-z]+:", target):
                continue
            links += 1
            name, _, anchor = target.partition("#")
            path = (page.parent / name).resolve() if name else page
            if path.is_relative_to(DOCS) and str(path.relative_to(DOCS)) in MADE:
                continue
            if path.parent.parent.name == "figures":  # written by the page's own examples
                if path.parent.name != page.stem or not re.search(r'--figures figures|figures="figures"', page.read_text()):
                    wrong.append(f"{page.relative_to(SOURCE)}: nothing writes {target}")
            elif not path.exists():
                wrong.append(f"{page.relative_to(SOURCE)}: {target} does not exist")
            elif anchor and path.suffix == ".md" and anchor not in slugs(path):
                wrong.append(f"{page.relative_to(SOURCE)}: {name or page.name} has no heading #{anchor}")
    for page in [SOURCE / "README.md", DOCS / "index.md", DOCS / "assumptions.md"] + [p for p in pages if p.parent != DOCS]:
        for option in set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", page.read_text())) - known:
            wrong.append(f"{page.relative_to(SOURCE)}: there is no option {option}")
    listed = set(re.findall(r": ([\w/-]+\.md)$", (DOCS / "mkdocs.yml").read_text(), re.M))
    have = {str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md")}
    wrong += [f"docs/mkdocs.yml: {name} is not in the navigation" for name in sorted(have - listed)]
    wrong += [f"docs/mkdocs.yml: {name} does not exist" for name in sorted(listed - have - MADE)]
    print("\n".join(wrong + [f"{links} links in {len(pages)} pages, {len(wrong)} wrong"]))
    sys.exit(bool(wrong) or links < 100)


main()

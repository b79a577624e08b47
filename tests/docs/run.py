#!/usr/bin/python3
"""Runs the examples of pages, and compares what they print. usage: run.py --build BUILD [--figures FOLDER] PAGE...

Blocks of sh, python and r are run in the order of the page, in a temporary folder of its own, against the command in BUILD
and the Python and R packages of this tree. A page's blocks of one language share their variables, and its files. A block with a
title that begins with "Not run" is left out. The output that follows a block, in a block of `text`, is compared: numbers may
differ by two units of the last digit shown, spaces do not count, a line of `...` stands for any lines, and all else is equal.
A block titled "Numbers may differ" is compared by its words alone. Where a peer is not installed, the blocks of that language from
there on are left out: "SKIPPED [docs] ...". FOLDER/.../figures/PAGE receives what examples wrote into figures/.
"""
import argparse
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")


class Block:
    def __init__(self, language, line, text, shown, words):
        self.language, self.line, self.text, self.shown, self.words = language, line, text, shown, words


class Skipped(Exception):
    def __init__(self, why, line=None):
        super().__init__(why)
        self.line = line


def blocks(path):
    """The blocks of a page that are run, each with what is shown below it."""
    fences, lines, inside = [], path.read_text().splitlines(), None
    for number, line in enumerate(lines, 1):
        found = re.match(r"( *)```(\w*)(.*)$", line)
        if inside is None and found:
            inside = (len(found.group(1)), found.group(2), found.group(3), number, [])
        elif inside is not None and line.strip() == "```":
            indent, language, rest, start, text = inside
            fences.append((language, rest, start, number, "\n".join(t[indent:] for t in text) + "\n"))
            inside = None
        elif inside is not None:
            inside[4].append(line)
    for i, (language, rest, start, end, text) in enumerate(fences):
        if language not in ("sh", "python", "r") or 'title="Not run' in rest:
            continue
        shown, words = None, False
        if i + 1 < len(fences):
            after = fences[i + 1]
            if after[0] == "text" and not "".join(lines[end:after[2] - 1]).strip():
                shown, words = after[4], 'title="Numbers may differ' in after[1]
        yield Block(language, start, text, shown, words)


def same_line(shown, found):
    """Whether two lines agree, numbers to two units of the last digit shown.

    >>> same_line("AUC 0.75 of 1,000 rows", "AUC  0.7699 of 1000 rows"), same_line("AUC 0.75", "AUC 0.771")
    (True, False)
    >>> same_line("3 rows", "4 rows"), same_line("3 rows", "3 lines"), same_line("1e-3", "0.0028"), same_line("a 1", "a nan")
    (False, False, True, False)
    """
    want, have = NUMBER.findall(shown), NUMBER.findall(found)
    if len(want) != len(have) or NUMBER.sub("#", shown).split() != NUMBER.sub("#", found).split():
        return False
    for a, b in zip(want, have):
        a, b = a.replace(",", ""), b.replace(",", "")
        mantissa, _, power = a.partition("e")
        unit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
        exact = unit == 1 and "." not in b
        if not abs(float(a) - float(b)) <= (0 if exact else 2.0001 * unit):
            return False
    return True


def agrees(shown, found):
    """shown and found as lists of lines that are not empty.

    >>> agrees(["a", "...", "b"], ["a", "x", "y", "b"]), agrees(["a", "..."], ["b"]), agrees(["a"], ["a", "b"]), agrees(["a"], [])
    (True, False, False, False)
    """
    if not shown:
        return not found
    if shown[0].strip() == "...":
        return any(agrees(shown[1:], found[i:]) for i in range(len(found) + 1))
    return bool(found) and same_line(shown[0], found[0]) and agrees(shown[1:], found[1:])


def compare(page, block, found):
    def lines(text):
        return [NUMBER.sub("0", line) if block.words else line for line in text.splitlines() if line.strip()]

    if block.shown is not None and not agrees(lines(block.shown), lines(found)):
        raise AssertionError(f"{page}:{block.line}: the page shows\n{block.shown}\nbut the example prints\n{found}")


class Runner:
    def __init__(self, build):
        self.build = build
        os.environ.update(PATH=f"{build}:{os.environ['PATH']}", PREVAIL_LIBRARY=str(build / "libprevail.so"), LC_ALL="C.UTF-8",
                          PYTHONPATH=str(SOURCE / "python"), LD_LIBRARY_PATH=str(build), OMP_NUM_THREADS="2", MPLBACKEND="agg")
        sys.path.insert(0, str(SOURCE / "python"))
        self.pkgconfig = build / "docs-r"
        self.pkgconfig.mkdir(exist_ok=True)
        version = re.search(r'#define PV_VERSION "(.*)"', (SOURCE / "include/prevail/base.h").read_text()).group(1)
        (self.pkgconfig / "prevail.pc").write_text(
            f"libdir={build}\nName: prevail\nDescription: the library in a build folder\nVersion: {version}\n"
            f"Libs: -L{build} -lprevail\nCflags: -I{SOURCE}/include\n")
        os.environ["PKG_CONFIG_PATH"] = str(self.pkgconfig)
        self.r_packages = {}

    def r_package(self):
        """Installs the R package into BUILD/docs-r, unless it is there and newer than its sources."""
        if not shutil.which("Rscript"):
            raise Skipped("R is not installed")
        stamp = self.pkgconfig / "prevail/DESCRIPTION"
        newest = max(p.stat().st_mtime for folder in ("r/R", "r/src", "include/prevail") for p in (SOURCE / folder).iterdir())
        if not stamp.exists() or stamp.stat().st_mtime < max(newest, (self.build / "libprevail.so").stat().st_mtime):
            with tempfile.TemporaryDirectory() as folder:
                shutil.copytree(SOURCE / "r", f"{folder}/prevail")
                done = subprocess.run(["R", "CMD", "INSTALL", "--no-docs", "--no-test-load", "-l", self.pkgconfig, f"{folder}/prevail"],
                                      capture_output=True, text=True)
                if done.returncode:
                    raise AssertionError("the R package could not be installed:\n" + done.stdout[-2000:] + done.stderr[-2000:])
            os.utime(stamp)
        os.environ["R_LIBS"] = str(self.pkgconfig)

    def sh(self, page, wanted):
        for block in wanted:
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], capture_output=True, text=True, timeout=300)
            if done.returncode:
                raise AssertionError(f"{page}:{block.line}: exit code {done.returncode}\n{block.text}\n{done.stdout}{done.stderr}")
            compare(page, block, done.stdout)

    def python(self, page, wanted):
        for block in wanted:
            out = io.StringIO()
            try:
                with contextlib.redirect_stdout(out):
                    exec(compile(block.text, f"{page}:{block.line}", "exec"), self.names)
            except ModuleNotFoundError as error:
                raise Skipped(f"Python has no {error.name}", block.line) from error
            except Exception as error:
                raise AssertionError(f"{page}:{block.line}: {traceback.format_exc(limit=-3)}\n{block.text}") from error
            compare(page, block, out.getvalue())

    def r_lacks(self, text):
        """The first package that a block names and R does not have."""
        for name in re.findall(r"library\((\w+)\)|\b(\w+)::", text):
            name = name[0] or name[1]
            if name not in self.r_packages:
                self.r_packages[name] = subprocess.run(["Rscript", "-e", f"quit(status = !requireNamespace('{name}', quietly = TRUE))"],
                                                       capture_output=True).returncode == 0
            if not self.r_packages[name]:
                return name
        return None

    def r(self, page, wanted):
        self.r_package()
        missing = None
        for i, block in enumerate(wanted):
            missing = self.r_lacks(block.text)
            if missing:
                wanted, unwanted = wanted[:i], block
                break
        program = "".join(f"cat('\\n@@ {i}\\n')\nsuppressMessages(source('block{i}.R', echo = FALSE, print.eval = TRUE))\n"
                          for i in range(len(wanted)))
        for i, block in enumerate(wanted):
            Path(f"block{i}.R").write_text(block.text)
        Path("page.R").write_text(program)
        done = subprocess.run(["Rscript", "--vanilla", "page.R"], capture_output=True, text=True, timeout=300)
        printed = re.split(r"\n@@ \d+\n", done.stdout)[1:]
        if done.returncode:
            block = wanted[max(len(printed) - 1, 0)]
            raise AssertionError(f"{page}:{block.line}: R failed\n{block.text}\n{done.stderr}")
        for block, out in zip(wanted, printed):
            compare(page, block, out)
        if missing:
            raise Skipped(f"R has no {missing}", unwanted.line)

    def page(self, path, figures):
        """Consecutive blocks of a language together; an R session ends where another language begins."""
        wanted = list(blocks(path))
        name, here = os.path.relpath(path, SOURCE), os.getcwd()
        self.names = {"__name__": "__main__"}
        skipped, count = [], 0
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            os.symlink(SOURCE / "examples", "examples")
            try:
                while wanted:
                    language = wanted[0].language
                    run = []
                    while wanted and wanted[0].language == language:
                        run.append(wanted.pop(0))
                    try:
                        getattr(self, language)(name, run)
                        count += len(run)
                    except Skipped as why:
                        first = why.line or run[0].line
                        count += sum(b.line < first for b in run)
                        skipped.append(f"SKIPPED [docs] {name}:{first}: {why}")
                        wanted = [b for b in wanted if b.language != language]
                if figures and os.path.isdir("figures"):
                    target = Path(figures) / path.parent.relative_to(SOURCE / "docs") / "figures" / path.stem
                    shutil.copytree("figures", target, dirs_exist_ok=True)
            finally:
                os.chdir(here)
        return count, skipped


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--figures", type=Path)
    parser.add_argument("pages", nargs="+", type=Path)
    options = parser.parse_args()
    runner, failed = Runner(options.build.resolve()), 0
    examples = 0
    for page in options.pages:
        begin = time.time()
        try:
            count, skipped = runner.page(page.resolve(), options.figures and options.figures.resolve())
        except (AssertionError, subprocess.TimeoutExpired) as error:
            print(f"FAILED: {error}")
            failed += 1
            continue
        examples += count
        for text in skipped:
            print(text)
        print(f"{page}: {count} examples, {time.time() - begin:.1f} s")
    print(f"{examples} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

"""Builds the C library by CMake and puts it into the package, with the libraries that it needs and their licences.

A source distribution carries the C sources (libprevail/), for tables alone: they take a C17 compiler and nothing else
(scripts/compile, whose variables CC, CFLAGS, LDFLAGS, OPENMP and JOBS hold here).

Environment: PREVAIL_BUILD_DIR, a CMake build folder to use and keep; PREVAIL_CMAKE_FLAGS, further flags for it;
PREVAIL_LICENCES, a folder with a file for each library that is bundled, where the system does not have them.
PREVAIL_SYSTEM_LIBRARY=yes: nothing is built, and the package loads the system's libprevail.so.0 (Debian's package).
"""

import glob
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
CARRIED = HERE / "libprevail"
SOURCE = CARRIED if CARRIED.exists() else HERE.parent
# Libraries present on every Linux system, of which a process must not load a second copy.
SYSTEM = re.compile(r"^(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so")
SYSTEM_LIBRARY = os.environ.get("PREVAIL_SYSTEM_LIBRARY") == "yes"
WANTED = "It needs what scripts/setup build installs"


def configured(folder):
    """The CMake build folder, configured."""
    if not (SOURCE / "CMakeLists.txt").exists():
        raise SystemExit(f"the C library's sources are not in {SOURCE}; build from the whole repository, or from a source distribution")
    if not (folder / "CMakeCache.txt").exists():
        flags = ["-DPV_TESTS=OFF"]
        flags += shlex.split(os.environ.get("PREVAIL_CMAKE_FLAGS", ""))
        try:
            subprocess.run(["cmake", "-S", SOURCE, "-B", folder, *flags], check=True)
        except (OSError, subprocess.CalledProcessError) as problem:
            raise SystemExit(f"the C library could not be configured: {problem}.\n{WANTED}") from None
    return folder


def made(folder, target):
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count() or 1)
    subprocess.run(["cmake", "--build", configured(folder), "--target", target, "-j", jobs], check=True)


def build_library(folder):
    """The path of the library, built in folder."""
    if SOURCE == CARRIED:
        if subprocess.run(["sh", CARRIED / "scripts" / "compile", folder, "shared"]).returncode != 0:
            raise SystemExit("the C library could not be compiled: it needs a C17 compiler (CC), and nothing else")
        return folder / "libprevail.so"
    made(folder, "prevail_bundled")
    return folder / "python" / "libprevail.so"


def needed(library):
    """The shared libraries it needs that a system may not have."""
    listed = subprocess.run(["ldd", library], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in listed.splitlines():
        name, arrow, place = line.strip().partition(" => ")
        if "not found" in line:
            raise SystemExit(f"{library} needs {name}, which is not there")
        if arrow and not SYSTEM.match(name):
            found[name] = place.split(" (")[0]
    return found


def bundle(library, folder):
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(library, folder / "libprevail.so")
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-debug", folder / "libprevail.so"], check=True)
    for name, place in needed(library).items():
        shutil.copy(os.path.realpath(place), folder / name)
        licence = licence_of(name, place)
        if licence is None:
            print(f"no licence of {name} was found: put it into a folder and name that in PREVAIL_LICENCES before publishing the wheel")
        else:
            (folder / "licences").mkdir(exist_ok=True)
            shutil.copy(licence, folder / "licences" / f"{name.partition('.so')[0]}.txt")


def licence_of(name, place):
    """The file with a library's licence: from PREVAIL_LICENCES, or as Debian's, Fedora's or conda's packages have it."""
    given = os.environ.get("PREVAIL_LICENCES")
    if given:
        found = sorted(Path(given).glob(f"{name.partition('.so')[0]}*"))
        return found[0] if found else None
    for asked, pattern in ((["dpkg", "-S"], "/usr/share/doc/{}/copyright"), (["rpm", "-qf", "--qf", "%{NAME}"], "/usr/share/licenses/{}/*")):
        if not shutil.which(asked[0]):
            continue
        for path in (place, os.path.realpath(place), os.path.realpath(place).replace("/usr/lib", "/lib", 1)):
            said = subprocess.run([*asked, path], capture_output=True, text=True)
            if said.returncode == 0:
                found = sorted(glob.glob(pattern.format(said.stdout.partition(":")[0].strip())))
                return found[0] if found else None
    return None


def folder_of(command):
    return Path(os.environ.get("PREVAIL_BUILD_DIR") or Path(command.get_finalized_command("build").build_temp) / "cmake").resolve()


class SourceWithLibrary(sdist):
    """The package, and the C sources that it is built from: tables alone, the report's font as outlines."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        carried = Path(base_dir) / "libprevail"
        if SOURCE == CARRIED:
            shutil.copytree(CARRIED, carried, dirs_exist_ok=True)
            return
        built = folder_of(self)
        made(built, "pv_generated")
        for name in ("include", "src"):
            shutil.copytree(SOURCE / name, carried / name, ignore=shutil.ignore_patterns("onednn_*"))
        (carried / "scripts").mkdir()
        for name in ("scripts/compile", "exports.map", "LICENSE"):
            shutil.copy(SOURCE / name, carried / name)
        shutil.copy(built / "generated" / "report" / "glyphs.h", carried)


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        if SYSTEM_LIBRARY:
            return
        built = folder_of(self)
        editable = getattr(self, "editable_mode", False)
        place = HERE / "prevail" if editable else Path(self.build_lib) / "prevail"
        bundle(build_library(built), place / "lib")


class WithBinaries(Distribution):
    def has_ext_modules(self):
        return not SYSTEM_LIBRARY


class PlatformWheel(bdist_wheel):
    """One wheel for every Python: the library is reached by ctypes."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


if not (HERE / "LICENSE").exists():
    shutil.copy(SOURCE / "LICENSE", HERE)
setup(
    distclass=WithBinaries,
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel, "sdist": SourceWithLibrary},
    setup_requires=[] if SYSTEM_LIBRARY or SOURCE == CARRIED or shutil.which("cmake") else ["cmake>=3.22"],
)

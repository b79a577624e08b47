"""Builds the C library by CMake and puts it into the package, with the libraries that it needs beside it.

Environment: PREVAIL_BUILD_DIR, a CMake build folder to use and keep; PREVAIL_CMAKE_FLAGS, further flags for it.
"""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent
# What every Linux has, and must be the only one of its kind in a process.
SYSTEM = re.compile(r"^(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so")


def build_library(folder):
    """The path of the library, built in folder."""
    if not (SOURCE / "CMakeLists.txt").exists():
        raise SystemExit(f"the C library's sources are not in {SOURCE}; build from the whole repository")
    flags = shlex.split(os.environ.get("PREVAIL_CMAKE_FLAGS", ""))
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count() or 1)
    if not (folder / "CMakeCache.txt").exists():
        subprocess.run(["cmake", "-S", SOURCE, "-B", folder, "-DPV_TESTS=OFF", *flags], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "prevail_bundled", "-j", jobs], check=True)
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


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        built = os.environ.get("PREVAIL_BUILD_DIR")
        if not built:
            built = Path(self.get_finalized_command("build").build_temp) / "cmake"
        editable = getattr(self, "editable_mode", False)
        place = HERE / "prevail" if editable else Path(self.build_lib) / "prevail"
        bundle(build_library(Path(built).resolve()), place / "lib")


class WithBinaries(Distribution):
    def has_ext_modules(self):
        return True


class PlatformWheel(bdist_wheel):
    """One wheel for every Python: the library is reached by ctypes."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(distclass=WithBinaries, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})

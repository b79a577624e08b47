# prevail: make, make check, make demo. CMake does the work; this file names the few things people ask for.
BUILD ?= build
CMAKE_FLAGS ?=
JOBS ?= $(shell nproc)
MINUTES ?= 10
STATIC_CC ?= musl-gcc
WINDOWS_CC ?= x86_64-w64-mingw32-gcc

.PHONY: all static windows check-platforms lab cuda r-package js check-cuda bench-cuda setup setup-check setup-bench setup-fuzz setup-platforms setup-packages dist debian release-check site demo check warnings sanitize fuzz soak coverage bench install format clean

all: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) -j $(JOBS)

$(BUILD)/CMakeCache.txt:
	@command -v cmake >/dev/null || { echo "make: cmake is missing; 'make setup' installs what is needed" >&2; exit 1; }
	@cmake -S . -B $(BUILD) -DPV_TESTS=OFF $(CMAKE_FLAGS)

# prevail-lab: the studies and benchmarks (lab/README.md).
lab: $(BUILD)/CMakeCache.txt
	@cmake -S . -B $(BUILD) -DPV_LAB=ON $(CMAKE_FLAGS) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

# BUILD/static/prevail: the command for tables, one file that needs no library of the system it runs on. CC: musl's compiler.
static:
	@CC="$(STATIC_CC)" CFLAGS="-static -s" OPENMP=none JOBS=$(JOBS) scripts/compile $(BUILD)/static command
	@ls -l $(BUILD)/static/prevail

# BUILD/windows/prevail.exe: the command for tables, one file (docs/platforms.md). WINDOWS_CC: MinGW-w64's compiler.
windows:
	@CC="$(WINDOWS_CC)" LDFLAGS=-s JOBS=$(JOBS) scripts/compile $(BUILD)/windows command
	@ls -l $(BUILD)/windows/prevail.exe

# With the plug-in for NVIDIA GPUs, which needs nvcc and cuDNN 9's headers (docs/gpu.md).
cuda:
	@cmake -S . -B $(BUILD) -DPV_TESTS=OFF -DPV_CUDA=ON $(CMAKE_FLAGS) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

# The command for tables on other machines and systems, under qemu and Wine (docs/platforms.md).
check-platforms: setup-platforms all
	@scripts/check-platforms $(BUILD)

# The tests that need a GPU, and nothing else; where there is none they are skipped, and that is said.
check-cuda:
	@scripts/check-cuda

bench-cuda:
	@scripts/check-cuda bench

# The R source package with its vignette, which also builds where there is no libprevail: BUILD/r/prevail_VERSION.tar.gz.
r-package: all
	@scripts/r-package $(BUILD) $(BUILD)/r

# The source of a release, BUILD/dist/prevail-VERSION.tar.gz; Debian's packages, BUILD/debian; the checklist of docs/releasing.md.
dist:
	@scripts/dist $(BUILD)/dist
debian: setup-packages
	@scripts/debian $(BUILD)/debian
release-check: setup-check setup-platforms setup-packages
	@scripts/release-check $(BUILD)/release

# The npm package with the engine as WebAssembly: BUILD/js/package (docs/javascript.md).
js:
	@scripts/setup wasm
	@scripts/js $(BUILD)/js

# What building needs; what the tests need beside it; what the benchmarks compare with.
setup:
	@scripts/setup build
setup-check:
	@scripts/setup build check
setup-bench:
	@scripts/setup build bench

setup-fuzz:
	@scripts/setup build fuzz
setup-platforms:
	@scripts/setup build platforms
setup-packages:
	@scripts/setup build packages

# The site, BUILD/site/index.html: static, works offline; docs/ is its source.
site:
	@scripts/setup build site
	@$(MAKE) --no-print-directory all
	@scripts/site $(BUILD)

demo: setup
	@$(MAKE) --no-print-directory all
	@$(BUILD)/prevail demo --report $(BUILD)/demo.html
	@echo "The report is $(BUILD)/demo.html: open it in a browser."

check: setup-check
	@scripts/check

# The tests under AddressSanitizer and UndefinedBehaviorSanitizer; part of check.
sanitize: setup-check
	@scripts/check sanitize

# Every fuzz target under the sanitisers, MINUTES in all; docs/testing.md.
fuzz: setup-fuzz
	@scripts/fuzz $(MINUTES)

# The long form: an hour of fuzzing, kills, the whole allocation sweep. Prints the table of docs/testing.md.
soak: setup-check setup-fuzz setup-platforms
	@scripts/soak

# Line coverage of src/ by the tests, and the lines that none reaches.
coverage: setup-check
	@scripts/coverage

bench: setup-bench lab
	@/usr/bin/python3 bench/run.py $(BUILD)/prevail

install: all
	@cmake --install $(BUILD) $(if $(PREFIX),--prefix $(PREFIX))

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	@rm -rf $(BUILD) build-*

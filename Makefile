# `make help` lists the targets; each variable set here may be given on the command line.

LUA     ?= lua5.4
PREFIX  ?= /usr/local
CFLAGS  ?= -O2 -g
B        = build
WARNINGS = -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes $(if $(WERROR),-Werror)
LDLIBS   = -lm
LIBFLAG  = $(if $(filter Darwin,$(shell uname -s)),-bundle -undefined dynamic_lookup,-shared)

# ---- the one list of sources: spec/build/sources_spec.lua holds csrc/ and the rockspec against it

CORE = \
  base/atomic.c base/bytes.c base/distinct.c base/envelope.c base/hash.c base/math.c base/sketch.c \
  base/sharing.c base/sort.c base/status.c \
  membership/bloom.c membership/blocked_bloom.c membership/blocked_line.c \
  membership/bloom_layers.c membership/scalable_bloom.c \
  membership/counting_bloom.c \
  membership/cuckoo.c membership/cuckoo_growth.c membership/cuckoo_plan.c \
  membership/cuckoo_search.c membership/cuckoo_table.c \
  membership/fuse.c membership/fuse_build.c \
  frequency/count_min.c frequency/ranking.c frequency/top_k.c frequency/top_k_bytes.c \
  cardinality/hyperloglog.c cardinality/hyperloglog_estimate.c \
  cardinality/hyperloglog_forms.c cardinality/hyperloglog_joint.c \
  cardinality/hyperloglog_overlap.c cardinality/hyperloglog_registers.c \
  cardinality/hyperloglog_shared.c cardinality/hyperloglog_sparse.c \
  quantile/bins.c quantile/centroids.c quantile/ddsketch.c quantile/ddsketch_answers.c \
  quantile/ddsketch_bytes.c quantile/ddsketch_shared.c quantile/ddsketch_values.c \
  quantile/kll.c quantile/kll_answers.c quantile/kll_bytes.c quantile/kll_levels.c \
  quantile/log_index.c quantile/sorted_view.c quantile/sum.c quantile/tdigest.c \
  quantile/tdigest_answers.c quantile/tdigest_bytes.c \
  similarity/minhash.c similarity/minima.c similarity/shingles.c \
  kinds.c \
  storage/decoder.c storage/file.c storage/library.c storage/pages.c storage/random.c \
  storage/share.c
BINDING = \
  binding/bloom.c binding/blocked_bloom.c binding/scalable_bloom.c binding/counting_bloom.c \
  binding/cuckoo.c binding/fuse.c binding/count_min.c binding/top_k.c \
  binding/hyperloglog.c binding/tdigest.c binding/kll.c binding/ddsketch.c \
  binding/minhash.c binding/decoder.c binding/fast.c binding/key_set.c binding/keys.c \
  binding/lsh.c binding/module.c binding/options.c binding/quantile.c binding/report.c \
  binding/share.c binding/sketch.c binding/storage.c

# ---- Lua: LUA is an interpreter by any name or path, NAME which of LUAS it is

LUAS    := lua5.1 lua5.2 lua5.3 lua5.4 luajit
NAME    := $(or $(filter $(LUAS),$(notdir $(LUA))),$(shell \
             $(LUA) -e 'io.write(jit and "luajit" or "lua" .. _VERSION:match "%d.%d")'))
VERSION := $(patsubst lua%,%,$(NAME:luajit=lua5.1))

# Asked once and only when a recipe wants it: pkg-config may be among what `make test` installs.
once = $(eval $1 := $$(shell $2))$($1)
LUA_CFLAGS    = $(if $(LUA_INCDIR),-I$(LUA_INCDIR),$(call \
                  once,LUA_CFLAGS,$$(call FIND_LUA,--cflags)))
LUA_LIBS      = $(call once,LUA_LIBS,$$(call FIND_LUA,--libs))
XXHASH_CFLAGS = $(if $(XXHASH_INCDIR),-I$(XXHASH_INCDIR),$(call once,XXHASH_CFLAGS,$$(FIND_XXHASH)))
FIND_XXHASH   = pkg-config --cflags libxxhash 2>/dev/null
FIND_LUA      = for p in $(if $(filter luajit,$(NAME)),luajit,$(NAME) lua-$(VERSION) \
                  $(subst .,,$(NAME)) lua); do \
                  case $$(pkg-config --modversion $$p 2>/dev/null) in \
                    $(if $(filter luajit,$(NAME)),2,$(VERSION)).*) exec pkg-config $1 $$p;; \
                  esac; \
                done; echo "pkg-config knows no $(NAME): say LUA_INCDIR=directory of lua.h" >&2

# RUN stands before whatever is run: valgrind, or the environment a sanitizer wants.
RUN_C   = $(RUN)
PATHS   = LUA_PATH="$(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua;$${LUA_PATH:-;}" \
          LUA_CPATH="$(abspath $(B))/$(NAME)/?.so;$${LUA_CPATH:-;}"
RUN_LUA = $(PATHS) $(RUN) $(LUA)

# ---- building

O       := $(B)/$(NAME)
MODULE  := $(O)/probsketch/core.so
CORE_O  := $(CORE:%.c=$(B)/core/%.o)
LUA_O   := $(BINDING:%.c=$(O)/%.o)
C_TESTS := $(patsubst %.c,$(B)/%,$(filter-out spec/c/lua_%,$(wildcard spec/c/*_test.c)))
LUA_C_TESTS := $(patsubst %.c,$(O)/%,$(wildcard spec/c/lua_*_test.c))
FUZZERS := $(patsubst %.c,$(B)/%,$(wildcard spec/fuzz/*_fuzz.c))
BENCHES := $(patsubst %.c,$(B)/%,$(filter-out %/harness.c %/trivial.c,$(wildcard bench/*.c)))
PROGRAMS := $(C_TESTS) $(FUZZERS) $(BENCHES)
HELPERS := $(O)/trivial.so $(O)/forked.so
COMPILE  = $(CC) -std=c11 -D_GNU_SOURCE -Icsrc $(XXHASH_CFLAGS) $(WARNINGS) $(CPPFLAGS) $(CFLAGS) \
           -fPIC -fvisibility=hidden -MMD -MP -MF $@.d -MT $@

# V=1 shows the commands whole.
say = $(if $(V),,@echo '$1 $@';)

module: $(MODULE) ## build build/LUA/probsketch/core.so (LUA=lua5.4; lua5.1 to lua5.4, luajit)

$(MODULE): $(CORE_O) $(LUA_O)
	@mkdir -p $(@D)
	$(call say,link)$(CC) $(CFLAGS) $(LDFLAGS) $(LIBFLAG) -o $@ $^ $(LDLIBS)

$(CORE_O): $(B)/core/%.o: csrc/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,compile)$(COMPILE) -c -o $@ $<

$(LUA_O): $(O)/%.o: csrc/%.c $(O)/flags
	@mkdir -p $(@D)
	$(call say,compile)$(COMPILE) $(LUA_CFLAGS) -c -o $@ $<

$(B)/core.a: $(CORE_O)
	@rm -f $@
	$(call say,archive)$(AR) rcs $@ $^

$(PROGRAMS): $(B)/%: %.c $(B)/core.a
	@mkdir -p $(@D)
	$(program)
$(BENCHES): bench/harness.c

# C tests of the binding have a Lua in them: the one place that links with a Lua library.
$(LUA_C_TESTS): $(O)/%: %.c $(LUA_O) $(B)/core.a
	@mkdir -p $(@D)
	$(call program,$(LUA_CFLAGS),$(LUA_LIBS))

program = $(call say,compile)$(COMPILE) $1 $(LDFLAGS) -o $@ $(filter %.c,$^) \
          $(filter %.o %.a,$^) $2 -pthread $(LDLIBS)

# Modules in C for benches and specs.
$(O)/trivial.so: bench/trivial.c
$(O)/forked.so: spec/support/forked.c
$(HELPERS): $(O)/flags
	$(call say,compile)$(COMPILE) $(LUA_CFLAGS) $(LIBFLAG) -o $@ $(filter %.c,$^)

# Other flags than last time: all is compiled anew.
$(O)/flags: export FLAGS = $(COMPILE) $(LDFLAGS) $(LUA_CFLAGS)
$(B)/flags: export FLAGS = $(COMPILE) $(LDFLAGS)
$(B)/flags $(O)/flags: always
	@mkdir -p $(@D)
	@printenv FLAGS | cmp -s - $@ || printenv FLAGS > $@

-include $(patsubst %,%.d,$(CORE_O) $(LUA_O) $(PROGRAMS) $(LUA_C_TESTS) $(HELPERS))

all: $(LUAS:%=module-%) ## build for all five Luas
$(LUAS:%=module-%): module-%: $(B)/core.a
	@$(MAKE) --no-print-directory LUA=$* module

# ---- the commands of the README

DEMO_PACKAGES = gcc libc6-dev pkgconf|pkg-config lua5.4 liblua5.4-dev libxxhash-dev lua-argparse
NGINX_PACKAGES = luajit2 libluajit2-5.1-dev nginx libnginx-mod-http-lua curl
TEST_PACKAGES = $(DEMO_PACKAGES) $(NGINX_PACKAGES) lua5.1 liblua5.1-0-dev lua5.2 liblua5.2-dev \
  lua5.3 liblua5.3-dev lua-busted luarocks lua-check lua-ldoc clang clang-format clang-tidy

demo: ## install what is missing, then report on a made access log or on LOG=path
	@.ci/install '$(DEMO_PACKAGES)'
	@$(MAKE) --no-print-directory report

test: ## install what is missing, then check
	@.ci/install '$(TEST_PACKAGES)'
	@$(MAKE) --no-print-directory check

LOG = $(B)/access.log
report: module $(LOG)
	@$(RUN_LUA) examples/access_log.lua --exact $(LOG)

$(B)/access.log: examples/make_log.lua
	@mkdir -p $(@D)
	@$(RUN_LUA) $< --lines 200000 > $@.part && mv $@.part $@

PORT = 8080
nginx-demo: ## install what is missing, then run examples/nginx on PORT=8080 until Ctrl-C
	@.ci/install '$(DEMO_PACKAGES) $(NGINX_PACKAGES)'
	@$(MAKE) --no-print-directory LUA=luajit run-nginx
run-nginx: module $(LOG)
	@exec env $(PATHS) examples/nginx/demo $(PORT) <$(LOG)

check: ## all that CI runs; the last line counts what passed and what failed
	@MAKE='$(MAKE)' .ci/check

# ---- specs and C tests; SPEC=path and BUSTED_FLAGS narrow the specs down

# Heavy statistics do not depend on the Lua; what takes gigabytes runs on one PUC Lua and on LuaJIT.
SKIP_lua5.4 = none
SKIP_luajit = slow
comma := ,
SKIP = $(or $(SKIP_$(NAME)),slow$(comma)large)
# The same for C tests: by this argument they do what takes seconds or half a gigabyte.
LONG = long
# Under tools that slow all down, neither.
LIGHT = SKIP=slow,large LONG=

# A process for each room of them: full collections, and there are thousands, go through all that a
# process has loaded and reported.
ROOMS = $(sort $(dir $(wildcard spec/*/*_spec.lua)))

spec: module $(O)/forked.so ## run the specs on LUA
	@status=0; for room in $(or $(SPEC),$(ROOMS)); do \
	  $(RUN_LUA) .ci/busted.lua --exclude-tags=$(SKIP) $(BUSTED_FLAGS) $$room || status=1; \
	done; exit $$status

matrix: all ## run the specs and those C tests on all five Luas
	@status=0; for lua in $(LUAS); do \
	  echo "== $$lua"; $(MAKE) --no-print-directory -k LUA=$$lua lua-c-test spec || status=1; \
	done; exit $$status

c-test: $(C_TESTS) $(LUA_C_TESTS) ## run the C tests
lua-c-test: $(LUA_C_TESTS) ## run those C tests that embed LUA
c-test lua-c-test:
	@status=0; for t in $^; do \
	  echo "# $$t"; $(RUN_C) $$t $(LONG) || { echo "# $$t: exit status $$?"; status=1; }; \
	done; exit $$status

SANITIZE = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
PRELOAD  = LD_PRELOAD=$(shell $(CC) -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0

asan: ## C tests, and specs of the library, under the address and undefined behaviour sanitizers
	@$(MAKE) --no-print-directory -k B=$(B)/asan CFLAGS='$(SANITIZE)' RUN='$(PRELOAD)' RUN_C= \
	  $(LIGHT) ROOMS='$(filter-out %/build/ %/docs/ %/examples/ %/nginx/,$(ROOMS))' c-test spec

tsan: ## what threads share, under the thread sanitizer
	@$(MAKE) --no-print-directory B=$(B)/tsan CFLAGS='-O1 -g -fsanitize=thread' run-threads
run-threads: $(B)/spec/c/share_test
	@$< threads

hammer: $(addprefix $(B)/spec/c/,share_test founding_test) ## 10^7 additions to shared files by each of four processes, and races to found them
	@for t in $^; do $$t campaign || exit; done

VALGRIND = valgrind -q --error-exitcode=99 --leak-check=full --show-leak-kinds=definite

valgrind: ## C tests, and the specs that are not slow, under valgrind
	@.ci/install valgrind
	@$(MAKE) --no-print-directory -k B=$(B)/valgrind RUN='$(VALGRIND)' $(LIGHT) c-test spec

BIG_ENDIAN_PACKAGES = gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user-static

bigendian: ## C tests on a big-endian machine, an emulated s390x
	@.ci/install '$(BIG_ENDIAN_PACKAGES)'
	@mkdir -p $(B)/s390x/include
	@cp $(shell pkg-config --variable=includedir libxxhash)/xxhash.h $(B)/s390x/include
	@$(MAKE) --no-print-directory -k B=$(B)/s390x CC=s390x-linux-gnu-gcc AR=s390x-linux-gnu-ar \
	  XXHASH_INCDIR=$(B)/s390x/include RUN_C='qemu-s390x-static -L /usr/s390x-linux-gnu' \
	  LUA_C_TESTS= LONG= c-test

gcstress: ## specs with the collector running all the time
	@$(MAKE) --no-print-directory $(LIGHT) spec \
	  BUSTED_FLAGS='--helper=spec/support/gcstress.lua $(BUSTED_FLAGS)'

SECONDS = 600

fuzz: ## fuzz for SECONDS=600 in all, from SEED
	@$(MAKE) --no-print-directory B=$(B)/fuzz CFLAGS='$(SANITIZE)' run-fuzzers
run-fuzzers: $(FUZZERS)
	@for f in $^; do echo "# $$f"; $$f $$(($(SECONDS) / $(words $^) + 1)) $(SEED) || exit; done

bench: $(BENCHES) ## measure speed, from C and from Lua
	@for b in $(BENCHES); do $$b || exit; done
	@for lua in lua5.4 luajit; do $(MAKE) --no-print-directory LUA=$$lua bench-lua || exit; done
bench-lua: module $(O)/trivial.so
	@for b in $(filter-out %/harness.lua %/nginx.lua,$(wildcard bench/*.lua)); do \
	  $(RUN_LUA) $$b || exit; \
	done
bench-nginx: ## measure what requests cost nginx that look at sketches
	@.ci/install '$(DEMO_PACKAGES) $(NGINX_PACKAGES) wrk'
	@$(MAKE) --no-print-directory LUA=luajit run-bench-nginx
run-bench-nginx: module
	@$(RUN_LUA) bench/nginx.lua

coverage: ## lines of C that C tests and specs reach, as text and html in build/coverage
	@.ci/install lcov
	@rm -rf $(B)/coverage
	-@$(MAKE) --no-print-directory -k B=$(B)/coverage CFLAGS='-O0 -g --coverage' $(LIGHT) \
	  c-test spec
	@cd $(B)/coverage && lcov -q -c -d . --no-external -b $(CURDIR) --include '*/csrc/*' \
	  -o lcov.info 2>/dev/null && lcov --list lcov.info && genhtml -q -o html lcov.info

# ---- style, documentation, packages

C_FILES = $(shell find csrc spec bench -name '*.[ch]')
TIDIED  = $(addprefix csrc/,$(CORE) $(BINDING))

lint: clang-format $(TIDIED:%=tidy-%) luacheck ## style and suspicions of C and Lua
clang-format:
	@clang-format --dry-run -Werror $(C_FILES)
$(TIDIED:%=tidy-%): tidy-%: %
	@clang-tidy --quiet $< -- -std=c11 -D_GNU_SOURCE -Icsrc $(XXHASH_CFLAGS) $(LUA_CFLAGS) \
	  -include .ci/noreturn.h 2>/dev/null
luacheck:
	@luacheck -q --no-color lua spec examples bench docs/config.ld rockspec/*.rockspec \
	  .ci/busted.lua .busted .luacheckrc

doc: ## reference of the Lua API, in build/doc
	@ldoc -q --fatalwarnings -c docs/config.ld -d $(abspath $(B))/doc . >/dev/null

rock: ## build the rock with luarocks for 5.1 and 5.4, and use it
	@.ci/rock $(B)/rock

INST_LIBDIR = $(PREFIX)/lib/lua/$(VERSION)
INST_LUADIR = $(PREFIX)/share/lua/$(VERSION)

install: module ## install for LUA under PREFIX=/usr/local, or into INST_LIBDIR and INST_LUADIR
	install -d $(DESTDIR)$(INST_LUADIR)/probsketch $(DESTDIR)$(INST_LIBDIR)/probsketch
	install -m 644 lua/probsketch/*.lua $(DESTDIR)$(INST_LUADIR)/probsketch
	install -m 755 $(MODULE) $(DESTDIR)$(INST_LIBDIR)/probsketch

try-install: install
	@.ci/try $(LUA) $(DESTDIR)$(INST_LUADIR) $(DESTDIR)$(INST_LIBDIR)

clean: ## remove build/
	rm -rf $(B)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{ printf "%-11s %s\n", $$1, $$2 }'

sources: # what the spec compares
	@printf 'csrc/%s\n' $(CORE) $(BINDING)

.PHONY: module all demo nginx-demo run-nginx test report check spec matrix c-test lua-c-test asan \
  tsan hammer run-threads valgrind bigendian gcstress fuzz run-fuzzers bench bench-lua bench-nginx \
  run-bench-nginx coverage lint clang-format luacheck doc rock install try-install clean help \
  sources always $(LUAS:%=module-%) $(TIDIED:%=tidy-%)

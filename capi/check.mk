# `make check`: each test of tests/ in every way in which a program may be built. `make abi`.
#
#   make check COMPILERS=gcc LANGUAGES=c11 LINKS=so     fewer ways
#   make check SANITIZE=address,undefined               with the compilers' sanitizers
#   make check RUNNER=valgrind                          under another program

COMPILERS ?= $(foreach compiler,gcc clang,$(if $(shell command -v $(compiler)),$(compiler)))
LANGUAGES ?= c11 c++17
# Of the tests that are written in C++.
CXX_LANGUAGES ?= c++17 c++20
# so: the shared library; a: the static one; static: nothing shared at all.
LINKS ?= so a
# Tests that are left out.
WITHOUT ?=
TESTS ?= $(filter-out $(WITHOUT),$(basename $(notdir $(wildcard tests/*.c))))
CXX_TESTS ?= $(filter-out $(WITHOUT),$(basename $(notdir $(wildcard tests/*.cc))))
SCRIPTS ?= $(wildcard tests/*/run)
RUNNER ?=
SANITIZE ?=
# Seconds for each run of a test.
PATIENCE ?= 120
CHECK_FLAGS ?= -O2 -g -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
MORE_FLAGS ?=

CHECKS := $(BUILD)/check$(if $(SANITIZE),-$(firstword $(subst $(comma), ,$(SANITIZE))))
check_flags = $(CHECK_FLAGS) $(MORE_FLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all) -pthread -Iinclude -Itests
# musl-gcc has no C++.
driver = $(if $(filter c++%,$(2)),$(patsubst %gcc,%g++,$(patsubst %clang,%clang++,$(1))),$(1))
link_so = -L$(BUILD) -lleeward -Wl,-rpath,$(abspath $(BUILD))
link_a = $(STATIC) $(PRIVATE)
link_static = -static $(STATIC) $(PRIVATE)
HEADERS := $(wildcard include/leeward/*.h include/leeward/*.hpp tests/*.h)

# $(1): compiler; $(2): language; $(3): c or cc.
define objects
$(CHECKS)/$(1)-$(2)/%.o: tests/%.$(3) $(HEADERS)
	@mkdir -p $$(dir $$@)
	@$(call driver,$(1),$(2)) -x $(if $(filter c++%,$(2)),c++,c) -std=$(2) $$(check_flags) -c -o $$@ $$<
endef
# $(1): compiler; $(2): language; $(3): how it is linked; $(4): the tests.
define programs
$(foreach test,$(4),$(CHECKS)/$(1)-$(2)-$(3)/$(test)): $(CHECKS)/$(1)-$(2)-$(3)/%: $(CHECKS)/$(1)-$(2)/%.o $(STATIC) $(DYNAMIC)
	@mkdir -p $$(dir $$@)
	@$(call driver,$(1),$(2)) $$(check_flags) -o $$@ $$< $(link_$(3))
# A test says that it came to its end.
$(foreach test,$(4),$(CHECKS)/$(1)-$(2)-$(3)/$(test).ok): %.ok: %
	@CHECK_PATIENCE=$(PATIENCE) timeout $(PATIENCE) $(RUNNER) $$< >$$*.log 2>&1 && grep -qx '$$(notdir $$*): ok' $$*.log || \
		{ cat $$*.log; echo "check: $$* FAILED" >&2; exit 1; }
	@touch $$@
CHECKED += $(foreach test,$(4),$(CHECKS)/$(1)-$(2)-$(3)/$(test).ok)
endef
$(foreach compiler,$(COMPILERS),\
	$(foreach language,$(LANGUAGES),$(eval $(call objects,$(compiler),$(language),c)))\
	$(foreach language,$(CXX_LANGUAGES),$(eval $(call objects,$(compiler),$(language),cc)))\
	$(foreach link,$(LINKS),\
		$(foreach language,$(LANGUAGES),$(if $(TESTS),$(eval $(call programs,$(compiler),$(language),$(link),$(TESTS)))))\
		$(foreach language,$(CXX_LANGUAGES),$(if $(CXX_TESTS),$(eval $(call programs,$(compiler),$(language),$(link),$(CXX_TESTS)))))))

# Scripts find the libraries in $BUILD, the headers in $INCLUDE, and run their programs by $RUNNER. That
# of the compat headers builds libraries of its own, of the same names, in what it takes for $BUILD.
BUILD_OF_compat := $(BUILD)/check-compat
SCRIPTED := $(patsubst tests/%/run,check-%,$(SCRIPTS))
$(SCRIPTED): check-%: all
	@echo "tests/$*/run"
	@cd tests/$* && BUILD='$(abspath $(or $(BUILD_OF_$*),$(BUILD)))' INCLUDE='$(abspath include)' \
		COMPILERS='$(COMPILERS)' CCS='$(COMPILERS)' CC='$(CC)' RUNNER='$(RUNNER)' ./run

check: $(CHECKED) $(SCRIPTED)
	@echo "check: $(words $(CHECKED)) programs of $(words $(TESTS) $(CXX_TESTS)) tests, and $(words $(SCRIPTS)) scripts, passed"

# A test is run again whenever it is asked for.
$(CHECKED): FORCE

# Runs the torture for so many seconds: make torture SECONDS=60.
SECONDS ?= 60
torture: $(STATIC)
	@mkdir -p $(CHECKS)
	@$(CC) -std=c11 $(check_flags) -o $(CHECKS)/rcu_torture tests/rcu_torture.c $(link_a)
	@$(RUNNER) $(CHECKS)/rcu_torture $(SECONDS)

# What programs that were linked before rely on: names, versions, sizes and offsets.
abi: all
	@./abi-list $(BUILD) >$(BUILD)/abi.txt
	@diff -u abi.txt $(BUILD)/abi.txt || \
		{ echo "abi: the binary interface differs from abi.txt; if that is meant: make abi-update" >&2; exit 1; }
	@echo "abi: as abi.txt has it"
abi-update: all
	./abi-list $(BUILD) >abi.txt

.PHONY: check torture abi abi-update $(SCRIPTED)

# The libraries of liburcu's names: libleeward-urcu-memb.so.8 and its like, shared and static. The Makefile
# beside this folder includes this file, which uses its BUILD, CC, DYNAMIC, libdir, to and INSTALL.
#
# A program that is compiled with include/leeward/compat links -lleeward-urcu-memb -lleeward, or whichever flavour
# it uses; a cds library is only needed by programs that call the stacks and queues by name.
#
# $(URCU_FOLDER) has the files under liburcu's own names:
#   LD_LIBRARY_PATH=.../leeward/urcu program     runs a program that was linked with liburcu on these libraries
#                                                (flavour/inlined.h: those of _LGPL_SOURCE on x86-64 only)
#   cc -L .../leeward/urcu program.c -lurcu      links one that is compiled with these headers

URCU_FLAVOURS := memb mb bp qsbr
URCU_SONAMES := $(foreach name,$(URCU_FLAVOURS) common cds,libleeward-urcu-$(name).so.8)
URCU_ARCHIVES := $(URCU_SONAMES:%.so.8=%.a)
URCU_CFLAGS ?= -O2 -g -Wall -Wextra -Wconversion -Wshadow
URCU_FOLDER := $(BUILD)/leeward/urcu
# A program that inlines nothing of libleeward does not name it, and finds it beside these libraries. Empty, where
# all of them are in the folders that every program is searched for.
URCU_RPATH ?= -Wl,-rpath,'$$ORIGIN'
# Which library of ours stands for which of liburcu's: ours:theirs. liburcu itself is memb. (liburcu-signal, of 0.14
# and before, is memb for programs that are compiled with these headers; no library has its symbols.)
URCU_ALIASES := memb:memb memb: mb:mb bp:bp qsbr:qsbr common:common cds:cds

urcu_headers := $(shell find include -name '*.h')
urcu_cflags = -std=gnu11 -fPIC -fvisibility=hidden -fno-plt $(PREFIX_MAP) $(URCU_CFLAGS) $(CFLAGS) -Iinclude/leeward/compat -Iinclude

urcu: $(URCU_SONAMES:%=$(BUILD)/%) $(URCU_ARCHIVES:%=$(BUILD)/%) urcu-folder
all: urcu

$(BUILD)/urcu/flavour-%.o: urcu/flavour.c $(wildcard urcu/flavour/*.h) $(urcu_headers) Makefile urcu/urcu.mk
	@mkdir -p $(@D)
	$(CC) $(urcu_cflags) -DLEE_1_URCU_HEADER='<urcu-$*.h>' -DLEE_1_URCU_FLAVOUR=$* -DLEE_1_URCU_$* -c -o $@ $<
$(BUILD)/urcu/%.o: urcu/%.c urcu/compat_futex.h $(urcu_headers) Makefile urcu/urcu.mk
	@mkdir -p $(@D)
	$(CC) $(urcu_cflags) -c -o $@ $<

$(foreach flavour,$(URCU_FLAVOURS),$(eval $(BUILD)/libleeward-urcu-$(flavour).so.8 \
	$(BUILD)/libleeward-urcu-$(flavour).a: $(BUILD)/urcu/flavour-$(flavour).o $(BUILD)/urcu/pointer.o))
$(foreach name,common cds,$(eval $(BUILD)/libleeward-urcu-$(name).so.8 \
	$(BUILD)/libleeward-urcu-$(name).a: $(BUILD)/urcu/$(name).o))
$(BUILD)/libleeward-urcu-cds.so.8 $(BUILD)/libleeward-urcu-cds.a: $(BUILD)/urcu/table.o

# -z nodelete: workers run the library's code, and threads keep words in it, after a dlclose.
$(URCU_SONAMES:%=$(BUILD)/%): $(DYNAMIC)
	$(CC) $(LDFLAGS) $(URCU_RPATH) -shared -o $@ -Wl,-soname,$(@F) -Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now -Wl,-z,defs \
		-Wl,--gc-sections -Wl,--as-needed $(filter %.o,$^) $(DYNAMIC) -lpthread
	@ln -sf $(@F) $(basename $@)
$(URCU_ARCHIVES:%=$(BUILD)/%):
	@rm -f $@
	$$($(CC) -print-prog-name=ar) rcs $@ $(filter %.o,$^)

# $(1): ours:theirs.
urcu_ours = libleeward-urcu-$(firstword $(subst :, ,$(1)))
urcu_theirs = liburcu$(addprefix -,$(word 2,$(subst :, ,$(1))))
# $(1): the folder; $(2): the way from there to the libraries. A name without a number is a linker script, because
# what is inlined uses libleeward itself.
define urcu_fill
	mkdir -p $(1)
	ln -sf $(2)/$(notdir $(DYNAMIC)) $(1)/$(notdir $(DYNAMIC))
	ln -sf $(2)/$(notdir $(DYNAMIC)) $(1)/libleeward.so
	$(foreach pair,$(URCU_ALIASES),ln -sf $(2)/$(call urcu_ours,$(pair)).so.8 $(1)/$(call urcu_theirs,$(pair)).so.8 && \
		ln -sf $(2)/$(call urcu_ours,$(pair)).so.8 $(1)/$(call urcu_ours,$(pair)).so && \
		echo 'INPUT(-l$(patsubst lib%,%,$(call urcu_ours,$(pair))) -lleeward)' >$(1)/$(call urcu_theirs,$(pair)).so && ) true
	echo 'INPUT(-lleeward-urcu-memb -lleeward)' >$(1)/liburcu-signal.so
	ln -sf libleeward-urcu-memb.so.8 $(1)/$(2)/libleeward-urcu.so.8
	ln -sf libleeward-urcu.so.8 $(1)/$(2)/libleeward-urcu.so
endef
urcu-folder: $(URCU_SONAMES:%=$(BUILD)/%)
	@$(call urcu_fill,$(URCU_FOLDER),../..)

urcu-install: urcu
	$(INSTALL) -d $(call to,$(libdir)/leeward/urcu)
	$(INSTALL) -m 755 $(URCU_SONAMES:%=$(BUILD)/%) $(call to,$(libdir))
	$(INSTALL) -m 644 $(URCU_ARCHIVES:%=$(BUILD)/%) $(call to,$(libdir))
	$(foreach soname,$(URCU_SONAMES),ln -sf $(soname) $(call to,$(libdir)/$(basename $(soname))) && ) true
	$(call urcu_fill,$(call to,$(libdir)/leeward/urcu),../..)
urcu-uninstall:
	rm -f $(foreach soname,$(URCU_SONAMES) libleeward-urcu.so.8,$(call to,$(libdir)/$(soname)) \
		$(call to,$(libdir)/$(basename $(soname))))
	rm -f $(URCU_ARCHIVES:%=$(call to,$(libdir)/%))
	rm -rf $(call to,$(libdir)/leeward/urcu)
install: urcu-install
uninstall: urcu-uninstall

.PHONY: urcu urcu-folder urcu-install urcu-uninstall install uninstall

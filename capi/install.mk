# `make install`, `make install-strip` and `make uninstall`.

PAGES := $(MAN)/*.3 $(wildcard man/*.[37])
to = $(DESTDIR)$(1)
# The names under which a page is found beside its own: a comment in it lists them.
aliases = $$(sed -n 's/^\.\\" Aliases: *//p' $(1))

install: all
	$(INSTALL) -d $(call to,$(libdir)/pkgconfig) $(call to,$(libdir)/cmake/leeward) $(call to,$(includedir))
	$(INSTALL) -m 755 $(DYNAMIC) $(call to,$(libdir)/libleeward.so.$(VERSION))
	ln -sf libleeward.so.$(VERSION) $(call to,$(libdir)/$(SONAME))
	ln -sf $(SONAME) $(call to,$(libdir)/libleeward.so)
	$(INSTALL) -m 644 $(STATIC) $(call to,$(libdir))
	$(INSTALL) -m 644 $(PACKAGES:%=$(BUILD)/%) $(call to,$(libdir)/pkgconfig)
	$(INSTALL) -m 644 $(CMAKE:%=$(BUILD)/%) $(call to,$(libdir)/cmake/leeward)
	$(if $(DISGUISED),$(INSTALL) -d $(call to,$(libdir)/leeward/pkgconfig))
	$(if $(DISGUISED),$(INSTALL) -m 644 $(DISGUISED:%=$(BUILD)/%) $(call to,$(libdir)/leeward/pkgconfig))
	cd include && find leeward -type f \( -name '*.h' -o -name '*.hpp' \) \
		-exec $(INSTALL) -D -m 644 {} $(abspath $(call to,$(includedir)))/{} \;
	@for page in $(PAGES); do \
		section=$${page##*.}; to=$(call to,$(mandir))/man$$section; $(INSTALL) -d $$to; $(INSTALL) -m 644 $$page $$to; \
		for alias in $(call aliases,$$page); do echo ".so man$$section/$${page##*/}" >$$to/$$alias.$$section; done; \
	done

	@$(tell_loader)

# The loader finds a library in a folder of its own list by a cache, which ldconfig writes; of other folders
# programs are to know. Files below DESTDIR are not where they will lie.
LDCONFIG ?= $(or $(shell command -v ldconfig),/sbin/ldconfig)
define tell_loader
	if [ -n '$(DESTDIR)' ]; then \
		echo 'install: run ldconfig once the files are in $(libdir)'; \
	elif [ "$$(id -u)" != 0 ] || ! $(LDCONFIG); then \
		echo 'install: run ldconfig as root, or link with -Wl,-rpath,$(libdir)'; \
	elif ! $(LDCONFIG) -p | grep -qF ' $(libdir)/$(SONAME)'; then \
		echo 'install: programs are not searched for libraries in $(libdir): link with -Wl,-rpath,$(libdir)'; \
	fi
endef

install-strip: install
	$$($(CC) -print-prog-name=strip) --strip-unneeded $(call to,$(libdir)/libleeward.so.$(VERSION))
	$$($(CC) -print-prog-name=strip) --strip-debug $(call to,$(libdir)/libleeward.a)

uninstall: pages
	rm -f $(foreach file,libleeward.so.$(VERSION) $(SONAME) libleeward.so libleeward.a,$(call to,$(libdir)/$(file)))
	rm -f $(foreach file,$(PACKAGES),$(call to,$(libdir)/pkgconfig/$(file)))
	rm -rf $(call to,$(libdir)/cmake/leeward) $(call to,$(libdir)/leeward/pkgconfig) $(call to,$(includedir)/leeward)
	-rmdir $(call to,$(libdir)/leeward) 2>/dev/null
	@for page in $(PAGES); do \
		section=$${page##*.}; to=$(call to,$(mandir))/man$$section; rm -f $$to/$${page##*/}; \
		for alias in $(call aliases,$$page); do rm -f $$to/$$alias.$$section; done; \
	done

.PHONY: install install-strip uninstall

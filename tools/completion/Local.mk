# SPDX-License-Identifier: BSD-3-Clause
# bash-completion looks for a file of the name of the command: one file, and a link for each other tool.
completiondir = $(datadir)/bash-completion/completions
EXTRA_DIST += tools/completion/dimmnet.bash
dnet_completed = dnet-check dnet-cluster dnet-info dnet-replay dnet-stat dnet-subnet dnet-trace dsh

install-data-hook: install-completion
.PHONY: install-completion
install-completion:
	$(MKDIR_P) "$(DESTDIR)$(completiondir)"
	$(INSTALL_DATA) $(srcdir)/tools/completion/dimmnet.bash "$(DESTDIR)$(completiondir)/dimmnet.bash"
	for tool in $(dnet_completed); do \
	    $(LN_S) -f dimmnet.bash "$(DESTDIR)$(completiondir)/$$tool" || exit 1; \
	done

uninstall-hook: uninstall-completion
.PHONY: uninstall-completion
uninstall-completion:
	for file in dimmnet.bash $(dnet_completed); do rm -f "$(DESTDIR)$(completiondir)/$$file"; done

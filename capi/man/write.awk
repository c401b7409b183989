# Writes the pages that read.awk has found: to `out`/NAME.3, with the program `examples`/NAME.c.

# ---- Names: owner[name] is the page of each; there is one.

function own(name, to, place) {
	if (name in owner && owner[name] != to)
		fail(place ": " name " is on two pages, " page_name[owner[name]] "(3) and " page_name[to] "(3)")
	owner[name] = to
}

# A function that takes a domain is declared for each domain, too, without that argument: the page's
# name tells for which.
function is_of_domain(d) { return decl_name[d] ~ /^lee_domain_/ && decl_kind[d] == "function" }
function domain_prefix(p) { return page_name[p] ~ /^lee_qsbr_/ ? "lee_qsbr_" : "lee_memb_" }
function shown_name(d) {
	return is_of_domain(d) ? domain_prefix(decl_page[d]) substr(decl_name[d], 12) : decl_name[d]
}

function own_declaration(d,    p, i, n, line) {
	p = decl_page[d]
	if (!p) { fail(decl_place[d] ": " decl_name[d] " has no page"); return }
	own(decl_name[d], p, decl_place[d])
	if (is_of_domain(d)) {
		n = split(domain_prefix(p) == "lee_qsbr_" ? "lee_qsbr_" : "lee_memb_ lee_bp_ lee_mb_ lee_qsbr_", line, " ")
		for (i = 1; i <= n; i++) own(line[i] substr(decl_name[d], 12), p, decl_place[d])
	}
	if (decl_kind[d] == "enum") {
		n = split(decl_raw[d], line, "\n")
		for (i = 2; i < n; i++)
			if (match(line[i], /LEE_[A-Z0-9_]+/)) own(substr(line[i], RSTART, RLENGTH), p, decl_place[d])
	}
}

function comment_has(c, text,    i) {
	for (i = 1; c && i <= comment_lines[c]; i++) if (index(comment_line[c, i], text)) return 1
	return 0
}

# A type that is declared before the first page of its header belongs to the page that names it, else to
# the first whose functions take or return it.
function claim_type(d,    name, e, p) {
	name = decl_kind[d] " " decl_name[d]
	for (p = 1; p <= pages; p++)
		if (page_header[p] == decl_header[d] && p in page_comment && comment_has(page_comment[p], name)) { decl_page[d] = p; return }
	for (e = 1; e <= declarations; e++) {
		p = decl_page[e]
		if (decl_header[e] != decl_header[d] || !p) continue
		if (comment_has(decl_comment[e], name)) { decl_page[d] = p; return }
	}
	for (e = 1; e <= declarations; e++) {
		p = decl_page[e]
		if (p && decl_header[e] == decl_header[d] && index(decl_type[e] " " decl_arguments[e] " ", name " ")) {
			decl_page[d] = p
			return
		}
	}
}

# ---- Sections of one page: section[name]; the headings of NOTES in their order.

function put(name, text, is_joined) {
	if (name == "DESCRIPTION" && held != "" && text !~ /^\.B[dl] /) { text = text held; held = "" }
	if (!(name in section) && name !~ /^[A-Z ]+$/) headings[++heading_count] = name
	section[name] = section[name] ((name in section) && section[name] != "" && !is_joined ? ".Pp\n" : "") text
}

# The heading with which a paragraph begins, as in "Memory ordering. What ...", or "". The headings that
# there are stand here, so that no short sentence is taken for one.
function heading_of(text,    heading) {
	if (!match(text, /^[A-Z][A-Za-z+,-]+( [A-Za-z,-]+)?( [A-Za-z,-]+)?( [A-Za-z]+)?\. /)) return ""
	heading = substr(text, 1, RLENGTH - 2)
	if (index("|Returns|Environment|Errors|Size|Deleters|Cost|Cost and fairness|Fairness|Fairness, memory ordering|" \
		"Memory ordering|Lifetime|Signals|Signals, fork|Fork|Cancellation|Cancellation and thread exit|Thread exit|" \
		"C++|Rust|Every header|Exit of the process|Unloading code|Names|Locks|Long readers|Misuse|Rounds|" \
		"Sandboxes|Thread-local storage|Thread sanitizer|The worker|Waiting for grace periods|Memory|Trust|Death|" \
		"How it works|Where it may lie|Limits|", "|" heading "|")) return heading
	fail(page_name[page] "(3): \"" heading ".\" is neither a heading that write.awk knows nor a long sentence")
	return ""
}

function section_named(heading) {
	if (heading == "Errors") return "ERRORS"
	if (heading == "Returns") return "RETURN VALUES"
	if (heading == "Environment") return "ENVIRONMENT"
	return heading
}

# The subject of a comment's first sentence.
function with_subject(d, text,    name) {
	name = shown_name(d)
	if (text ~ /^[A-Za-z_0-9]+\(\) / || text ~ /^[A-Z]+_[A-Z_]+ /) return text
	if (decl_kind[d] ~ /^(struct|enum|variable)$/) return text
	name = name (decl_kind[d] == "constant" ? "" : "()")
	if (decl_kind[d] ~ /^(constant|call)$/ && text ~ /^(The|A|An|What|How) /) name = name " is"
	return name " " lower_first(text)
}

function put_paragraph(p, text, d,    heading, name, rest) {
	heading = is_first ? "" : heading_of(text)
	if (heading) {
		into = section_named(heading)
		text = substr(text, length(heading) + 3)
		is_first = 0
	}
	if (text ~ /^See also /) { mdoc(text); return }
	if (d && match(text, /Errors: [^.]*\./)) {
		note_errors(p, substr(text, RSTART + 8, RLENGTH - 8), d)
		text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
	}
	gsub(/^ +| +$/, "", text)
	if (text == "") return
	if (d && into == "DESCRIPTION" && (match(text, /[.)] Returns /) || !is_first && match(text, /^Returns /))) {
		rest = substr(text, RSTART)
		sub(/^[.)] /, "", rest)
		text = RSTART == 1 && rest == text ? "" : substr(text, 1, RSTART)
		put("RETURN VALUES", mdoc(with_subject(d, rest)), 1)
		returns[shown_name(d)] = 1
	}
	if (text == "") return
	if (d && is_first) text = with_subject(d, text)
	is_first = 0
	put(into, mdoc(text))
}

# A list whose items are lines "- text", or "NAME: text". (Errors of a function are kept for later.)
function put_items(p, d,    i, text, width) {
	if (item_tag[1] ~ /^E[A-Z][A-Z0-9]+$/) {
		for (i = 1; i <= items; i++) {
			add_error(p, item_tag[i], item_text[i], d ? shown_name(d) : "")
			if (d) fails[p, shown_name(d)] = 1
			else if (!is_settled) error_shared[p, item_tag[i], error_count[p, item_tag[i]]] = 1
		}
		items = 0
		return
	}
	if (item_tag[1] == "-") text = ".Bl -bullet\n"
	else {
		for (i = 1; i <= items; i++) if (length(item_tag[i]) > length(width)) width = item_tag[i]
		text = ".Bl -tag -width " width "\n"
	}
	for (i = 1; i <= items; i++)
		text = text (item_tag[1] == "-" ? ".It\n" : ".It " item_macro(item_tag[i]) "\n") mdoc(upper_first(item_text[i]))
	put(into, text ".El\n", 1)
	items = 0
}

function item_macro(tag,    macro) {
	macro = macro_of(bind(tag))
	return macro == "" ? tag : macro
}

# The lines of a comment: paragraphs, lists, and what is indented by four columns, which stays as it is.
function explain(p, c, d,    i, line, text, display, blank) {
	into = "DESCRIPTION"
	is_first = d > 0
	text = display = ""
	items = blank = 0
	for (i = (c in comment_first) ? comment_first[c] + 1 : 1; i <= comment_lines[c] + 1; i++) {
		line = i > comment_lines[c] ? "" : comment_line[c, i]
		if (display != "" && line ~ /^(    |$)/ && i <= comment_lines[c]) {
			display = display literal_line(substr(line, 5)) "\n"
			continue
		}
		if (display != "") {
			sub(/\n+$/, "\n", display)
			display = ".Bd -literal -offset indent\n" display ".Ed\n"
			# A page begins with prose.
			if (into == "DESCRIPTION" && section[into] == "" && held == "") held = display
			else put(into, display, 1)
			display = ""
		}
		if (line == "") {
			if (text != "") put_paragraph(p, text, d)
			if (items) put_items(p, d)
			text = ""
		} else if (line ~ /^    / && text == "" && !items) {
			display = literal_line(substr(line, 5)) "\n"
		} else if (line ~ /^(- |E[A-Z][A-Z0-9]+: )/ || line ~ /^(`[a-z_]+`|[A-Z][A-Z0-9_]+): / && (items || text == "")) {
			if (text != "") { put_paragraph(p, text, d); text = "" }
			items++
			item_tag[items] = line ~ /^- / ? "-" : substr(line, 1, index(line, ":") - 1)
			item_text[items] = line ~ /^- / ? substr(line, 3) : substr(line, index(line, ": ") + 2)
		} else if (items) {
			sub(/^ +/, "", line)
			item_text[items] = item_text[items] " " line
		} else {
			text = text (text == "" ? "" : " ") line
		}
	}
}

# ---- A page from its parts.

# NAME has what is called; the others are found by links.
function names(p,    d, kinds, list, more) {
	if (p in cxx) return ".Nm " page_name[p] "\n"
	kinds = "function call"
	for (d = 1; d <= declarations; d++) if (decl_name[d] == page_name[p]) kinds = kinds " " decl_kind[d]
	for (d = 1; d <= declarations; d++) {
		if (decl_page[d] != p || decl_name[d] ~ /_INIT$/ || !index(kinds, decl_kind[d])) continue
		list = list " " shown_name(d)
		if (is_of_domain(d)) more = more " " decl_name[d]
	}
	list = list more
	if (index(list " ", " " page_name[p] " ") == 0) fail(page_header[p] ": " page_name[p] "(3) is not declared")
	sub(/^ /, "", list)
	gsub(/ /, " ,\n.Nm ", list)
	return ".Nm " list "\n"
}

function aliases(p,    name, list, n, i, line, text) {
	for (name in owner) if (owner[name] == p && name != page_name[p]) list = list " " name
	n = split(sorted(list, " "), line, " ")
	for (i = 1; i <= n; i++) text = text (i % 4 == 1 ? (i > 1 ? "\n" : "") ".\\\" Aliases:" : "") " " line[i]
	return text (n ? "\n" : "")
}

function sorted(list, by,    n, item, i, j, one) {
	n = split(list, item, by)
	for (i = 2; i <= n; i++) {
		one = item[i]
		for (j = i - 1; j >= 1 && item[j] > one; j--) item[j + 1] = item[j]
		item[j + 1] = one
	}
	list = item[1]
	for (i = 2; i <= n; i++) list = list by item[i]
	return list
}

function see_also(    key, list, n, i, line, text) {
	for (key in reference) list = list (list == "" ? "" : "\n") key
	n = split(sorted(list, "\n"), line, "\n")
	for (i = 1; i <= n; i++) text = text ".Xr " reference[line[i]] (i < n ? " ,\n" : "\n")
	return text
}

function example(p,    file, line, text, is_begun) {
	file = examples "/" page_name[p] (page_header[p] ~ /hpp$/ ? ".cc" : ".c")
	while ((getline line <file) > 0) {
		if (!is_begun && line ~ /^\/\* .* \*\/$/) { text = mdoc(substr(line, 4, length(line) - 6)); continue }
		if (!is_begun && line == "") continue
		if (!is_begun) text = text ".Bd -literal -offset indent\n"
		is_begun = 1
		text = text literal_line(line) "\n"
	}
	close(file)
	if (!is_begun) { fail(file ": no program"); return "" }
	return text ".Ed\n"
}

# What every page says of functions, unless its own text says something else.
function usual(p,    d, n, who, count, values) {
	for (d = 1; d <= declarations; d++) {
		if (decl_page[d] != p || decl_kind[d] != "function") continue
		count++
		if (decl_type[d] != "void") values++
		if ((p, shown_name(d)) in fails && !(shown_name(d) in returns)) { n++; who = who " " shown_name(d) }
		if (decl_arguments[d] ~ /\*deadline/) refer("lee_deadline_after", 3)
	}
	if (!count) return
	if (n)
		put("RETURN VALUES", (n <= 3 ? function_list(who, "and", "") (n == 1 ? "returns" : "return") \
			: "The functions that return\n.Vt int\nreturn") "\n0, or a positive error number.\n", 1)
	if (!values) put("RETURN VALUES", (count == 1 ? "The function returns" : "The functions return") " nothing.\n", 1)
	put("RETURN VALUES", ".Va errno\nis left as it was.\n", 1)
	if (!("Cancellation" in section || "Cancellation and thread exit" in section))
		put("Cancellation", count == 1 ? "The function is no cancellation point.\n" : "No function is a cancellation point.\n")
}

function domains(p,    d, is_any) {
	for (d = 1; d <= declarations; d++) if (decl_page[d] == p && is_of_domain(d)) is_any = 1
	if (!is_any) return
	if (domain_prefix(p) == "lee_qsbr_")
		put("DESCRIPTION", mdoc("The functions that begin with `lee_qsbr_` are those of the domain lee_qsbr. " \
			"A domain of LEE_DOMAIN_QSBR() has them under its own name. Those that begin with `lee_domain_` take " \
			"the domain as an argument, and are not inlined."))
	else
		put("DESCRIPTION", mdoc("The domains lee_bp, lee_mb, lee_qsbr and those of LEE_DOMAIN() have, under their own " \
			"names, what begins with `lee_memb_` here. What begins with `lee_domain_` takes the domain as an argument, " \
			"and is not inlined."))
}

function prepare(p,    d, i, n, part, name) {
	split("", section); split("", headings); split("", reference); split("", returns)
	split("", argument); split("", member)
	heading_count = 0
	page = p
	for (d = 1; d <= declarations; d++) {
		if (decl_page[d] != p) continue
		n = split(decl_kind[d] == "struct" ? decl_raw[d] : decl_arguments[d], part, "\n")
		for (i = 1; i <= n; i++) {
			name = part[i]
			sub(/;.*$/, "", name)
			if (match(name, /\(\*[a-z_]+\)/)) name = substr(name, RSTART + 2, RLENGTH - 3)
			sub(/^.*[ *\t]/, "", name)
			if (decl_kind[d] == "struct") member[name]; else argument[name]
		}
	}
}

function explain_page(p,    d) {
	prepare(p)
	domains(p)
	if (p in page_comment) explain(p, page_comment[p], 0)
	for (d = 1; d <= declarations; d++)
		if (decl_page[d] == p && decl_comment[d] && decl_kind[d] !~ /^(struct|enum)$/) explain(p, decl_comment[d], d)
}

function write_page(p,    to, i) {
	to = out "/" page_name[p] ".3"
	explain_page(p)
	usual(p)
	section["ERRORS"] = section["ERRORS"] errors_section(p)
	printf "%s.\\\" Made of %s by the C face's Makefile.\n", aliases(p), page_header[p] >to
	printf ".Dd %s\n.Dt %s 3\n.Os leeward\n.Sh NAME\n%s.Nd %s\n", day, toupper(page_name[p]), names(p), page_text[p] >to
	printf ".Sh LIBRARY\nleeward (libleeward, \\-lleeward)\n.Sh SYNOPSIS\n%s", synopsis(p) >to
	put_section(to, "DESCRIPTION")
	put_section(to, "RETURN VALUES")
	put_section(to, "ENVIRONMENT")
	put_section(to, "ERRORS")
	if (heading_count) printf ".Sh NOTES\n" >to
	for (i = 1; i <= heading_count; i++) printf ".Ss %s\n%s", headings[i], section[headings[i]] >to
	section["EXAMPLE"] = example(p)
	put_section(to, "EXAMPLE")
	section["SEE ALSO"] = see_also()
	put_section(to, "SEE ALSO")
	close(to)
}

function put_section(to, name) { if (section[name] != "") printf ".Sh %s\n%s", name, section[name] >to }

END {
	settle()
	FILENAME = ""
	if (day == "") fail("abi.h does not say of which day the version is")
	for (d = 1; d <= declarations; d++) if (!decl_page[d] && decl_kind[d] ~ /^(struct|enum)$/) claim_type(d)
	for (p = 1; p <= pages; p++) own(page_name[p], p, page_header[p])
	for (d = 1; d <= declarations; d++) own_declaration(d)
	deadline_page = owner["lee_deadline_after"]
	# Once for what the comments say of errors, and once to write.
	for (p = 1; p <= pages; p++) explain_page(p)
	settle_errors()
	if (failed) exit 1
	is_settled = 1
	for (p = 1; p <= pages; p++) write_page(p)
	exit failed
}

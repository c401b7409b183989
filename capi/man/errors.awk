# The errors of a page's functions: what a function's comment says of its own, and what several share.

function add_error(p, name, text, function_name,    k) {
	if (is_settled) return
	k = ++error_count[p, name]
	if (k == 1) error_order[p] = error_order[p] " " name
	error_text[p, name, k] = text
	error_functions[p, name, k] = function_name
}

function join_error(p, name, k, function_name) {
	error_functions[p, name, k] = error_functions[p, name, k] (error_functions[p, name, k] ? " " : "") function_name
}

# Errors: EBUSY, EINVAL, and those of name().
function note_errors(p, text, d,    i, n, word, name, other) {
	if (is_settled) return
	n = split(text, word, /[ ,.;]+/)
	name = shown_name(d)
	for (i = 1; i <= n; i++) {
		if (word[i] ~ /^E[A-Z][A-Z0-9]+$/) {
			fails[p, name] = 1
			bare_errors++
			bare_page[bare_errors] = p
			bare_name[bare_errors] = word[i]
			bare_function[bare_errors] = name
			bare_timed[bare_errors] = decl_arguments[d] ~ /\*deadline/
		} else if (word[i] ~ /\(\)$/) {
			fails[p, name] = 1
			other = substr(word[i], 1, length(word[i]) - 2)
			shared_errors++
			shared_page[shared_errors] = p
			shared_function[shared_errors] = name
			shared_other[shared_errors] = other
		}
	}
}

function settle_errors(    i, p, name, n, k, e, list, other) {
	for (i = 1; i <= bare_errors; i++) {
		p = bare_page[i]; name = bare_name[i]
		for (k = 1; k <= error_count[p, name]; k++)
			if (!bare_timed[i] || error_shared[p, name, k] || !((deadline_page, name, 1) in error_text)) break
		if (k <= error_count[p, name]) { join_error(p, name, k, bare_function[i]); continue }
		if (!((deadline_page, name, 1) in error_text)) {
			fail(page_header[p] ": " page_name[p] "(3) does not say what " name " means")
			continue
		}
		add_error(p, name, error_text[deadline_page, name, 1], bare_function[i])
		error_shared[p, name, error_count[p, name]] = 1
	}
	for (i = 1; i <= shared_errors; i++) {
		p = shared_page[i]; other = " " shared_other[i] " "
		n = split(error_order[p], list, " ")
		for (e = 1; e <= n; e++)
			for (k = 1; k <= error_count[p, list[e]]; k++)
				if (index(" " error_functions[p, list[e], k] " ", other)) join_error(p, list[e], k, shared_function[i])
	}
}

# Names of functions as macros: "a, b:", or "a, b and c" where there is a last word.
function function_list(all, last, end,    i, n, name, list) {
	n = split(all, name, " ")
	for (i = 1; i <= n; i++) {
		if (i == n && n > 1 && last != "") sub(/ ,\n$/, "\n", list)
		if (i == n && n > 1 && last != "") list = list last "\n"
		list = list ".Fn " name[i] (i < n ? " ,\n" : end "\n")
	}
	return list
}

function errors_section(p,    i, n, k, name, text, who, count, one, list) {
	n = split(error_order[p], name, " ")
	if (n == 0) return ""
	for (one in fails) if (substr(one, 1, length(p) + 1) == p SUBSEP) count++
	text = ".Bl -tag -width Er\n"
	for (i = 1; i <= n; i++) {
		text = text ".It Er " name[i] "\n"
		for (k = 1; k <= error_count[p, name[i]]; k++) {
			who = error_functions[p, name[i], k]
			one = split(who, list, " ")
			if (one == 0 || one > 3 || count == 1) text = text mdoc(upper_first(error_text[p, name[i], k]))
			else text = text function_list(who, "", " :") mdoc(error_text[p, name[i], k])
		}
	}
	return text ".El\n"
}


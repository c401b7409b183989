# The SYNOPSIS of a page, from the declarations that read.awk has found.

function synopsis_arguments(list,    i, n, part, text) {
	if (list == "" || list == "void") return " void"
	n = split(list, part, "\n")
	for (i = 1; i <= n; i++) text = text " \"" part[i] "\""
	return text
}

function synopsis_function(type, name, list,    i, n, part, text) {
	text = type == "" ? "" : ".Ft " type "\n"
	if (length(list) + length(name) < 90) return text ".Fn " name synopsis_arguments(list) "\n"
	text = text ".Fo " name "\n"
	n = split(list, part, "\n")
	for (i = 1; i <= n; i++) text = text ".Fa \"" part[i] "\"\n"
	return text ".Fc\n"
}

# A type whose members programs use, as it is declared, without what is the library's.
function synopsis_type(d,    i, n, line, text, hidden, shown, c) {
	n = split(decl_raw[d], line, "\n")
	for (i = 2; i < n; i++) {
		if (line[i] ~ /lee_1_/ && !sub(/, \**lee_1_[a-z_]+/, "", line[i])) { hidden = 1; continue }
		if (line[i] ~ /^[ \t]*(LEE_|[a-z]).*[,;0-9]/) shown = 1
		text = text literal_line(line[i]) "\n"
	}
	if (!shown) return ""
	c = decl_comment[d]
	if (c && comment_lines[c] == 1) text = "/* " literal_line(comment_line[c, 1]) " */\n" line[1] "\n" text
	else text = line[1] "\n" text
	return ".Bd -literal\n" text (hidden ? "\t/* and what is the library's */\n" : "") "};\n.Ed\n.Pp\n"
}

# What functions of a page call an argument of a type.
function usual_name(type, p,    d) {
	for (d = 1; d <= declarations; d++)
		if (decl_page[d] == p && match(decl_arguments[d], "struct " type " \\*[a-z]+"))
			return substr(decl_arguments[d], RSTART + length(type) + 9, RLENGTH - length(type) - 9)
	return substr(type, 5)
}

function synopsis_constant(d,    type, value) {
	type = tolower(decl_name[d])
	if (sub(/_init$/, "", type) && owner[type] == decl_page[d])
		return ".Vt \"struct " type "\"\n.Va " usual_name(type, decl_page[d]) "\n=\n" \
			(decl_kind[d] == "call" ? ".Fn " decl_name[d] synopsis_arguments(decl_arguments[d]) : ".Dv " decl_name[d] " ;") "\n.Pp\n"
	if (decl_kind[d] == "call") return synopsis_function("", decl_name[d], decl_arguments[d])
	value = decl_arguments[d]
	gsub(/"/, "\\(dq", value)
	return ".Fd #define " decl_name[d] (value == "" || value ~ /LEE_1_/ ? "" : " " value) "\n"
}

function synopsis(p,    d, text, more, list) {
	if (p in cxx) return ".In " page_header[p] "\n.Bd -literal\n" cxx[p] ".Ed\n"
	text = ".In " page_header[p] "\n.Pp\n"
	for (d = 1; d <= declarations; d++) {
		if (decl_page[d] != p) continue
		if (decl_kind[d] ~ /^(struct|enum)$/) text = text synopsis_type(d)
		else if (decl_kind[d] ~ /^(constant|call)$/) text = text synopsis_constant(d)
		else if (decl_kind[d] == "variable") text = text ".Vt \"" decl_type[d] "\"\n.Va " decl_name[d] " ;\n"
		else if (!is_of_domain(d)) text = text synopsis_function(decl_type[d], decl_name[d], decl_arguments[d])
		else {
			list = decl_arguments[d]
			if (!sub(/^[^\n]*\n/, "", list)) list = "void"
			text = text synopsis_function(decl_type[d], shown_name(d), list)
			more = more synopsis_function(decl_type[d], decl_name[d], decl_arguments[d])
		}
	}
	text = text more
	gsub(/\.Pp\n\.Bd/, ".Bd", text)
	sub(/\.Pp\n$/, "", text)
	while (gsub(/\.Pp\n\.Pp\n/, ".Pp\n", text)) ;
	return text
}

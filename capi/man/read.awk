# Reads the headers for the manual pages of section 3: where a page begins, its declarations, and the
# comment before each. capi/README.md says how a comment is written; write.awk makes the pages.
#
# The headers are read as they are written in this folder: a comment before a declaration begins in the
# first column, and so does the brace of a function's body. POSIX awk, since it runs wherever make does.

function fail(text) {
	printf "pages: %s\n", text >"/dev/stderr"
	failed = 1
}

# ---- Comments: comment_line[number, line], comment_lines[number]; `pending` is followed by a declaration.

function begin_comment(line) {
	comments++
	comment_lines[comments] = 0
	mode = "comment"
	sub(/^\/\*/, "", line)
	if (line != "") read_comment(line)
}

function read_comment(line,    is_end) {
	is_end = sub(/[ \t]*\*\/[ \t]*$/, "", line)
	sub(/^ ?\* ?/, "", line) || sub(/^ /, "", line)
	if (line != "" || comment_lines[comments] > 0) comment_line[comments, ++comment_lines[comments]] = line
	if (is_end) end_comment()
}

# A comment begins a page whose first line is "name(3): what it is."
function end_comment(    line, i, last) {
	mode = ""
	settle()
	pending = comments
	last = comment_lines[comments]
	line = comment_line[comments, 1]
	if (line !~ /^[A-Za-z_0-9]+\(3\): /) return
	page = ++pages
	page_name[page] = substr(line, 1, index(line, "(") - 1)
	page_header[page] = header
	page_text[page] = substr(line, index(line, ": ") + 2)
	for (i = 2; i <= last && comment_line[comments, i] != ""; i++)
		page_text[page] = page_text[page] " " comment_line[comments, i]
	sub(/\.$/, "", page_text[page])
	comment_first[comments] = i
	begins_page = 1
}

# What is pending is followed by no declaration: it is the page's own text, or nothing for pages.
function settle() {
	if (pending && begins_page) page_comment[page] = pending
	pending = begins_page = 0
}

# ---- Declarations.

function is_public(name) { return name ~ /^(lee|LEE)_/ && name !~ /^(lee|LEE)_1_/ }

function declare(kind, name, type, arguments, raw) {
	if (!is_public(name)) { settle(); return }
	declarations++
	decl_kind[declarations] = kind
	decl_name[declarations] = name
	decl_type[declarations] = type
	decl_arguments[declarations] = arguments
	decl_raw[declarations] = raw
	decl_page[declarations] = page
	decl_header[declarations] = header
	decl_comment[declarations] = pending
	decl_place[declarations] = FILENAME ":" FNR
	pending = begins_page = 0
}

# The text between a function's parentheses, one argument a line.
function arguments_of(text,    i, c, depth, list) {
	text = substr(text, index(text, "(") + 1)
	for (i = 1; i <= length(text); i++) {
		c = substr(text, i, 1)
		if (c == "(") depth++
		if (c == ")" && depth-- == 0) break
		list = list (c == "," && depth == 0 ? "\n" : c)
	}
	gsub(/\n /, "\n", list)
	return list
}

function declare_code(text,    one, name, type) {
	one = text
	gsub(/[ \t\n]+/, " ", one)
	sub(/ ?;$/, "", one)
	if (one ~ /^(struct|enum) [a-z_0-9]+ \{/) {
		split(one, part, " ")
		declare(part[1], part[2], "", "", text)
	} else if (one ~ /^struct [a-z_0-9]+$/) {
		declare("struct", substr(one, 8), "", "", "")
	} else if (one ~ /^extern /) {
		name = one; sub(/^.*[ *]/, "", name)
		type = substr(one, 1, length(one) - length(name)); sub(/ $/, "", type)
		declare("variable", name, type, "", "")
	} else if (match(one, /[A-Za-z_0-9]+\(/)) {
		name = substr(one, RSTART, RLENGTH - 1)
		type = substr(one, 1, RSTART - 1)
		sub(/ $/, "", type); sub(/^(LEE_1_INLINE|LEE_1_COLD) /, "", type)
		declare(type ~ /^typedef/ ? "typedef" : "function", name, type, arguments_of(substr(one, RSTART)), "")
	} else {
		settle()
	}
}

# A declaration is over at its semicolon, or where the body of its function begins.
function read_declaration(line) {
	if (line == "{") {
		mode = "body"
		declare_code(declaration)
		return
	}
	declaration = declaration (declaration == "" ? "" : "\n") line
	if (declaration ~ /^(struct|enum) [a-z_0-9]+ \{/ ? line ~ /^\}.*;$/ : line ~ /;$/) {
		mode = ""
		declare_code(declaration)
	}
}

function read_macro(line,    name, arguments, value) {
	sub(/^#[ ]*define /, "", line)
	if (!match(line, /^[A-Za-z_0-9]+/)) return
	name = substr(line, 1, RLENGTH)
	line = substr(line, RLENGTH + 1)
	if (line ~ /\\$/) mode = "macro"
	if (line ~ /^\(/) {
		arguments = substr(line, 2, index(line, ")") - 2)
		gsub(/, */, "\n", arguments)
		declare("call", name, "", arguments, "")
	} else {
		sub(/^[ \t]+/, "", line)
		declare("constant", name, "", line, "")
	}
}

# A macro of the headers that stands for declarations of theirs: nothing of it is public.
function read_internal(line,    opened, closed) {
	declaration = declaration line
	opened = gsub(/\(/, "(", declaration)
	closed = gsub(/\)/, ")", declaration)
	mode = opened == closed ? "" : "internal"
}

# ---- C++: what namespace leeward shows, without bodies, private parts and the namespace lee_1.

function show_cxx(line) { cxx[page] = cxx[page] line "\n" }

function end_cxx() { sub(/\n$/, ";\n", cxx[page]) }

function read_cxx(line) {
	if (line ~ /^namespace lee_1 /) is_hidden = 1
	if (line ~ /^\} \/\/ namespace leeward/) { show_cxx("}"); is_shown = 0 }
	if (line ~ /^namespace leeward /) is_shown = 1
	if (line ~ /^\} \/\/ namespace lee_1/) { is_hidden = 0; return }
	if (!is_shown || is_hidden) return
	sub(/^inline /, "", line); sub(/(inline|constexpr) /, "", line)
	if (line ~ /^\t?\}$/) { mode = ""; return }
	if (mode == "code") return
	if (line ~ /^\t?\{$/) { if (mode != "member") end_cxx(); mode = "code"; return }
	if (line ~ /^[a-z].*::[a-z]+\(/ && line !~ /=/) { mode = "member"; return }
	if (line ~ /^(private|protected):/) is_private = 1
	if (line == "};") is_private = 0
	if (is_private || line ~ /^\t\/\*| = delete/) return
	if (line ~ /^(template .*)?class /) sub(/ : .*\{/, " {", line)
	else sub(/( : [a-z_]+\([a-z_&]+\))? *\{.*\}$/, ";", line)
	if (line ~ /^(template|class)/ && cxx[page] ~ /;\n$/) show_cxx("")
	if (line != "") show_cxx(line)
}

BEGIN { pages = comments = declarations = pending = page = failed = 0; mode = "" }
FNR == 1 { settle(); header = FILENAME; sub(/^.*include\//, "", header); page = 0; mode = "" }
FILENAME ~ /abi\.h$/ && match($0, /[A-Z][a-z]+ [0-9]+, 20[0-9]+/) { day = substr($0, RSTART, RLENGTH) }
mode == "comment" { read_comment($0); next }
mode == "body" { if (/^\}/) mode = ""; next }
mode == "macro" { if (!/\\$/) mode = ""; next }
mode == "internal" { read_internal($0); next }
mode == "declaration" { read_declaration($0); next }
/^\/\*/ { begin_comment($0); next }
header ~ /\.hpp$/ { settle(); read_cxx($0); next }
/^#[ ]*define / { read_macro($0); next }
/^(#.*|[ \t]*|LEE_1_BEGIN|LEE_1_END)$/ { settle(); next }
{ declaration = "" }
/^LEE_1_[A-Z_0-9]+\(/ { settle(); read_internal($0); next }
{ mode = "declaration"; read_declaration($0) }

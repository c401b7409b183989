# Prose of a comment as mdoc: which words are functions, arguments, constants. write.awk says on which page.
#
#	name()         a function or a macro: of this page, or a reference to its own
#	name(3)        a reference to a page; seen in SEE ALSO, too
#	`name`         an argument or a member; any other text in back quotes is literal
#	NULL, LEE_X    constants; EINVAL an error, LEEWARD_FENCE a variable of the environment
#	struct name    a type; <header.h>, errno, -option and /path are what they seem to be

# A space within a word.
function bind(text) { gsub(/ /, "\001", text); return text }
function unbind(text) { gsub(/\001/, " ", text); return text }

# Binds each part of the text that matches.
function bind_all(text, pattern,    done) {
	while (match(text, pattern)) {
		done = done substr(text, 1, RSTART - 1) bind(substr(text, RSTART, RLENGTH))
		text = substr(text, RSTART + RLENGTH)
	}
	return done text
}

function lower_first(text) { return text ~ /^[A-Z]([a-z]|[ ])/ ? tolower(substr(text, 1, 1)) substr(text, 2) : text }
function upper_first(text) { return text ~ /^[a-z][a-z]*[ ,]/ ? toupper(substr(text, 1, 1)) substr(text, 2) : text }

# A line that roff takes as it is.
function literal_line(line) {
	gsub(/\\/, "\\e", line)
	return line ~ /^[.']/ ? "\\" "&" line : line
}

# The arguments of a macro line: what has spaces is quoted.
function quoted(text) {
	text = unbind(text)
	gsub(/\\/, "\\e", text)
	return text ~ / / ? "\"" text "\"" : text
}

# A name that looks like one of the library's is one.
function known(name) {
	if (name ~ /^(lee|LEE)_/ && !(name in owner)) fail(page_name[page] "(3) refers to " name "(), which is not declared")
}

# `name` refers to a page of that section: remembered for SEE ALSO.
function refer(name, section) {
	if (section == 3 && name in owner) name = page_name[owner[name]]
	else if (section == 3) known(name)
	if (name != page_name[page]) reference[section " " tolower(name)] = name " " section
}

# A function's name, as Fn or as a reference. Empty: it is a word of prose.
function call_macro(word,    name) {
	name = substr(word, 1, length(word) - 2)
	known(name)
	if (!(name in owner) || owner[name] == page) return "Fn " name
	refer(name, 3)
	return "Xr " name " 3"
}

# The macro and its argument for a word, or "" for one of prose.
function macro_of(word,    name, section) {
	if (word ~ /^[A-Za-z_][A-Za-z_0-9:]*\(\)$/) return call_macro(word)
	if (word ~ /^[A-Za-z_][A-Za-z_0-9-]*\([1-8]\)$/) {
		name = substr(word, 1, length(word) - 3)
		section = substr(word, length(word) - 1, 1)
		refer(name, section)
		return "Xr " name " " section
	}
	if (word ~ /^[a-z_]+\([a-z_, \001]+\)$/) {
		name = substr(word, 1, index(word, "(") - 1)
		section = unbind(substr(word, index(word, "(") + 1))
		sub(/\)$/, "", section)
		gsub(/, /, " ", section)
		return "Fn " name " " section
	}
	if (word ~ /^`.*`$/) {
		name = substr(word, 2, length(word) - 2)
		if (name in argument) return "Fa " name
		return (name in member ? "Va " : "Ql ") quoted(name)
	}
	if (word ~ /^(struct|enum)\001/) return "Vt " quoted(word)
	if (word ~ /^E[A-Z][A-Z0-9]+$/) return "Er " word
	if (word ~ /^LEEWARD_[A-Z_]+$/) return "Ev " word
	if (word ~ /^(NULL|SIG[A-Z]+|(__)?[A-Z][A-Z0-9]*_[A-Z0-9_]+)$/) return "Dv " word
	if (word ~ /^(lee_(memb|bp|mb|qsbr)|errno)$/) return "Va " word
	if (word ~ /^<[a-z\/_0-9]+(\.h|\.hpp)?>$/) return "In " substr(word, 2, length(word) - 2)
	if (word ~ /^-[a-z]/) return "Fl " substr(word, 2)
	if (word ~ /^\/[a-z]+(\/[a-z]+)*$/) return "Pa " word
	return ""
}

function end_line() {
	if (prose != "") { lines = lines literal_line(prose) "\n"; prose = "" }
}

# One word, with the punctuation around it.
function put_word(word,    before, after, possessive, macro) {
	while (word ~ /^\([^)]/) {
		before = before "( "
		word = substr(word, 2)
	}
	while (word ~ /[.,:;)?!]$/ && !(word ~ /\)$/ && word ~ /^[A-Za-z_`][A-Za-z_0-9:-]*\([^()]*\)$/)) {
		after = " " substr(word, length(word)) after
		word = substr(word, 1, length(word) - 1)
	}
	if (sub(/'s$/, "", word)) possessive = " Ns 's"
	macro = macro_of(word)
	if (macro == "") {
		word = before word (possessive ? "'s" : "") after
		sub(/^\( /, "(", word)
		gsub(/ /, "", word)
		word = unbind(word)
		if (word ~ /^-[0-9]/) word = "\002" word
		if (length(prose) + length(word) > 100) end_line()
		prose = prose (prose == "" ? "" : " ") word
	} else {
		end_line()
		lines = lines "." (before == "" ? macro : substr(macro, 1, 3) before substr(macro, 4)) possessive after "\n"
	}
	if (word after ~ /[.?!]\)?$/ || after ~ /[.?!]( \))?$/) end_line()
}

# A paragraph as lines of mdoc.
function mdoc(text,    i, n, word) {
	lines = prose = ""
	text = bind_all(text, "`[^`]*`")
	text = bind_all(text, "(struct|enum) [a-z_0-9]+")
	text = bind_all(text, "[a-z_]+\\([a-z_]+(, [a-z_]+)*\\)")
	n = split(text, word, " ")
	for (i = 1; i <= n; i++) put_word(word[i])
	end_line()
	gsub(/\002-/, "\\-", lines)
	return lines
}

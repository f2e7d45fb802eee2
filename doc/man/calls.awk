# The calls of ringnfs.h as a list for its manual page: what the header says of each is the text; one place, nothing twice.
# A comment belongs to the declarations that follow it; one that has none, but for the first, is a paragraph of its own.

function escape(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.']/)
        text = "\\&" text
    return text
}

# Lines of a comment; those that are indented are code.
function print_text(    i, code) {
    for (i = 1; i <= ntext; i++) {
        if (text[i] ~ /^    / && !code)
            print ".nf"
        if (text[i] !~ /^    / && code)
            print ".fi"
        code = text[i] ~ /^    /
        print text[i] == "" ? ".sp" : escape(text[i])
    }
    if (code)
        print ".fi"
}

function flush_calls(    i) {
    for (i = 1; i <= ncalls; i++)
        print (i == 1 ? ".TP" : ".TQ") "\n.B \"" calls[i] "\""
    if (ntext > 0 && ncalls == 0 && started)
        print ".PP"
    if (ntext > 0 && (ncalls > 0 || started))
        print_text()
    for (i = 1; i <= nfields; i++)
        print (i == 1 ? ".nf\n" : "") escape(fields[i]) (i == nfields ? "\n.fi" : "")
    started = 1
    ntext = ncalls = nfields = 0
}

function add_text(line) {
    sub(/^(\/\*| \*) ?/, "", line)
    sub(/ *\*\/.*$/, "", line)
    text[++ntext] = line
}

in_comment || /^\/\*/ {
    in_comment = $0 !~ /\*\//
    if ($0 !~ /^ ?\/?\*\/?$/)
        add_text($0)
    else if ($0 == " *")
        add_text("")
    next
}

in_struct && /^};/ {
    in_struct = 0
    calls[++ncalls] = escape(declaration)
    declaration = ""
    next
}

in_struct { fields[++nfields] = $0; next }

/^$/ { flush_calls(); next }

/^(RINGNFS_API|typedef|enum|struct [a-z_]+ \{)/ || declaration != "" {
    if (declaration == "" && /^struct/) {               # shown as it is written, with what is said of its fields
        in_struct = 1
        declaration = $1 " " $2 ";"
        next
    }
    declaration = declaration (declaration == "" ? "" : " ") $0
    opened += gsub(/\{/, "{", $0) - gsub(/\}/, "}", $0)
    if (opened > 0 || declaration !~ /;( *\/\*.*)?$/)
        next
    gsub(/\/\*[^*]*\*\//, "", declaration)
    gsub(/[ \t]+/, " ", declaration)
    gsub(/RINGNFS_API /, "", declaration)
    gsub(/"/, "\\(dq", declaration)
    calls[++ncalls] = escape(declaration)
    declaration = ""
}

END { flush_calls() }

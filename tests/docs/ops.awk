# Prints the page of all ops from the comments in the headers that declare them:
#
#     awk -f ops.awk HEADER...
#
# An op is a function at the outermost level that returns a Variable, several, or an Index. Its documentation becomes
# the entry; the comment at the top of its header opens the section.
function section() {
  if (opened == FILENAME) return
  opened = FILENAME
  print "\n## [" FILENAME "](../" FILENAME ")\n\n" wrapped("", "", lead) "\n"
}

# Text filled to 120 columns. No line begins with an operator, which Markdown would take for a list.
function wrapped(first, indent, text,    words, n, i, word, line, result) {
  n = split(text, words, " ")
  line = first words[1]
  for (i = 2; i <= n; ++i) {
    word = words[i]
    while (i < n && words[i + 1] ~ /^([-+*=<>]+|[0-9]+\.)$/) word = word " " words[++i]
    if (length(line) + 1 + length(word) > 120) { result = result line "\n"; line = indent word }
    else line = line " " word
  }
  return result line
}

# "const Variable<T>& x, const Axes& axes = {}" to "x, Axes axes = {}".
function arguments(list) {
  gsub(/typename detail::not_deduced<Variable<T>>::type/, "Variable<T>", list)
  gsub(/typename detail::not_deduced<T>::type/, "T", list)
  gsub(/detail::LossTarget<T>/, "Variable<T>", list)
  gsub(/const std::vector<Variable<T>>& /, "{Variable, ...} ", list)
  gsub(/const Variable<T>& /, "", list)
  gsub(/const |&/, "", list)
  gsub(/std::ptrdiff_t/, "int", list)
  gsub(/std::size_t|std::uint64_t/, "unsigned", list)
  gsub(/std::/, "", list)
  return list
}

function entry(declaration,    result, call) {
  result = declaration ~ /^std::vector/ ? " -> {Variable, ...}" : declaration ~ /^Index/ ? " -> Index" : ""
  call = declaration
  sub(/^[^ ]+ /, "", call)
  sub(/\)[^)]*$/, ")", call)
  section()
  print wrapped("- **`" arguments(call) result "`**: ", "  ", text)
}

BEGIN {
  print "# Every op\n"
  print wrapped("", "", "Written by `tests/docs/ops` from the comments in the headers; a test says when it is out of date. " \
    "Arguments without a type are Variables, and so is the result unless the entry says otherwise; T is float or " \
    "double. Shapes are written (2, 3), and (..., n) has any number of leading axes. In a derivative, and wherever no " \
    "gradient is wanted, most of these functions take arrays in place of Variables and give an array; see core/kernels.")
}
FNR == 1 { lead = text = declaration = ""; in_lead = 1 }
in_lead && /^\/\// { sub(/^\/\/ ?/, ""); lead = lead ($0 == "" ? "" : " " $0); next }
{ in_lead = 0 }
{ sub(/; +\/\/ .*/, ";") }  # a comment after a declaration
declaration != "" {  # goes on from the line before
  sub(/^ +/, " ")
  declaration = declaration $0
}
declaration == "" && /^\/\/\/ @/ { next }
declaration == "" && /^\/\/\// { sub(/^\/\/\/ ?/, ""); text = text " " $0; next }
declaration == "" && /^(Variable<T>|std::vector<Variable<T>>|Index) [a-z_0-9]+\(/ { declaration = $0 }
declaration ~ /[;{]$/ {
  if (text != "") entry(declaration)
  text = declaration = ""
}
declaration == "" && !/^template/ { text = "" }

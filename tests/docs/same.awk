# Compares what a program printed with what a page says.
#
#     awk -f same.awk EXPECTED ACTUAL
#
# Blanks count as one. `...` stands for any text, on a line of its own for any lines. A number with a decimal point may
# differ by 5 % or by 2 in its last digit, since training rounds differently on other processors; whole numbers may not.
function tidy(line) { gsub(/[ \t]+/, " ", line); sub(/ $/, "", line); return line }

# The numbers of a line are put into n, and the line with # in their places is returned.
function pick(line, n,    count, rest, text) {
  for (rest = line; match(rest, /-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/); rest = substr(rest, RSTART + RLENGTH)) {
    text = text substr(rest, 1, RSTART - 1) "#"
    n[++count] = substr(rest, RSTART, RLENGTH)
  }
  return text rest
}

function near(want, got,    digits, mantissa, unit, bound) {
  if (want == got) return 1
  if (want !~ /[.e]/) return 0
  mantissa = want
  sub(/e.*/, "", mantissa)
  unit = 1
  if (match(mantissa, /\./)) unit = 10 ^ -(length(mantissa) - RSTART)
  if (match(want, /e/)) unit *= 10 ^ substr(want, RSTART + 1)
  bound = 0.05 * (want < 0 ? -want : want + 0)
  if (bound < 2 * unit) bound = 2 * unit
  return want - got <= bound && got - want <= bound
}

function line_same(want, got,    i, a, b, ea, eb) {
  if ((i = index(want, "...")) > 0) {
    a = substr(want, 1, i - 1)
    b = substr(want, i + 3)
    for (ea = 0; ea <= length(got); ++ea) {
      if (!line_same(a, substr(got, 1, ea))) continue
      for (eb = ea; eb <= length(got); ++eb) if (line_same(b, substr(got, eb + 1))) return 1
    }
    return 0
  }
  delete wanted
  delete found
  if (pick(want, wanted) != pick(got, found)) return 0
  for (i = 1; i in wanted; ++i) if (!near(wanted[i], found[i])) return 0
  return 1
}

FNR == NR { expected[++lines] = tidy($0); next }
{ actual[++printed] = tidy($0) }
END {
  for (j = i = 1; i <= lines; ++i) {
    if (expected[i] == "...") {
      if (i == lines) exit 0
      while (j <= printed && !line_same(expected[i + 1], actual[j])) ++j
      continue
    }
    if (j > printed) { print "missing: " expected[i]; exit 1 }
    if (!line_same(expected[i], actual[j])) { print "page:    " expected[i] "\nprinted: " actual[j]; exit 1 }
    ++j
  }
  if (j <= printed) { print "the page lacks: " actual[j]; exit 1 }
}

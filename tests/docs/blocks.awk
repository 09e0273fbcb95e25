# Cuts the code blocks out of a Markdown page.
#
#     awk -v want=count -f blocks.awk PAGE                 how many programs the page has
#     awk -v want=program -v number=N -f blocks.awk PAGE   the N-th, from 1
#     awk -v want=output -v number=N -f blocks.awk PAGE    what the page says that the N-th prints
#     awk -v want=shell -f blocks.awk PAGE                 its commands
#
# A program is the cpp blocks after the program before it, up to and with the block that has the function main. What it
# prints is the text block that comes next, before any other cpp block. Commands are sh blocks. A cpp or text block that
# belongs to no program is an error, since it would not be tested.
function error(line) {
  print FILENAME ":" line ": this block belongs to no program" > "/dev/stderr"
  failed = 1
  exit 1
}
/^```/ && language == "" {
  language = substr($0, 4)
  if (language == "cpp") { body = body "#line " NR + 1 " \"" FILENAME "\"\n"; start = NR; printed = 0 }
  if (language == "text" && !printed) error(NR)
  if (language == "") language = "none"
  next
}
/^```/ {
  if (language == "text") printed = 0
  if (language == "cpp" && has_main) { programs[++count] = body; body = ""; has_main = 0; printed = count }
  language = ""
  next
}
language == "cpp" { body = body $0 "\n"; if ($0 ~ /^int main\(/) has_main = 1 }
language == "text" && printed { output[printed] = output[printed] $0 "\n" }
language == "sh" { shell = shell $0 "\n" }
END {
  if (failed) exit 1
  if (body != "") error(start)
  if (want == "count") print count + 0
  if (want == "program") printf "%s", programs[number]
  if (want == "output") printf "%s", output[number]
  if (want == "shell") printf "%s", shell
}

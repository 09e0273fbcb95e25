# Prints the C++ code blocks of a Markdown file: the first (program = 1), or all others (program = 2).
/^```cpp$/ { block++; inside = 1; next }
/^```$/ { inside = 0; next }
inside && (block == 1) == (program == 1)

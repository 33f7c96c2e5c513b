# Text files as C arrays: c_string_add(OUT NAME HEX) appends to the variable OUT the definition of NAME, whose bytes HEX has;
# c_strings_write(FILE TEXT) writes them, and leaves a file that has them as it is.
function(c_string_add out name hex)
  string(REGEX REPLACE "(................................................)" "\\1\n    " bytes "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND ${out} "\nconst char ${name}[] = {\n    ${bytes}'\\0'};\n")
  set(${out} "${${out}}" PARENT_SCOPE)
endfunction()

function(c_strings_write file text)
  file(WRITE ${file}.new "${text}")
  file(COPY_FILE ${file}.new ${file} ONLY_IF_DIFFERENT)
endfunction()

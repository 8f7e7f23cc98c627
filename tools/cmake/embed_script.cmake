# cmake -DSCRIPT=report.js -DNAME=report_script -DOUT=report_script.cpp -P embed_script.cmake
# Writes a C++ file that holds a script and its SHA-256 in base64, as a content security policy names it.
file(READ ${SCRIPT} text)
file(SHA256 ${SCRIPT} hash)
# Three hexadecimal digits are two of base64; 256 bits end with 4 zero bits, 2 of which the digit takes.
set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
set(hash "${hash}00")
set(base64 "")
foreach(place RANGE 0 63 3)
  string(SUBSTRING ${hash} ${place} 3 three)
  math(EXPR high "0x${three} >> 6")
  math(EXPR low "0x${three} & 63")
  string(SUBSTRING ${digits} ${high} 1 first)
  string(SUBSTRING ${digits} ${low} 1 second)
  string(APPEND base64 ${first}${second})
endforeach()
string(SUBSTRING ${base64} 0 43 base64)
# Semicolons and brackets are no lists here: the text is only written.
file(WRITE ${OUT} "#include \"tools/lockstep/report/page_script.hpp\"\n\nnamespace lockstep::cli {\n\nPageScript ${NAME}() {\n  static constexpr std::string_view kText = R\"LOCKSTEP(")
file(APPEND ${OUT} "${text}")
file(APPEND ${OUT} ")LOCKSTEP\";\n  return {kText, \"sha256-${base64}=\"};\n}\n\n}  // namespace lockstep::cli\n")

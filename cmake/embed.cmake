# Embeds text files as C strings. usage: cmake -DOUT=FILE.h -DNAMES="a;b" -DFILES="a.css;b.js" -P embed.cmake
set(text "")
foreach(name file IN ZIP_LISTS NAMES FILES)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND text "static const unsigned char ${name}[] = {\n${bytes}0x00};\n")
endforeach()
file(WRITE ${OUT} "${text}")

# Writes the files of viewer/ as bytes into a C++ source (src/view/page_assets.h), so that the library needs no files beside it:
#   cmake -D FOLDER=viewer -D FILES=index.html,style.css,… -D OUTPUT=page_assets.cpp -P cmake/EmbedViewer.cmake
string(REPLACE "," ";" names "${FILES}")
set(arrays "")
set(table "")
set(number 0)
foreach(name IN LISTS names)
  file(READ ${FOLDER}/${name} bytes HEX)
  file(SIZE ${FOLDER}/${name} size)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "// ${name}\nconst unsigned char asset_${number}[] = {${bytes}0};\n")
  string(APPEND table "    {\"${name}\", {reinterpret_cast<const char*>(asset_${number}), ${size}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Written by cmake/EmbedViewer.cmake from viewer/.
#include \"view/page_assets.h\"

namespace attend::view {
namespace {

${arrays}
const PageAsset assets[] = {
${table}};

}  // namespace

std::span<const PageAsset> page_assets() { return assets; }

}  // namespace attend::view
")
